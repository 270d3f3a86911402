/**
 * DELTA_BINARY_PACKED: the first number, then blocks of differences. A block has the least difference, and miniblocks of what
 * each difference has above it, packed into bits. Numbers of 64 bits are two words, the lower one first, so that none becomes
 * an object; sums wrap around.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import { unpack } from './bits.js'

/** Numbers of a miniblock at most: writers use 32 to 128. */
const MOST_MINI = 65536

let packed = new Uint32Array(256)

/** Where the last reading ended, and the words of the last variable-length number. */
export const delta = { at: 0, low: 0, high: 0 }

/** A number of up to 64 bits, as two words. */
function wide(bytes: Uint8Array, from: number, end: number): void {
  let low = 0
  let high = 0
  for (let i = 0; i < 10; i++) {
    if (from + i >= end) throw new DecodeError('a number of the page is cut off')
    const byte = bytes[from + i] & 127
    const shift = 7 * i
    if (shift < 28) low |= byte << shift
    else if (shift === 28) {
      low |= byte << 28
      high |= byte >> 4
    } else high |= byte << (shift - 32)
    if (bytes[from + i] < 128) {
      delta.at = from + i + 1
      delta.low = low >>> 0
      delta.high = high >>> 0
      return
    }
  }
  throw new DecodeError('a number of the page has more than ten bytes')
}

/** The same with its sign in the lowest bit. */
function zigzag(bytes: Uint8Array, from: number, end: number): void {
  wide(bytes, from, end)
  const { low, high } = delta
  const sign = -(low & 1)
  delta.low = (((low >>> 1) | (high << 31)) ^ sign) >>> 0
  delta.high = ((high >>> 1) ^ sign) >>> 0
}

function count(bytes: Uint8Array, from: number, end: number, what: string, most: number): number {
  wide(bytes, from, end)
  if (delta.high !== 0 || delta.low > most)
    throw new DecodeError(`${what} of the page is ${delta.low}: ${most} is the most`)
  return delta.low
}

/**
 * Reads `wanted` numbers into `out`, from number `to` on: a word each, or two where `words` is 2. `delta.at` is behind them.
 */
export function readDelta(
  bytes: Uint8Array,
  from: number,
  end: number,
  words: 1 | 2,
  out: Uint32Array,
  to: number,
  wanted: number,
): void {
  const block = count(bytes, from, end, 'the block size', 1 << 22)
  const minis = count(bytes, delta.at, end, 'the number of miniblocks', 1 << 16)
  const total = count(bytes, delta.at, end, 'the count of numbers', wanted)
  zigzag(bytes, delta.at, end)
  const perMini = block / minis
  if (!Number.isInteger(perMini) || perMini % 8 !== 0 || perMini === 0 || perMini > MOST_MINI)
    throw new DecodeError(`blocks of ${block} numbers in ${minis} miniblocks can't be`)
  if (total !== wanted) throw new DecodeError(`the page has ${total} numbers where ${wanted} should be`)
  if (packed.length < perMini) packed = new Uint32Array(perMini)
  let { at, low, high } = delta
  if (total === 0) return
  put(out, to, words, low, high)
  let done = 1
  while (done < total) {
    zigzag(bytes, at, end)
    const { low: leastLow, high: leastHigh } = delta
    const widths = delta.at
    at = widths + minis
    if (at > end) throw new DecodeError('a block of the page is cut off')
    for (let mini = 0; mini < minis && done < total; mini++) {
      const width = bytes[widths + mini]
      const n = Math.min(perMini, total - done)
      if (width > 64 || at + Math.ceil((n * width) / 8) > end)
        throw new DecodeError('a miniblock of the page is cut off')
      if (width <= 32) {
        unpack(bytes, at, width, n, packed, 0)
        if (words === 1) {
          for (let i = 0; i < n; i++) {
            low = (low + leastLow + packed[i]) | 0
            out[to + done + i] = low
          }
        } else {
          for (let i = 0; i < n; i++) {
            const sum = (low >>> 0) + leastLow + packed[i]
            low = sum >>> 0
            high = (high + leastHigh + (sum - low) / 2 ** 32) >>> 0
            out[2 * (to + done + i)] = low
            out[2 * (to + done + i) + 1] = high
          }
        }
      } else {
        for (let i = 0; i < n; i++) {
          bitsAt(bytes, at, i * width, width)
          const sum = (low >>> 0) + leastLow + delta.low
          low = sum >>> 0
          high = (high + leastHigh + delta.high + (sum - low) / 2 ** 32) >>> 0
          put(out, to + done + i, words, low, high)
        }
      }
      done += n
      at = Math.min(end, at + (perMini * width) / 8)
    }
  }
  delta.at = at
}

function put(out: Uint32Array, to: number, words: 1 | 2, low: number, high: number): void {
  out[words * to] = low
  if (words === 2) out[2 * to + 1] = high
}

/** A number of 33 to 64 bits, bit by bit from a byte on, as two words. */
function bitsAt(bytes: Uint8Array, from: number, bit: number, width: number): void {
  let low = 0
  let high = 0
  for (let got = 0; got < width; ) {
    const at = bit + got
    const shift = at & 7
    const take = Math.min(8 - shift, width - got)
    const part = (bytes[from + (at >> 3)] >> shift) & ((1 << take) - 1)
    if (got < 32) {
      low |= part << got
      if (got + take > 32) high |= part >> (32 - got)
    } else high |= part << (got - 32)
    got += take
  }
  delta.low = low >>> 0
  delta.high = high >>> 0
}
