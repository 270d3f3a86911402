/**
 * Takes compression off, into a buffer that is given: nothing is written past its end, whatever the data claims to be. A
 * format knows how large a chunk becomes before it reads it; `into` is as large as that.
 */
import { DecodeError } from '../basics/errors.js'
import { bloscInto } from './blosc.js'
import { TooLarge, tooLarge } from './faults.js'
import { inflateInto } from './inflate.js'
import { lz4BlockInto, lzfInto, snappyInto } from './lz/blocks.js'
import { lz4FrameInto } from './lz/lz4-frame.js'
import { zstdInto } from './zstd.js'

/**
 *   deflate    the bare stream        zlib, gzip, brotli   with their headers; gzip of any number of members
 *   zstd       any number of frames   lz4                  any number of frames
 *   lz4-block  a bare block           snappy               the bare format, not the framed one
 *   lzf        liblzf's bare stream   blosc                a chunk of version 1, with whatever is inside
 */
export type CodecName =
  | 'deflate'
  | 'zlib'
  | 'gzip'
  | 'brotli'
  | 'zstd'
  | 'lz4'
  | 'lz4-block'
  | 'snappy'
  | 'lzf'
  | 'blosc'

type Into = (from: Uint8Array, into: Uint8Array) => number

const CODECS: Readonly<Record<CodecName, Into>> = {
  deflate: (from, into) => inflateInto('deflate', from, into),
  zlib: (from, into) => inflateInto('zlib', from, into),
  gzip: (from, into) => inflateInto('gzip', from, into),
  brotli: (from, into) => inflateInto('brotli', from, into),
  zstd: zstdInto,
  lz4: lz4FrameInto,
  'lz4-block': lz4BlockInto,
  snappy: snappyInto,
  lzf: lzfInto,
  blosc: bloscInto,
}

/**
 * Decompresses into `into`, never past its end. Returns the bytes written, which may be fewer than `into` has. Throws a
 * DecodeError that says what is wrong; the caller adds the file and the offset.
 */
export function decompressInto(codec: CodecName, from: Uint8Array, into: Uint8Array): number {
  if (from.length === 0) throw new DecodeError(`the ${codec} data is empty`)
  try {
    return CODECS[codec](from, into)
  } catch (error) {
    if (error instanceof TooLarge) throw new DecodeError(`the ${codec} data ${tooLarge(into.length).message}`)
    if (!(error instanceof DecodeError) || error.message.startsWith('the ')) throw error
    throw new DecodeError(`the ${codec} data ${error.message}`, { cause: error })
  }
}
