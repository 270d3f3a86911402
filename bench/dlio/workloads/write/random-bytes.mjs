/**
 * Bytes that nothing compresses, the same for the same seed and file: the key stream of AES-128 in counter mode, which is about
 * as fast as memory is written.
 */
import { createCipheriv, createHash } from 'node:crypto'
import { hashText, Random } from '../../../../build/core/basics/random.js'
import { LEAST_RECORD, MOST_DEVIATIONS } from '../table.mjs'

/** Bytes made at a time: they are still in the processor's cache when they are written. */
const PIECE = 1 << 20
const ZEROS = Buffer.alloc(PIECE)
const SIZE_KEY = hashText('record size')
export class RandomBytes {
  cipher
  constructor(seed, file) {
    const key = createHash('sha256').update(`millrace workload ${seed}`).digest().subarray(0, 16)
    const start = Buffer.alloc(16)
    start.writeDoubleBE(file + 1, 0) // counters of two files never meet: a file would need 2^64 blocks
    this.cipher = createCipheriv('aes-128-ctr', key, start)
  }
  /** The next `count` bytes, at once: a few. */
  first(count) {
    return this.cipher.update(ZEROS.subarray(0, count))
  }
  /** The next `count` bytes, piece by piece. */
  *take(count) {
    for (let left = count; left > 0; left -= PIECE)
      yield this.cipher.update(left >= PIECE ? ZEROS : ZEROS.subarray(0, left))
  }
}
/** Bytes of a record: normally distributed, cut off where that would be tiny or huge. */
export function recordBytesOf({ recordBytes, deviation, scale }, seed, record) {
  if (deviation === 0) return recordBytes
  const drawn = recordBytes + deviation * new Random().key(seed, 0, record, SIZE_KEY).normal()
  const least = Math.min(LEAST_RECORD * scale, recordBytes)
  return Math.round(Math.min(recordBytes + MOST_DEVIATIONS * deviation, Math.max(least, drawn)))
}
