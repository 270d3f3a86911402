/**
 * zlib's inflate, which can stop where a deflate block ends and tell the bit: Node's own way to zlib does not tell. The functions
 * are those of the zlib that Node was built with, which its binary shows to native modules.
 *
 * A stream has a z_stream of zlib's at an address that never changes: zlib refuses one that was moved.
 */
import type { LibraryHandle } from 'koffi'
import { addressOf, koffi } from '../native.js'
import { unbroken } from '../node/unbroken.js'

/** The z_stream of a machine with pointers and longs of 64 bits: offsets of what is used. */
const STREAM_BYTES = 112
const NEXT_IN = 0
const AVAIL_IN = 8
const NEXT_OUT = 24
const AVAIL_OUT = 32
const DATA_TYPE = 88

/** The header of gzip or zlib is left to the caller. */
const RAW = -15
const Z_BLOCK = 5
const STREAM_END = 1
const OK = 0
const BUFFER_ERROR = -5
/** In `data_type`: unused bits of the last byte; the block that ended was the last one; a block ended. */
const BITS = 7
const LAST = 64
const ENDED = 128

export interface InflateStep {
  read: number
  written: number
  /** A block ended: so many bits of the last byte that was read are not used yet. */
  ended?: { last: boolean; bits: number }
}

/** A bare deflate stream that is decompressed from border to border. */
export interface BlockInflate extends Disposable {
  /** Begins another stream. */
  reset(): void
  /** Goes on until a block ends, `from` is used up, or `into` is full. undefined: the data is damaged. */
  step(from: Uint8Array, into: Uint8Array): InflateStep | undefined
}

/** Makes a stream; undefined where there is no memory for it. */
export type Zlib = () => BlockInflate | undefined

/**
 * zlib's functions as Node itself uses them; undefined where they can't be reached. The system's libz is not loaded beside them: its
 * calls of its own functions would go to those of Node's binary, which has others under the same names.
 */
export function openZlib(): Zlib | undefined {
  try {
    return unbroken(() => bind(koffi.load(null)))
  } catch {
    return undefined
  }
}

function bind(library: LibraryHandle): Zlib {
  const init = library.func('int inflateInit2_(void *stream, int bits, const char *version, int size)')
  const inflate = library.func('int inflate(void *stream, int flush)')
  const reset = library.func('int inflateReset(void *stream)')
  const end = library.func('int inflateEnd(void *stream)')
  return () => {
    const stream = Buffer.alloc(STREAM_BYTES)
    if (init(stream, RAW, '1', STREAM_BYTES) !== OK) return undefined
    return {
      reset: () => void reset(stream),
      step(from, into) {
        stream.writeBigUInt64LE(addressOf(from.buffer) + BigInt(from.byteOffset), NEXT_IN)
        stream.writeUInt32LE(from.length, AVAIL_IN)
        stream.writeBigUInt64LE(addressOf(into.buffer) + BigInt(into.byteOffset), NEXT_OUT)
        stream.writeUInt32LE(into.length, AVAIL_OUT)
        const result = inflate(stream, Z_BLOCK) as number
        if (result !== OK && result !== STREAM_END && result !== BUFFER_ERROR) return undefined
        const reported = stream.readInt32LE(DATA_TYPE)
        const last = result === STREAM_END
        return {
          read: from.length - stream.readUInt32LE(AVAIL_IN),
          written: into.length - stream.readUInt32LE(AVAIL_OUT),
          ...((last || (reported & ENDED) !== 0) && {
            ended: { last: last || (reported & LAST) !== 0, bits: reported & BITS },
          }),
        }
      },
      [Symbol.dispose]: () => void end(stream),
    }
  }
}
