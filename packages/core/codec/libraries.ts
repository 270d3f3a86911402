/**
 * Which libraries of the system are used. They are looked for when a thread first needs one. MILLRACE_CODECS=node leaves them
 * alone: codecs then run by Node's zlib and the kernels, as they do where the libraries are missing.
 */
import { type Libdeflate, type Liblz4, openLibdeflate, openLiblz4 } from '../system/codecs/libraries.js'
import { type Libzstd, openLibzstd, openZstdStream, type ZstdStream } from '../system/codecs/zstd.js'

/** A library, opened once; null: there is none. */
function once<T>(open: () => T | undefined): () => T | null {
  let found: T | null | undefined
  return () => {
    if (found === undefined) found = process.env.MILLRACE_CODECS === 'node' ? null : (open() ?? null)
    return found
  }
}

export const libdeflate = once<Libdeflate>(openLibdeflate)
export const liblz4 = once<Liblz4>(openLiblz4)
export const libzstd = once<Libzstd>(openLibzstd)
export const zstdStream = once<() => ZstdStream>(openZstdStream)
