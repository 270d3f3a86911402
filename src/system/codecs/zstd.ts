/**
 * Zstandard: one frame at a time, by Node's own zlib where it has it (22.15 and later), else by libzstd, which nearly
 * every Linux has. The library is found when a thread first needs it; a thread keeps its one context.
 */
import * as zlib from 'node:zlib'
import { MissingError } from '../../basics/errors.js'
import { koffi } from '../native.js'
import { unbroken } from '../node/unbroken.js'

/** Decompresses a whole frame to `most` bytes at most; `usual` is how many there are usually. */
export type Zstd = (frame: Uint8Array, most: number, usual: number) => Uint8Array | ZstdProblem

export interface ZstdProblem {
  problem: string
  /** There would be more than `most`. */
  tooLarge: boolean
}

let found: Zstd | undefined

export function decompressFrame(frame: Uint8Array, most: number, usual: number): Uint8Array | ZstdProblem {
  found ??= nodeZstd() ?? libraryZstd()
  return found(frame, most, usual)
}

type Decompress = (bytes: Uint8Array, options: { maxOutputLength: number; chunkSize: number }) => Buffer

/** Node's, if this Node has one. */
export function nodeZstd(
  decompress = (zlib as { zstdDecompressSync?: Decompress }).zstdDecompressSync,
): Zstd | undefined {
  if (decompress === undefined) return undefined
  return (frame, most, usual) => {
    try {
      const chunkSize = Math.max(64, Math.min(usual, frame.length * MOST_RATIO) + 1)
      return decompress(frame, { maxOutputLength: Math.max(1, most), chunkSize })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      return { problem: message, tooLarge: code === 'ERR_BUFFER_TOO_LARGE' }
    }
  }
}

/** A block of 128 KiB takes four bytes at least. */
const MOST_RATIO = (128 << 10) / 4

const NAMES = ['libzstd.so.1', 'libzstd.1.dylib', '/opt/homebrew/lib/libzstd.1.dylib']

/** libzstd's. */
export function libraryZstd(names: readonly string[] = NAMES): Zstd {
  const library = load(names)
  const context = library.func('void *ZSTD_createDCtx(void)')() as bigint
  const decompress = library.func(
    'size_t ZSTD_decompressDCtx(void *context, _Out_ uint8_t *to, size_t room, const uint8_t *from, size_t length)',
  )
  const isError = library.func('unsigned int ZSTD_isError(size_t result)')
  const errorName = library.func('const char *ZSTD_getErrorName(size_t result)')
  return (frame, most) => {
    // Nothing is compressed better than this: a short frame needs no room for all that there may be.
    const out = new Uint8Array(Buffer.allocUnsafeSlow(Math.min(most, frame.length * MOST_RATIO)).buffer)
    const result = decompress(context, out, out.length, frame, frame.length) as number | bigint
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
      return unbroken(() => koffi.load(name))
    } catch {
      // the next name
    }
  }
  throw new MissingError(
    'libzstd is needed for arrays compressed by zstd: apt install libzstd1, dnf install libzstd or apk add zstd-libs; ' +
      'or use Node 22.15 or later, which has its own',
  )
}
