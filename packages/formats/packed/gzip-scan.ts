/**
 * Decompresses a gzip file (RFC 1952) of any size once, from its beginning, and tells where its deflate blocks begin. From there
 * decompression can begin again (gzip-part.ts). Members follow one another; their checksums are compared.
 */

import { crc32 } from 'node:zlib'
import { DecodeError } from '../../core/basics/errors.js'
import { adler32 } from '../../core/codec/checksum.js'
import { DeflateBlocks } from './deflate-blocks.js'
import { MovingInput, type ReadAt } from './moving-input.js'

/** Compressed bytes that a block may have. Programs make blocks of some 100 kB. */
const MOST_BLOCK = 4 << 20
/** Bytes of a member's header: names and comments in it are short. */
const MOST_HEADER = 64 << 10
const TRAILER = 8
const ZLIB_HEADER = 2
const ZLIB_TRAILER = 4

export interface GzipSink {
  /** Output, valid during the call. */
  found(piece: Uint8Array): void
  /** A block begins at a bit of the file; so many bytes of output come before it. `window` gives what it may refer to. */
  block(bit: number, made: number, window: () => Uint8Array): void
  /** Bytes of the file that were read. */
  progress?(bytes: number): void
}

export async function scanGzip(read: ReadAt, size: number, sink: GzipSink): Promise<void> {
  const input = new MovingInput(read, size)
  let crc = 0
  using blocks = new DeflateBlocks(piece => {
    crc = crc32(piece, crc)
    sink.found(piece)
  })
  let at = 0
  for (;;) {
    await input.hold(at, MOST_HEADER)
    const header = input.withPlace(at, bytes => headerBytes(bytes))
    if (header === 0) {
      if (at === 0) throw new DecodeError('is no gzip')
      return // zeros that fill up the last block of a tape
    }
    crc = 0
    const before = blocks.made
    at = await scanStream(input, at + header, blocks, sink)
    await input.hold(at, TRAILER)
    const made = blocks.made - before
    input.withPlace(at, bytes => checkTrailer(bytes, crc, made))
    at += TRAILER
    if (at >= size) return
  }
}

/** The same for zlib (RFC 1950), which is one stream. */
export async function scanZlib(read: ReadAt, size: number, sink: GzipSink): Promise<void> {
  const input = new MovingInput(read, size)
  let sum = 1
  using blocks = new DeflateBlocks(piece => {
    sum = adler32(piece, sum)
    sink.found(piece)
  })
  await input.hold(0, ZLIB_HEADER)
  input.withPlace(0, checkZlibHeader)
  const at = await scanStream(input, ZLIB_HEADER, blocks, sink)
  await input.hold(at, ZLIB_TRAILER)
  input.withPlace(at, bytes => {
    if (bytes.length < ZLIB_TRAILER) throw new DecodeError('it is cut off')
    if (bytes.readUInt32BE(0) !== sum) throw new DecodeError('its checksum is wrong')
  })
  if (at + ZLIB_TRAILER < size)
    throw new DecodeError(`ends at byte ${at + ZLIB_TRAILER}, and the file goes on behind it`)
}

/** Goes over the blocks of the stream that begins at byte `at`; gives the byte behind them. */
async function scanStream(
  input: MovingInput,
  at: number,
  blocks: DeflateBlocks,
  sink: GzipSink,
): Promise<number> {
  blocks.begin()
  let bit = 8 * at
  while (!blocks.ended) {
    const byte = Math.floor(bit / 8)
    await input.hold(byte, MOST_BLOCK)
    sink.block(bit, blocks.made, () => blocks.window())
    const inside = bit % 8
    bit += input.withPlace(byte, bytes => blocks.block(bytes, inside) - inside)
    sink.progress?.(byte)
  }
  blocks.flush()
  return Math.ceil(bit / 8)
}

function checkZlibHeader(bytes: Buffer): void {
  const right = bytes.length >= ZLIB_HEADER && (bytes[0] & 15) === 8 && bytes.readUInt16BE(0) % 31 === 0
  if (!right) throw new DecodeError('is no zlib')
  if (bytes[1] & 32) throw new DecodeError('needs a dictionary, which is not in the file')
}

function checkTrailer(bytes: Buffer, crc: number, made: number): void {
  if (bytes.length < TRAILER) throw new DecodeError('it is cut off')
  if (bytes.readUInt32LE(0) === crc && bytes.readUInt32LE(4) === made % 2 ** 32) return
  throw new DecodeError('its checksum is wrong')
}

/** Bytes of the header that a member begins with; 0 where there are only zeros. */
export function headerBytes(bytes: Uint8Array): number {
  if (bytes.length === 0 || bytes[0] === 0) return 0
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) throw new DecodeError('no member begins here')
  const flags = bytes[3]
  let at = 10
  if (flags & 4) at += 2 + (bytes[at] | (bytes[at + 1] << 8))
  for (const text of [8, 16])
    if (flags & text) at = bytes.indexOf(0, at) < 0 ? Infinity : bytes.indexOf(0, at) + 1
  if (flags & 2) at += 2
  if (at < bytes.length) return at
  throw new DecodeError('its header is cut off, or very long')
}
