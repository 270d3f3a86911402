/**
 * Decompresses a part of a file of gzip or zlib, from a deflate block on. A block may begin within a byte, and zlib begins with whole
 * bytes. So a few empty blocks are put in front whose bits end where the block begins.
 */

import { constants, type InflateRaw, inflateRawSync } from 'node:zlib'
import { DecodeError } from '../../core/basics/errors.js'
import { headerBytes } from './gzip-scan.js'

const TRAILER = 8

/**
 * `from` begins with the byte in which the block begins, at bit `bit` of it; `window` is what the block may refer to. Fills
 * `into`, which ends where a block does: `from` ends with the last byte of that one.
 */
export function inflatePart(
  from: Uint8Array,
  bit: number,
  window: Uint8Array,
  into: Uint8Array,
  codec: 'gzip' | 'zlib' = 'gzip',
): void {
  let done = 0
  let dictionary: Uint8Array | undefined = window
  let rest = bit === 0 ? from : withFront(from, bit)
  while (done < into.length) {
    const { out, used } = inflate(codec, rest, dictionary, into.length - done)
    into.set(out, done)
    done += out.length
    if (done === into.length) return
    if (codec === 'zlib') break
    // The member ended: the next one follows, with a header.
    const after = used + TRAILER
    if (after >= rest.length) break
    rest = rest.subarray(after)
    const header = headerBytes(rest)
    if (header === 0) break
    rest = rest.subarray(header)
    dictionary = undefined
  }
  if (done < into.length)
    throw new DecodeError(
      `the ${codec} data is damaged: it gives ${done} bytes, and gave ${into.length} before`,
    )
}

function inflate(
  codec: string,
  from: Uint8Array,
  dictionary: Uint8Array | undefined,
  most: number,
): { out: Uint8Array; used: number } {
  try {
    const { buffer, engine } = inflateRawSync(from, {
      // The part ends in the middle of a stream.
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: Math.max(1, most),
      chunkSize: Math.max(64, most + 1),
      ...(dictionary && dictionary.length > 0 && { dictionary }),
      info: true,
    }) as unknown as { buffer: Buffer; engine: InflateRaw }
    return { out: buffer, used: engine.bytesWritten }
  } catch (error) {
    throw new DecodeError(`the ${codec} data can't be decompressed (${(error as Error).message})`, {
      cause: error,
    })
  }
}

/** Empty blocks of 8·n + bit bits, and then the data. */
function withFront(from: Uint8Array, bit: number): Uint8Array {
  const front = FRONTS[bit]
  const whole = new Uint8Array(front.length + from.length - 1)
  whole.set(front)
  whole.set(from, front.length - 1)
  const low = (1 << bit) - 1
  whole[front.length - 1] = (front[front.length - 1] & low) | (from[0] & ~low)
  return whole
}

/** An empty block of the fixed code: 10 bits. */
const FIXED: [number, number][] = [
  [0, 1],
  [1, 2],
  [0, 7],
]
/**
 * An empty block with a code of its own: 91 bits, for odd numbers. The symbols 255 and 256 have one bit, and so has distance 0.
 * Lengths are written by symbols 1 and 18 (so many zeros), of one bit each: those stand at places 17 and 2 of 18.
 */
const DYNAMIC: [number, number][] = [
  [0, 1],
  [2, 2],
  [0, 5],
  [0, 5],
  [14, 4],
  ...Array.from({ length: 18 }, (_, i): [number, number] => [i === 2 || i === 17 ? 1 : 0, 3]),
  [1, 1],
  [138 - 11, 7],
  [1, 1],
  [117 - 11, 7],
  [0, 3],
  [1, 1],
]

/** By the number of bits in the last byte. */
const FRONTS = Array.from({ length: 8 }, (_, bit) => {
  const parts = bit % 2 === 0 ? [] : [DYNAMIC]
  const width = (blocks: [number, number][][]): number =>
    blocks.flat().reduce((sum, [, bits]) => sum + bits, 0)
  while (width(parts) % 8 !== bit) parts.push(FIXED)
  const bytes = new Uint8Array(Math.ceil(width(parts) / 8))
  let at = 0
  for (const [value, bits] of parts.flat())
    for (let i = 0; i < bits; i++, at++) bytes[at >> 3] |= ((value >> i) & 1) << (at & 7)
  return bytes
})
