/**
 * Undoes shuffles. A shuffle puts the first bytes of all elements together, then their second bytes, and so on; a
 * bit-shuffle does so with bits. What is left over at the end, less than an element or than 8 elements, stays as it was.
 */
import { copyBytes } from '../system/memory/copy.js'
import { kernel, release, SLACK, START, workspace } from './kernels/load.js'

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
  unbitshuffleElements(from, into, whole, elementBytes, Math.max(8, Math.min(blockElements ?? whole, whole)))
  const rest = whole * elementBytes
  if (rest < from.length) into.set(from.subarray(rest), rest)
}

interface Kernel {
  unshuffle(from: number, stride: number, to: number, some: number, width: number): void
  unbits(from: number, to: number, count: number, width: number): void
}

/** Bytes that the kernel `shuffle` does at a time: in and out, they fit a core's second cache. */
const PIECE = 128 << 10

/** `count` elements of `width` bytes, of which `from` has the first bytes, the second ones, and so on. */
function unshuffleElements(from: Uint8Array, into: Uint8Array, count: number, width: number): void {
  const memory = workspace(2 * (PIECE + 16 * 255 + SLACK))
  const { unshuffle } = kernel<Kernel>('shuffle')
  const some = Math.max(16, Math.floor(PIECE / width) & ~15)
  const out = START + some * width + SLACK
  for (let first = 0; first < count; first += some) {
    const now = Math.min(some, count - first)
    for (let b = 0; b < width; b++) {
      const at = b * count + first
      copyBytes(from.subarray(at, at + now), memory.subarray(START + b * some))
    }
    unshuffle(START, some, out, now, width)
    copyBytes(memory.subarray(out, out + now * width), into.subarray(first * width))
  }
}

/**
 * `count` elements (a multiple of 8), bit-shuffled in blocks of `block` (a multiple of 8), the last of which may be shorter.
 */
function unbitshuffleElements(
  from: Uint8Array,
  into: Uint8Array,
  count: number,
  width: number,
  block: number,
): void {
  // As many blocks as make a piece, but one at least.
  const some = Math.max(1, Math.floor(PIECE / (block * width))) * block
  const bytes = some * width + SLACK
  const memory = workspace(3 * bytes)
  const { unbits, unshuffle } = kernel<Kernel>('shuffle')
  const [middle, out] = [START + bytes, START + 2 * bytes]
  for (let first = 0; first < count; first += some) {
    const now = Math.min(some, count - first)
    copyBytes(from.subarray(first * width, (first + now) * width), memory.subarray(START))
    for (let i = 0; i < now; i += block) {
      const elements = Math.min(block, now - i)
      unbits(START + i * width, middle, elements, width)
      unshuffle(middle, elements, out + i * width, elements, width)
    }
    copyBytes(memory.subarray(out, out + now * width), into.subarray(first * width))
  }
  release()
}
