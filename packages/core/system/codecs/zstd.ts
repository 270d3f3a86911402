/**
 * Zstandard: one frame at a time, by Node's own zlib where it has it (22.15 and later), else by libzstd, which nearly
 * every Linux has. The library is found when a thread first needs it; a thread keeps its one context.
 */
import * as zlib from 'node:zlib'
import type { LibraryHandle } from 'koffi'
import { MissingError } from '../../basics/errors.js'
import { addressOf } from '../native.js'
import { bindFirst } from './libraries.js'

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

const ZSTD_NAMES = ['libzstd.so.1', 'libzstd.1.dylib', '/opt/homebrew/lib/libzstd.1.dylib']

/** Decompresses all frames into a buffer, and returns the bytes written. */
export type Libzstd = (frames: Uint8Array, into: Uint8Array) => number | ZstdProblem

/** libzstd, where the system has it. */
export function openLibzstd(names: readonly string[] = ZSTD_NAMES): Libzstd | undefined {
  return bindFirst(names, bindLibzstd)
}

function bindLibzstd(library: LibraryHandle): Libzstd {
  const context = library.func('void *ZSTD_createDCtx(void)')() as bigint
  const decompress = library.func(
    'size_t ZSTD_decompressDCtx(void *context, void *to, size_t room, const void *from, size_t length)',
  )
  const isError = library.func('unsigned int ZSTD_isError(size_t result)')
  const errorName = library.func('const char *ZSTD_getErrorName(size_t result)')
  return (frames, into) => {
    const result = decompress(context, into, into.length, frames, frames.length) as number | bigint
    if (!isError(result)) return Number(result)
    const problem = errorName(result) as string
    return { problem, tooLarge: problem.includes('Destination buffer is too small') }
  }
}

/** libzstd's, into a buffer of its own. */
export function libraryZstd(names: readonly string[] = ZSTD_NAMES): Zstd {
  const library = openLibzstd(names)
  if (library === undefined) {
    throw new MissingError(
      'libzstd is needed for what is compressed by zstd: apt install libzstd1, dnf install libzstd or apk add zstd-libs; ' +
        'or use Node 22.15 or later, which has its own',
    )
  }
  return (frame, most) => {
    // Nothing is compressed better than this: a short frame needs no room for all that there may be.
    const out = new Uint8Array(Buffer.allocUnsafeSlow(Math.min(most, frame.length * MOST_RATIO)).buffer)
    const result = library(frame, out)
    return typeof result === 'number' ? out.subarray(0, result) : result
  }
}

/** ZSTD_inBuffer and ZSTD_outBuffer of a machine with pointers of 64 bits: address, size, position. */
const BUFFER_BYTES = 24
const SIZE = 8
const POSITION = 16
/** The parameter for the largest window, and the largest that there is: `zstd --long=31` makes such frames. */
const WINDOW_LOG_MAX = 100
const LARGEST_WINDOW = 31

export interface ZstdStep {
  read: number
  written: number
  /** The last frame is complete. */
  ended: boolean
}

export interface ZstdStream extends Disposable {
  /** Goes on until `from` is used up or `into` is full. A text: what is wrong with the data. */
  step(from: Uint8Array, into: Uint8Array): ZstdStep | string
}

/** Makes a stream; undefined where the system has no libzstd. */
export function openZstdStream(): (() => ZstdStream) | undefined {
  return bindFirst(ZSTD_NAMES, bind)
}

function bind(library: LibraryHandle): () => ZstdStream {
  const create = library.func('void *ZSTD_createDCtx(void)')
  const setParameter = library.func('size_t ZSTD_DCtx_setParameter(void *context, int parameter, int value)')
  const free = library.func('size_t ZSTD_freeDCtx(void *context)')
  const decompress = library.func('size_t ZSTD_decompressStream(void *context, void *out, void *in)')
  const isError = library.func('unsigned int ZSTD_isError(size_t result)')
  const errorName = library.func('const char *ZSTD_getErrorName(size_t result)')
  return () => {
    const context = create() as bigint
    setParameter(context, WINDOW_LOG_MAX, LARGEST_WINDOW)
    const [input, output] = [Buffer.alloc(BUFFER_BYTES), Buffer.alloc(BUFFER_BYTES)]
    const point = (buffer: Buffer, at: Uint8Array): void => {
      buffer.writeBigUInt64LE(addressOf(at.buffer) + BigInt(at.byteOffset), 0)
      buffer.writeBigUInt64LE(BigInt(at.length), SIZE)
      buffer.writeBigUInt64LE(0n, POSITION)
    }
    const position = (buffer: Buffer): number => Number(buffer.readBigUInt64LE(POSITION))
    return {
      step(from, into) {
        point(input, from)
        point(output, into)
        const result = decompress(context, output, input) as number | bigint
        if (isError(result)) return errorName(result) as string
        return { read: position(input), written: position(output), ended: Number(result) === 0 }
      },
      [Symbol.dispose]: () => void free(context),
    }
  }
}
