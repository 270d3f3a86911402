/**
 * Takes all codecs off a chunk. What the last of them makes is written into the cache; what comes before goes through
 * memory that the thread keeps for this.
 */
import { DecodeError } from '../../core/basics/errors.js'
import { crc32, crc32c, fletcher32 } from '../../core/codec/checksum.js'
import { type CodecName, decompressInto } from '../../core/codec/codec.js'
import { unshuffle } from '../../core/codec/shuffle.js'

/** One thing to do to a stored chunk. */
export type ChunkStep =
  | { does: 'decompress'; codec: CodecName }
  /** numcodecs' LZ4: four bytes that say how long it is, then one block. */
  | { does: 'lz4' }
  | { does: 'unshuffle'; bytes: number }
  /** Elements are differences to the one before. */
  | { does: 'sum'; dtype: SummedDtype }
  | { does: 'check'; sum: 'crc32c' | 'crc32' | 'adler32' | 'fletcher32'; at: 'start' | 'end' }

export type SummedDtype = keyof typeof ARRAYS

const ARRAYS = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f32: Float32Array,
  f64: Float64Array,
} as const

const CHECKSUM = 4

/** Bytes that a compressor may add to what it can't compress: the frames of several around each other. */
const OVERHEAD = 65536

/** Of this thread: they grow to the largest chunk with several codecs. */
const scratch: [Uint8Array, Uint8Array] = [new Uint8Array(0), new Uint8Array(0)]

/** Decodes into the front of `into`. Gives the number of bytes, at most as many as `into` has. Throws a DecodeError. */
export function decodeChunk(steps: readonly ChunkStep[], stored: Uint8Array, into: Uint8Array): number {
  // A checksum that is taken off afterwards would leave the bytes in the wrong place, or too long for it.
  const last = steps.findLastIndex(({ does }) => does !== 'sum')
  let data = stored
  let inPlace = false
  const move = (): void => {
    if (!inPlace) data = copied(data, into)
    inPlace = true
  }
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i]
    if (step.does === 'check') data = checked(step, data)
    else if (step.does === 'sum') {
      move()
      sum(step.dtype, data)
    } else {
      inPlace = i === last
      data = made(step, data, inPlace ? into : scratchOf(i % 2, into.length))
    }
  }
  move()
  return data.length
}

function made(step: ChunkStep, data: Uint8Array, into: Uint8Array): Uint8Array {
  if (step.does === 'unshuffle') {
    if (data.length > into.length)
      throw new DecodeError(`it has ${data.length} bytes, and there is room for ${into.length}`)
    const out = into.subarray(0, data.length)
    unshuffle(data, out, step.bytes)
    return out
  }
  if (step.does === 'decompress') return into.subarray(0, decompressInto(step.codec, data, into))
  if (data.length < CHECKSUM) throw new DecodeError('the lz4 data has no length before it')
  return into.subarray(0, decompressInto('lz4-block', data.subarray(CHECKSUM), into))
}

function scratchOf(which: number, bytes: number): Uint8Array {
  const room = bytes + (bytes >> 3) + OVERHEAD
  if (scratch[which].length < room) scratch[which] = new Uint8Array(room)
  return scratch[which]
}

function copied(data: Uint8Array, into: Uint8Array): Uint8Array {
  if (data.length > into.length)
    throw new DecodeError(`it has ${data.length} bytes, and there is room for ${into.length}`)
  into.set(data)
  return into.subarray(0, data.length)
}

function checked({ sum, at }: Extract<ChunkStep, { does: 'check' }>, data: Uint8Array): Uint8Array {
  if (data.length < CHECKSUM)
    throw new DecodeError(`it is too short for its ${sum}: it has ${data.length} bytes`)
  const [own, place] =
    at === 'start'
      ? [data.subarray(CHECKSUM), data.subarray(0, CHECKSUM)]
      : [data.subarray(0, -CHECKSUM), data.subarray(-CHECKSUM)]
  const stored = (place[0] | (place[1] << 8) | (place[2] << 16) | (place[3] << 24)) >>> 0
  const right = SUMS[sum](own)
  if (right !== stored)
    throw new DecodeError(
      `its ${sum} is ${right.toString(16)}, and should be ${stored.toString(16)}: it is damaged`,
    )
  return own
}

const SUMS = { crc32c, crc32, fletcher32, adler32 }

/** Sums stay exact for this many bytes: then they are reduced. */
const ADLER_RUN = 5552

function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0]
  for (let at = 0; at < bytes.length; ) {
    for (const end = Math.min(at + ADLER_RUN, bytes.length); at < end; at++) {
      a += bytes[at]
      b += a
    }
    a %= 65521
    b %= 65521
  }
  return ((b << 16) | a) >>> 0
}

/** Sums up in place. */
function sum(dtype: SummedDtype, data: Uint8Array): void {
  const Type = ARRAYS[dtype]
  const size = Type.BYTES_PER_ELEMENT
  const aligned = data.byteOffset % size === 0
  const count = Math.floor(data.length / size)
  const bytes = aligned ? data : data.slice()
  const values = new Type(bytes.buffer as ArrayBuffer, bytes.byteOffset, count)
  if (values instanceof BigUint64Array || values instanceof BigInt64Array)
    for (let i = 1; i < count; i++) values[i] += values[i - 1]
  else for (let i = 1; i < count; i++) values[i] += values[i - 1]
  if (!aligned) data.set(bytes)
}
