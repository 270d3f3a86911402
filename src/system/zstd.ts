/**
 * Zstandard: by Node's own zlib where it has it (22.15 and later), else by libzstd, which nearly every Linux has. The
 * library is found when a thread first needs it; a thread keeps its one context.
 */
import * as zlib from 'node:zlib'
import { MissingError } from '../errors.js'
import { koffi } from './native.js'

/** Decompresses all frames of `bytes`; what would become more than `most` bytes is `tooLarge`. */
export type Zstd = (bytes: Uint8Array, size: ZstdSize) => Uint8Array | ZstdProblem

/** Bytes that the output may have at most, and usually has. */
export interface ZstdSize {
  most: number
  usual: number
}

export interface ZstdProblem {
  problem: string
  tooLarge: boolean
}

let found: Zstd | undefined

export function decompressZstd(bytes: Uint8Array, size: ZstdSize): Uint8Array | ZstdProblem {
  found ??= nodeZstd() ?? libraryZstd()
  return found(bytes, size)
}

type Decompress = (bytes: Uint8Array, options: { maxOutputLength: number; chunkSize: number }) => Buffer

/** Node's, if this Node has one. */
export function nodeZstd(
  decompress = (zlib as { zstdDecompressSync?: Decompress }).zstdDecompressSync,
): Zstd | undefined {
  if (decompress === undefined) return undefined
  return (bytes, { most, usual }) => {
    try {
      return decompress(bytes, { maxOutputLength: most, chunkSize: Math.max(64, usual + 1) })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      return { problem: message, tooLarge: code === 'ERR_BUFFER_TOO_LARGE' }
    }
  }
}

/** What the header of a frame says of its contents' size (ZSTD_CONTENTSIZE_UNKNOWN, …_ERROR), as a u64. */
const UNKNOWN = 2n ** 64n - 1n
const NO_FRAME = 2n ** 64n - 2n
const NAMES = ['libzstd.so.1', 'libzstd.1.dylib', '/opt/homebrew/lib/libzstd.1.dylib']

/** libzstd's. */
export function libraryZstd(names: readonly string[] = NAMES): Zstd {
  const library = load(names)
  const context = library.func('void *ZSTD_createDCtx(void)')() as bigint
  const decompress = library.func(
    'size_t ZSTD_decompressDCtx(void *context, _Out_ uint8_t *to, size_t room, const uint8_t *from, size_t length)',
  )
  const contentSize = library.func('uint64_t ZSTD_getFrameContentSize(const uint8_t *from, size_t length)')
  const frameLength = library.func('size_t ZSTD_findFrameCompressedSize(const uint8_t *from, size_t length)')
  const isError = library.func('unsigned int ZSTD_isError(size_t result)')
  const errorName = library.func('const char *ZSTD_getErrorName(size_t result)')
  return (bytes, { most }) => {
    const size = BigInt(contentSize(bytes, bytes.length) as number | bigint)
    if (size === NO_FRAME) return { problem: 'it does not begin with a Zstandard frame', tooLarge: false }
    if (size !== UNKNOWN && size > most) return { problem: `it has ${size} bytes`, tooLarge: true }
    // Of several frames, or a streamed one, the size is not known beforehand.
    const known = size !== UNKNOWN && Number(frameLength(bytes, bytes.length)) === bytes.length
    const out = new Uint8Array(Buffer.allocUnsafeSlow(known ? Number(size) : most).buffer)
    const result = decompress(context, out, out.length, bytes, bytes.length) as number | bigint
    if (isError(result)) {
      const problem = errorName(result) as string
      return { problem, tooLarge: problem.includes('Destination buffer is too small') }
    }
    return out.subarray(0, Number(result))
  }
}

function load(names: readonly string[]): ReturnType<typeof koffi.load> {
  for (const name of names) {
    try {
      return koffi.load(name)
    } catch {
      // the next name
    }
  }
  throw new MissingError(
    'libzstd is needed for arrays compressed by zstd: apt install libzstd1, dnf install libzstd or apk add zstd-libs; ' +
      'or use Node 22.15 or later, which has its own',
  )
}
