/** Deflate, with and without a header, and brotli: by Node's zlib, told the size of the output. */
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib'
import { DecodeError } from '../basics/errors.js'
import { tooLarge } from './faults.js'

const BY_NODE = {
  deflate: inflateRawSync,
  zlib: inflateSync,
  gzip: gunzipSync,
  brotli: brotliDecompressSync,
}

export function inflateInto(codec: keyof typeof BY_NODE, from: Uint8Array, into: Uint8Array): number {
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
  into.set(out)
  return out.length
}
