/** libzstd's stream: decompresses frames of any size, piece by piece. */
import type { LibraryHandle } from 'koffi'
import { addressOf } from '../native.js'
import { bindFirst } from './libraries.js'
import { ZSTD_NAMES } from './zstd.js'

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
