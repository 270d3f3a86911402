/**
 * Undoes shuffles. A shuffle puts the first bytes of all elements together, then their second bytes, and so on; a
 * bit-shuffle does so with bits. What is left over at the end, less than an element or than 8 elements, stays as it was.
 */
import { copyBytes } from '../system/memory/copy.js'
import { unbitshuffleElements, unshuffleElements } from './kernels/shuffle.js'

/** Undoes the byte shuffle of HDF5, Blosc and numcodecs. */
export function unshuffle(from: Uint8Array, into: Uint8Array, elementBytes: number): void {
  const count = Math.floor(from.length / elementBytes)
  if (elementBytes <= 1 || count <= 1) {
    copyBytes(from, into)
    return
  }
  if (count < WORTH_IT) plainUnshuffle(from, into, count, elementBytes)
  else unshuffleElements(from, into, count, elementBytes)
  const rest = count * elementBytes
  if (rest < from.length) into.set(from.subarray(rest), rest)
}

/** Below this many elements, the plain version is as fast as the kernel. */
const WORTH_IT = 64

/** The same without the kernel. */
export function plainUnshuffle(
  from: Uint8Array,
  into: Uint8Array,
  count: number,
  elementBytes: number,
): void {
  for (let b = 0; b < elementBytes; b++) {
    const row = b * count
    for (let i = 0, put = b; i < count; i++, put += elementBytes) into[put] = from[row + i]
  }
}

/** Elements in a block of the HDF5 filter bitshuffle, where its header says 0. */
export function bitshuffleBlock(elementBytes: number): number {
  const TARGET = 8192 // bytes
  const LEAST = 128
  return Math.max(LEAST, Math.floor(TARGET / elementBytes / 8) * 8)
}

/**
 * Undoes a bit-shuffle. `blockElements`: it was done in blocks of so many elements, as HDF5's filter does it; without, in
 * one.
 */
export function unbitshuffle(
  from: Uint8Array,
  into: Uint8Array,
  elementBytes: number,
  blockElements?: number,
): void {
  const whole = Math.floor(from.length / elementBytes / 8) * 8
  const block = Math.max(8, blockElements ?? whole)
  if (!unbitshuffleElements(from, into, whole, elementBytes, block)) {
    plainUnbitshuffle(from, into, whole, elementBytes, block)
  }
  const rest = whole * elementBytes
  if (rest < from.length) into.set(from.subarray(rest), rest)
}

/** The same without the kernel. */
export function plainUnbitshuffle(
  from: Uint8Array,
  into: Uint8Array,
  whole: number,
  elementBytes: number,
  block: number,
): void {
  for (let first = 0; first < whole; first += block) {
    const count = Math.min(block, whole - first)
    const at = first * elementBytes
    unbitshuffleBlock(from.subarray(at), into.subarray(at), elementBytes, count)
  }
}

/** Row b * 8 + k has bit k of byte b of all elements, eight elements a byte. */
function unbitshuffleBlock(from: Uint8Array, into: Uint8Array, elementBytes: number, count: number): void {
  const row = count / 8
  for (let b = 0; b < elementBytes; b++) {
    for (let i = 0; i < row; i++) {
      for (let j = 0; j < 8; j++) {
        let byte = 0
        for (let k = 0; k < 8; k++) byte |= ((from[(b * 8 + k) * row + i] >> j) & 1) << k
        into[(i * 8 + j) * elementBytes + b] = byte
      }
    }
  }
}
