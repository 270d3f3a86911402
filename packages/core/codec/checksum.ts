/** The checksums that formats keep beside their data. All give an unsigned number of 32 bits. */

import { copyBytes } from '../system/memory/copy.js'
import { kernel, START, TABLES, workspace } from './kernels/load.js'

export { crc32 } from 'node:zlib'

/** Castagnoli's polynomial, bits reversed. */
const CASTAGNOLI = 0x82f63b78

let table: Uint32Array | undefined

/** CRC-32C, as TFRecord, Zarr and gRPC have it. `before`: of the bytes before these. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  return bytes.length < WORTH_IT ? plainCrc32c(bytes, before) : kernelCrc32c(bytes, before)
}

/** Below this many bytes, the plain version is as fast as the kernel. */
const WORTH_IT = 64
/** From this many bytes on they are folded (kernels/assembly/crc32c.ts), which leaves FOLDED of them. */
const WORTH_FOLDING = 8 << 10
const FOLDED = 209 * 16
/** Where bytes to be folded are copied to: those that were folded before them are kept in front. */
const FOLD_AT = START + 4096
/** Bytes that are copied to the kernel at a time, at most: they stay in the cache. */
const PIECE = 64 << 10

interface Kernel {
  prepare(tables: number): void
  crc32c(tables: number, from: number, length: number, register: number): number
  begin(from: number, register: number): void
  fold(from: number, length: number): void
  foldLast(tables: number, from: number, length: number): number
}

let prepared: Kernel | undefined

function kernelCrc32c(bytes: Uint8Array, before: number): number {
  const memory = workspace(FOLD_AT - START + PIECE)
  const current = kernel<Kernel>('crc32c')
  if (prepared !== current) {
    prepared = current
    prepared.prepare(TABLES)
  }
  if (bytes.length >= WORTH_FOLDING) return foldedCrc32c(prepared, memory, bytes, before)
  copyBytes(bytes, memory.subarray(START))
  return ~prepared.crc32c(TABLES, START, bytes.length, ~before) >>> 0
}

function foldedCrc32c(kernel: Kernel, memory: Uint8Array, bytes: Uint8Array, before: number): number {
  let at = 0
  for (let length = 0; ; at += length) {
    const left = bytes.length - at
    // The last piece must have FOLDED bytes at least.
    length = left <= PIECE ? left : Math.min(PIECE, (left - FOLDED) & ~15)
    copyBytes(bytes.subarray(at, at + length), memory.subarray(FOLD_AT))
    if (at === 0) kernel.begin(FOLD_AT, ~before)
    if (length === left) return ~kernel.foldLast(TABLES, FOLD_AT, length) >>> 0
    kernel.fold(FOLD_AT, length)
  }
}

/** The same without the kernel. */
export function plainCrc32c(bytes: Uint8Array, before = 0): number {
  table ??= crcTable()
  let crc = ~before
  for (let i = 0; i < bytes.length; i++) crc = table[(crc ^ bytes[i]) & 255] ^ (crc >>> 8)
  return ~crc >>> 0
}

function crcTable(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ CASTAGNOLI : crc >>> 1
    return crc
  })
}

/** Words that can be summed before a sum of sums would have more than 32 bits. */
const FLETCHER_WORDS = 360

/** Fletcher's checksum of 16-bit words, the first byte above: HDF5's filter. A last odd byte counts as an upper one. */
export function fletcher32(bytes: Uint8Array): number {
  let [low, high] = [0, 0]
  const fold = (sum: number): number => (sum & 0xffff) + (sum >>> 16)
  const even = bytes.length - (bytes.length % 2)
  for (let at = 0; at < even; ) {
    for (const end = Math.min(even, at + 2 * FLETCHER_WORDS); at < end; at += 2) {
      low += (bytes[at] << 8) | bytes[at + 1]
      high += low
    }
    low = fold(low)
    high = fold(high)
  }
  if (even < bytes.length) {
    low += bytes[even] << 8
    high += low
    low = fold(low)
    high = fold(high)
  }
  return ((fold(high) << 16) | fold(low)) >>> 0
}

/** Bytes that can be summed before a sum of sums would have more than 31 bits. */
const ADLER_BYTES = 3800
const ADLER_BASE = 65521

/** Adler's checksum, which zlib keeps behind its data. `before`: of the bytes before these. */
export function adler32(bytes: Uint8Array, before = 1): number {
  let [low, high] = [before & 0xffff, before >>> 16]
  for (let at = 0; at < bytes.length; ) {
    for (const end = Math.min(bytes.length, at + ADLER_BYTES); at < end; at++) {
      low += bytes[at]
      high += low
    }
    low %= ADLER_BASE
    high %= ADLER_BASE
  }
  return ((high << 16) | low) >>> 0
}

const rotate = (word: number, by: number): number => (word << by) | (word >>> (32 - by))

/** Bob Jenkins' lookup3 (hashlittle), which HDF5 keeps behind its metadata. */
export function lookup3(bytes: Uint8Array, initial = 0): number {
  let left = bytes.length
  let a = (0xdeadbeef + left + initial) | 0
  let b = a
  let c = a
  let at = 0
  const word = (from: number): number =>
    bytes[from] | (bytes[from + 1] << 8) | (bytes[from + 2] << 16) | (bytes[from + 3] << 24)
  for (; left > 12; left -= 12, at += 12) {
    a = (a + word(at)) | 0
    b = (b + word(at + 4)) | 0
    c = (c + word(at + 8)) | 0
    a = ((a - c) ^ rotate(c, 4)) | 0
    c = (c + b) | 0
    b = ((b - a) ^ rotate(a, 6)) | 0
    a = (a + c) | 0
    c = ((c - b) ^ rotate(b, 8)) | 0
    b = (b + a) | 0
    a = ((a - c) ^ rotate(c, 16)) | 0
    c = (c + b) | 0
    b = ((b - a) ^ rotate(a, 19)) | 0
    a = (a + c) | 0
    c = ((c - b) ^ rotate(b, 4)) | 0
    b = (b + a) | 0
  }
  if (left === 0) return c >>> 0
  // The last 1 to 12 bytes; what is missing counts as 0, and reads as undefined, which is 0 to an operator on bits.
  a = (a + word(at)) | 0
  b = (b + word(at + 4)) | 0
  c = (c + word(at + 8)) | 0
  c = ((c ^ b) - rotate(b, 14)) | 0
  a = ((a ^ c) - rotate(c, 11)) | 0
  b = ((b ^ a) - rotate(a, 25)) | 0
  c = ((c ^ b) - rotate(b, 16)) | 0
  a = ((a ^ c) - rotate(c, 4)) | 0
  b = ((b ^ a) - rotate(a, 14)) | 0
  c = ((c ^ b) - rotate(b, 24)) | 0
  return c >>> 0
}
