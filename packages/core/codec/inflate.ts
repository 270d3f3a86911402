/** Deflate, with and without a header, by libdeflate where the system has it; else, and brotli, by Node's zlib, told the size of the output. */
import { brotliDecompressSync, constants, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib'
import { DecodeError } from '../basics/errors.js'
import type { Libdeflate, Wrapping } from '../system/codecs/libraries.js'
import { copyBytes } from '../system/memory/copy.js'
import { tooLarge } from './faults.js'
import { libdeflate } from './libraries.js'

const BY_NODE = {
  deflate: inflateRawSync,
  zlib: inflateSync,
  gzip: gunzipSync,
  brotli: brotliDecompressSync,
}

export function inflateInto(codec: keyof typeof BY_NODE, from: Uint8Array, into: Uint8Array): number {
  const native = codec === 'brotli' ? null : libdeflate()
  // libdeflate doesn't say what is wrong: Node's zlib does, and is asked then.
  if (native !== null)
    return nativeInflate(native, codec as Wrapping, from, into) ?? nodeInflate(codec, from, into)
  return nodeInflate(codec, from, into)
}

/** undefined where something is wrong. */
function nativeInflate(
  native: Libdeflate,
  codec: Wrapping,
  from: Uint8Array,
  into: Uint8Array,
): number | undefined {
  let [at, put] = [0, 0]
  do {
    const result = native(codec, at === 0 ? from : from.subarray(at), put === 0 ? into : into.subarray(put))
    if (result === 'too large') throw tooLarge(into.length)
    if (result === 'bad data') return undefined
    at += result.read
    put += result.written
    // Only gzip has several members, and they may be followed by zeros.
  } while (codec === 'gzip' && from[at] === 0x1f && from[at + 1] === 0x8b)
  return put
}

function nodeInflate(codec: keyof typeof BY_NODE, from: Uint8Array, into: Uint8Array): number {
  // Node makes its output in pieces of `chunkSize`: one piece, with a byte to spare, is the fastest.
  const limits = { maxOutputLength: Math.max(1, into.length), chunkSize: Math.max(64, into.length + 1) }
  let out: Buffer
  try {
    out = BY_NODE[codec](from, limits)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(into.length)
    throw new DecodeError(`can't be decompressed (${message})`, { cause: error })
  }
  if (out.length > into.length) throw tooLarge(into.length)
  copyBytes(out, into)
  return out.length
}

/**
 * For the headers of packed files. What `from`, the beginning of a bare deflate stream, unpacks to; at most `most` bytes of it. A kilobyte unpacks to a megabyte
 * at most, so a short `from` bounds what is allocated.
 */
export function inflateBeginning(from: Uint8Array, most: number): Uint8Array {
  try {
    const all = inflateRawSync(from, { finishFlush: constants.Z_SYNC_FLUSH })
    return all.subarray(0, most)
  } catch (error) {
    throw new DecodeError(`the deflate data is damaged: ${(error as Error).message}`, { cause: error })
  }
}
