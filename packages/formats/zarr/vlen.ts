/**
 * Chunks of texts, or of bytes, of any length: the number of values, then each with its length before it, as u32. In the
 * cache a table stands before that, which says where each value begins:
 *
 *   begin of value 0 │ begin of value 1 │ … │ count │ length, bytes │ length, bytes │ …
 *
 * How large a chunk becomes, its compressor says in the first or last bytes of it: these are read when a feed is opened.
 */

import { isUtf8 } from 'node:buffer'
import { DecodeError, inFile } from '../../core/basics/errors.js'
import { readRange } from '../../core/store/access.js'
import type { ByteRange } from '../../core/store/store.js'
import type { Stores } from '../../core/store/stores.js'
import { type ChunkStep, decodeChunk } from './decode-chunk.js'
import { type ArrayKind, chunkElements, MOST_CHUNK_BYTES } from './meta/array-meta.js'

const WORD = 4
/** A frame of zstd says its size within these bytes. */
const HEAD = 18
const ZSTD_MAGIC = 0xfd2fb528

export function isVlen({ element }: Pick<ArrayKind, 'element'>): boolean {
  return element.form === 'vlen-text' || element.form === 'vlen-bytes'
}

/** Bytes that a chunk takes in the cache, when its contents have so many. */
export function vlenBytes(kind: ArrayKind, contents: number): number {
  return WORD * chunkElements(kind) + contents
}

/** Decodes a chunk. Returns the bytes that it takes. */
export function loadVlen(kind: ArrayKind, stored: Uint8Array, into: Uint8Array): number {
  const count = chunkElements(kind)
  const start = WORD * count
  const end = start + decodeChunk(kind.steps, stored, into.subarray(start))
  const words = new DataView(into.buffer, into.byteOffset, end)
  const there = end >= start + WORD ? words.getUint32(start, true) : 0
  if (there !== count) throw new DecodeError(`it has ${there} texts, and should have ${count}`)
  let at = start + WORD
  for (let i = 0; i < count; i++) {
    const begin = at + WORD
    if (begin > end || begin + words.getUint32(at, true) > end)
      throw new DecodeError(`it ends before its text ${i} does, at byte ${at - start}`)
    words.setUint32(WORD * i, begin, true)
    at = begin + words.getUint32(at, true)
  }
  return end
}

/** A value of a loaded chunk. */
export function vlenValue(kind: ArrayKind, chunk: Uint8Array, i: number): string | Uint8Array {
  const words = new DataView(chunk.buffer, chunk.byteOffset, chunk.length)
  const begin = words.getUint32(WORD * i, true)
  return textOrBytes(kind, chunk.subarray(begin, begin + words.getUint32(begin - WORD, true)))
}

/** The value of chunks that are not there. */
export function vlenFill(kind: ArrayKind): string | Uint8Array {
  return textOrBytes(kind, kind.fill)
}

function textOrBytes({ element }: ArrayKind, bytes: Uint8Array): string | Uint8Array {
  if (element.form === 'vlen-bytes') return bytes
  // Bytes that are no text stay bytes, as in other formats: a field of text says what is wrong with them.
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString() : bytes
}

/** How many bytes a stored chunk becomes. */
export async function contentsOf(stores: Stores, { steps }: ArrayKind, range: ByteRange): Promise<number> {
  const { file, offset, length } = range
  const [first, ...rest] = steps
  if (first === undefined) return length
  if (rest.length > 0 || !sizeIsKnown(first))
    throw inFile(
      file,
      ': texts of any length are read without codecs, or with one of zstd, blosc, lz4 and gzip: write it again',
    )
  const isGzip = first.does === 'decompress' && first.codec === 'gzip'
  const bytes = Buffer.alloc(Math.min(length, isGzip ? WORD : HEAD))
  await readRange(
    stores,
    { ...range, offset: isGzip ? offset + length - bytes.length : offset, length: bytes.length },
    bytes,
  )
  const contents = sizeIn(first, bytes)
  if (contents !== undefined && contents <= MOST_CHUNK_BYTES) return contents
  throw inFile(
    file,
    `: the chunk at offset ${offset} does not say how large it becomes${contents === undefined ? '' : ` (${contents} bytes)`}: copy or write it again`,
    { offset },
  )
}

function sizeIsKnown(step: ChunkStep): boolean {
  return step.does === 'lz4' || (step.does === 'decompress' && step.codec !== 'zlib')
}

function sizeIn(step: ChunkStep, bytes: Buffer): number | undefined {
  if (bytes.length < WORD) return undefined
  if (step.does !== 'decompress' || step.codec === 'gzip') return bytes.readUInt32LE(0)
  if (step.codec === 'blosc') return bytes.length < 2 * WORD ? undefined : bytes.readUInt32LE(WORD)
  return zstdSize(bytes)
}

/** The size in the header of a zstd frame: behind the window and the dictionary, of 1, 2, 4 or 8 bytes. */
function zstdSize(bytes: Buffer): number | undefined {
  if (bytes.length < 6 || bytes.readUInt32LE(0) !== ZSTD_MAGIC) return undefined
  const flags = bytes[4]
  const single = (flags & 0x20) !== 0
  const at = 5 + (single ? 0 : 1) + [0, 1, 2, 4][flags & 3]
  const width = [single ? 1 : 0, 2, 4, 8][flags >> 6]
  if (width === 0 || at + width > bytes.length) return undefined
  if (width === 8) return Number(bytes.readBigUInt64LE(at))
  return bytes.readUIntLE(at, width) + (width === 2 ? 256 : 0)
}
