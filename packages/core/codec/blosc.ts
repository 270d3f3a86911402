/**
 * Blosc's chunks of format version 2 (c-blosc 1), little-endian.
 *
 *   version  codec's version  flags  element bytes  |  bytes u32  |  block bytes u32  |  compressed bytes u32
 *   start of each block (u32, from the chunk's beginning), then the blocks
 *   block: one stream, or one for each byte of an element ("split"); each: its compressed length (i32), its bytes;
 *   a stream that is as long as its output is stored
 *
 *   flags  1 shuffled · 2 all stored, without blocks · 4 bit-shuffled · 16 not split · upper three bits: the codec
 */
import { DecodeError } from '../basics/errors.js'
import { copyBytes } from '../system/memory/copy.js'
import { cut, damaged, tooLarge } from './faults.js'
import { inflateInto } from './inflate.js'
import { blosclzInto, lz4BlockInto, snappyInto } from './lz/blocks.js'
import { unbitshuffle, unshuffle } from './shuffle.js'
import { zstdInto } from './zstd.js'

const HEADER = 16
const SHUFFLED = 1
const STORED = 2
const BIT_SHUFFLED = 4
const NOT_SPLIT = 16
/** Elements wider than this are never split, nor blocks with fewer elements than that. */
const MOST_SPLITS = 16
const LEAST_SPLIT = 128

type Inner = (from: Uint8Array, into: Uint8Array) => number

const zlibInto: Inner = (from, into) => inflateInto('zlib', from, into)

/** By the number in the flags: LZ4 and LZ4HC are one format. */
const INNER: readonly (Inner | undefined)[] = [blosclzInto, lz4BlockInto, snappyInto, zlibInto, zstdInto]

interface Chunk {
  flags: number
  elementBytes: number
  bytes: number
  blockBytes: number
  inner: Inner
}

/** A block before its shuffle is undone. Kept by the thread, as long as blocks are as small as Blosc makes them. */
let scratch = new Uint8Array(0)
const MOST_KEPT = 8 << 20

export function bloscInto(from: Uint8Array, into: Uint8Array): number {
  const view = new DataView(from.buffer, from.byteOffset, from.byteLength)
  const chunk = readHeader(view, into.length)
  const { flags, bytes, blockBytes, elementBytes } = chunk
  if (bytes === 0) return 0
  if (flags & STORED) {
    if (HEADER + bytes > from.length) throw cut(from.length)
    copyBytes(from.subarray(HEADER, HEADER + bytes), into)
    return bytes
  }
  const blocks = Math.ceil(bytes / blockBytes)
  const start = HEADER + 4 * blocks
  if (start > from.length) throw cut(from.length)
  const shuffled = elementBytes > 1 ? flags & (SHUFFLED | BIT_SHUFFLED) : flags & BIT_SHUFFLED
  for (let i = 0; i < blocks; i++) {
    const at = view.getUint32(HEADER + 4 * i, true)
    if (at < start || at > from.length)
      throw damaged(HEADER + 4 * i, `block ${i} is said to begin at byte ${at}`)
    const out = into.subarray(i * blockBytes, Math.min(bytes, (i + 1) * blockBytes))
    if (shuffled === 0) {
      readBlock(from, view, at, chunk, out)
      continue
    }
    const plain = room(out.length)
    readBlock(from, view, at, chunk, plain)
    if (shuffled & SHUFFLED) unshuffle(plain, out, elementBytes)
    else undoBits(plain, out, elementBytes)
  }
  return bytes
}

/** Blosc leaves a block alone whose elements are no multiple of 8. */
function undoBits(from: Uint8Array, into: Uint8Array, elementBytes: number): void {
  if (Math.floor(from.length / elementBytes) % 8 === 0) unbitshuffle(from, into, elementBytes)
  else copyBytes(from, into)
}

function room(bytes: number): Uint8Array {
  if (bytes > MOST_KEPT) return new Uint8Array(bytes)
  if (scratch.length < bytes) scratch = new Uint8Array(bytes)
  return scratch.subarray(0, bytes)
}

function readHeader(view: DataView, most: number): Chunk {
  if (view.byteLength < HEADER) throw cut(view.byteLength)
  const version = view.getUint8(0)
  if (version < 1 || version > 2) {
    throw damaged(0, `its format version is ${version}, and only 1 and 2 are known (c-blosc 1; not Blosc2)`)
  }
  const flags = view.getUint8(2)
  const elementBytes = view.getUint8(3)
  const bytes = view.getUint32(4, true)
  const blockBytes = view.getUint32(8, true)
  const compressed = view.getUint32(12, true)
  if (bytes > most) throw tooLarge(most)
  if (compressed > view.byteLength) throw cut(view.byteLength)
  if (elementBytes === 0) throw damaged(3, 'its elements have 0 bytes')
  if (bytes > 0 && (blockBytes === 0 || blockBytes > bytes)) {
    throw damaged(8, `its blocks have ${blockBytes} bytes, and all of it ${bytes}`)
  }
  const inner = INNER[flags >> 5]
  if (inner === undefined) throw new DecodeError(`has a codec of number ${flags >> 5}, which is not known`)
  return { flags, elementBytes, bytes, blockBytes, inner }
}

/** The streams of one block, one after the other. */
function readBlock(
  from: Uint8Array,
  view: DataView,
  start: number,
  { flags, elementBytes, blockBytes, inner }: Chunk,
  out: Uint8Array,
): void {
  // The last block, where it is shorter, is never split.
  const split =
    (flags & NOT_SPLIT) === 0 &&
    out.length === blockBytes &&
    elementBytes <= MOST_SPLITS &&
    Math.floor(blockBytes / elementBytes) >= LEAST_SPLIT
  const streams = split ? elementBytes : 1
  const bytes = Math.floor(out.length / streams)
  let at = start
  for (let i = 0; i < streams; i++) {
    if (at + 4 > from.length) throw cut(at)
    const length = view.getInt32(at, true)
    at += 4
    if (length < 0 || at + length > from.length)
      throw damaged(at - 4, `a stream is said to have ${length} bytes`)
    const stream = from.subarray(at, at + length)
    const to = out.subarray(i * bytes, (i + 1) * bytes)
    if (length === bytes) copyBytes(stream, to)
    else if (length === 0) throw damaged(at - 4, 'a stream is empty')
    else {
      const got = inner(stream, to)
      if (got !== bytes) throw damaged(at, `a stream has ${got} bytes, and should have ${bytes}`)
    }
    at += length
  }
}
