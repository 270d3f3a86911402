/**
 * Takes the compression off a column's bytes. What comes out is bounded before it is made, so that a few bytes that
 * claim to be gigabytes do no harm.
 */
import { constants, gunzipSync, inflateRawSync, inflateSync, type ZlibOptions } from 'node:zlib'
import { DecodeError } from '../../../core/basics/errors.js'
import { TooLarge } from '../../../core/codec/faults.js'
import { decompressZstd } from '../../../core/codec/zstd.js'
import { decompressLz4 } from './lz4.js'

/** By the names used in definitions. */
export type Codec = 'zstd' | 'lz4' | 'deflate' | 'zlib' | 'gzip'

const INFLATE = { deflate: inflateRawSync, zlib: inflateSync, gzip: gunzipSync }

/** How large the output may be at most, and how large it usually is: room for that is taken at first. */
export interface Size {
  most: number
  usual: number
}

/** All bytes that `bytes` stand for, if they are not too many. */
export function decompress(codec: Codec, bytes: Uint8Array, size: Size): Uint8Array {
  const { most, usual } = size
  if (bytes.length === 0) throw new DecodeError(`is empty, and should be ${codec} data`)
  try {
    if (codec === 'zstd') {
      const out = decompressZstd(bytes, most, usual)
      if (out === undefined) throw new TooLarge()
      return out
    }
    if (codec === 'lz4') return decompressLz4(bytes, most)
    return INFLATE[codec](bytes, limits(size))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const ofZlib = code?.startsWith('Z_') === true
    const tooLarge = code === 'ERR_BUFFER_TOO_LARGE' || error instanceof TooLarge
    if (!ofZlib && !tooLarge && !(error instanceof DecodeError)) throw error
    throw refusal(codec, most, message, tooLarge, error)
  }
}

/** Enough of a deflate stream for its first few bytes: its first block's tables take 300 at most. */
const PEEKED = 512

/** The beginning of what a deflate stream stands for: a few bytes at least, if it is as long. */
export function peekDeflate(bytes: Uint8Array): Uint8Array {
  try {
    return inflateRawSync(bytes.subarray(0, PEEKED), { finishFlush: constants.Z_SYNC_FLUSH })
  } catch (error) {
    throw refusal('deflate', 0, (error as Error).message, false, error)
  }
}

/** Output is made in pieces of `chunkSize`, and a piece that is full is followed by another. */
function limits({ most, usual }: Size): ZlibOptions {
  return { maxOutputLength: Math.max(1, most), chunkSize: Math.max(64, usual + 1) }
}

function refusal(
  codec: Codec,
  most: number,
  problem: string,
  tooLarge: boolean,
  cause?: unknown,
): DecodeError {
  if (tooLarge) {
    return new DecodeError(
      `its ${codec} data decompresses to more than ${most} bytes, which is all that the field can take: check its shape and dtype, or max`,
      { cause },
    )
  }
  const said = /^(is|has|says|can't) /.test(problem) ? problem : `can't be decompressed (${problem})`
  const wayOut = said.includes(': compress ') ? '' : ': check that "compression" is what it was compressed by'
  return new DecodeError(`its ${codec} data ${said}${wayOut}`, { cause })
}
