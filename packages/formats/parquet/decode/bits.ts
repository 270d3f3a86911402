/**
 * Numbers packed into bits: Parquet's hybrid of runs and packed groups, by which it writes levels and the codes of a
 * dictionary. A run is a count and a value; a packed group is 8 numbers in `width` bytes, the least bits first.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import { ENCODING } from '../names.js'

/** Before the levels of a page of version 1: the bytes that they take. */
const LENGTH_BYTES = 4

/** Where the reading of a hybrid ended, and the greatest number in it. One object, written anew by each call. */
export const hybrid = { at: 0, greatest: 0 }

/** Reads a variable-length count: `hybrid.at` is behind it. */
function varint(bytes: Uint8Array, at: number, end: number): number {
  let value = 0
  let scale = 1
  for (let i = at; i < end && i < at + 5; i++) {
    value += (bytes[i] & 127) * scale
    if (bytes[i] < 128) {
      hybrid.at = i + 1
      return value
    }
    scale *= 128
  }
  throw new DecodeError('a count in the page is cut off')
}

/** The value of a run: `width` bits in whole bytes. */
function runValue(bytes: Uint8Array, at: number, end: number, size: number): number {
  if (at + size > end) throw new DecodeError('a run of the page is cut off')
  let value = 0
  for (let i = 0; i < size; i++) value += bytes[at + i] * 2 ** (8 * i)
  return value
}

/** Reads `count` codes of `width` bits into `out`, from `to` on. */
export function readCodes(
  bytes: Uint8Array,
  from: number,
  end: number,
  width: number,
  count: number,
  out: Uint32Array,
  to: number,
): void {
  if (width > 32) throw new DecodeError(`its codes have ${width} bits: 32 is the most`)
  const size = (width + 7) >> 3
  let at = from
  let done = 0
  let greatest = 0
  while (done < count) {
    const head = varint(bytes, at, end)
    at = hybrid.at
    if (head % 2 === 0) {
      const n = Math.min(head / 2, count - done)
      if (n === 0) throw new DecodeError('a run of length 0')
      const value = runValue(bytes, at, end, size)
      at += size
      out.fill(value, to + done, to + done + n)
      if (value > greatest) greatest = value
      done += n
    } else {
      const groups = (head - 1) / 2
      const n = Math.min(groups * 8, count - done)
      // The last group may be cut off behind the last number.
      if (n === 0 || at + Math.ceil((n * width) / 8) > end)
        throw new DecodeError('a packed group of the page is cut off')
      const most = unpack(bytes, at, width, n, out, to + done)
      if (most > greatest) greatest = most
      at += Math.min(groups * width, end - at)
      done += n
    }
  }
  hybrid.at = at
  hybrid.greatest = greatest
}

/** Unpacks `count` numbers of `width` bits; gives the greatest. The bytes are known to be there. */
export function unpack(
  bytes: Uint8Array,
  from: number,
  width: number,
  count: number,
  out: Uint32Array,
  to: number,
): number {
  let greatest = 0
  if (width === 0) {
    out.fill(0, to, to + count)
    return 0
  }
  if (width === 8) {
    for (let i = 0; i < count; i++) {
      const value = bytes[from + i]
      out[to + i] = value
      if (value > greatest) greatest = value
    }
    return greatest
  }
  if (width === 16) {
    for (let i = 0, at = from; i < count; i++, at += 2) {
      const value = bytes[at] | (bytes[at + 1] << 8)
      out[to + i] = value
      if (value > greatest) greatest = value
    }
    return greatest
  }
  if (width <= 24) {
    const mask = (1 << width) - 1
    let held = 0
    let bits = 0
    let at = from
    for (let i = 0; i < count; i++) {
      while (bits < width) {
        held |= bytes[at++] << bits
        bits += 8
      }
      const value = held & mask
      held >>>= width
      bits -= width
      out[to + i] = value
      if (value > greatest) greatest = value
    }
    return greatest
  }
  return unpackWide(bytes, from, width, count, out, to)
}

/** The same for 25 to 32 bits, with numbers beyond 32 bits. */
function unpackWide(
  bytes: Uint8Array,
  from: number,
  width: number,
  count: number,
  out: Uint32Array,
  to: number,
): number {
  const modulus = 2 ** width
  let greatest = 0
  let held = 0
  let bits = 0
  let at = from
  for (let i = 0; i < count; i++) {
    while (bits < width) {
      held += bytes[at++] * 2 ** bits
      bits += 8
    }
    const value = held % modulus
    held = (held - value) / modulus
    bits -= width
    out[to + i] = value
    if (value > greatest) greatest = value
  }
  return greatest
}

/** Reads `count` levels into `out`, from 0 on; levels above `most` are refused. */
export function readLevels(
  bytes: Uint8Array,
  from: number,
  end: number,
  most: number,
  count: number,
  out: Uint8Array,
): void {
  const width = bitsFor(most)
  let at = from
  let done = 0
  while (done < count) {
    const head = varint(bytes, at, end)
    at = hybrid.at
    if (head % 2 === 0) {
      const n = Math.min(head / 2, count - done)
      if (n === 0) throw new DecodeError('a run of length 0')
      const value = runValue(bytes, at, end, 1)
      if (value > most) throw tooHigh(value, most)
      out.fill(value, done, done + n)
      at++
      done += n
    } else {
      const groups = (head - 1) / 2
      const n = Math.min(groups * 8, count - done)
      if (n === 0 || at + Math.ceil((n * width) / 8) > end)
        throw new DecodeError('a packed group of the page is cut off')
      unpackLevels(bytes, at, width, n, out, done, most)
      at += Math.min(groups * width, end - at)
      done += n
    }
  }
}

function unpackLevels(
  bytes: Uint8Array,
  from: number,
  width: number,
  count: number,
  out: Uint8Array,
  to: number,
  most: number,
): void {
  const mask = (1 << width) - 1
  let held = 0
  let bits = 0
  let at = from
  for (let i = 0; i < count; i++) {
    if (bits < width) {
      held |= bytes[at++] << bits
      bits += 8
    }
    const value = held & mask
    if (value > most) throw tooHigh(value, most)
    out[to + i] = value
    held >>>= width
    bits -= width
  }
}

/** Reads the levels of a page of version 1, from byte `at` on, and says where they end. They begin with the bytes that they take. */
export function readPageLevels(
  content: Uint8Array,
  at: number,
  encoding: number,
  most: number,
  out: Uint8Array,
): number {
  if (encoding === ENCODING.BIT_PACKED)
    return at + readOldLevels(content, at, content.length, most, out.length, out)
  if (encoding !== ENCODING.RLE) throw new DecodeError(`its levels have the encoding ${encoding}`)
  if (at + LENGTH_BYTES > content.length) throw new DecodeError('its levels are cut off')
  const length = new DataView(content.buffer, content.byteOffset + at, LENGTH_BYTES).getUint32(0, true)
  const begin = at + LENGTH_BYTES
  if (length > content.length - begin) throw new DecodeError('its levels are cut off')
  readLevels(content, begin, begin + length, most, out.length, out)
  return begin + length
}

/** Levels in the old encoding BIT_PACKED: without runs, the greatest bits first. Gives the bytes that they take. */
function readOldLevels(
  bytes: Uint8Array,
  from: number,
  end: number,
  most: number,
  count: number,
  out: Uint8Array,
): number {
  const width = bitsFor(most)
  const length = Math.ceil((count * width) / 8)
  if (from + length > end) throw new DecodeError('its levels are cut off')
  for (let i = 0, bit = 0; i < count; i++) {
    let value = 0
    for (let k = 0; k < width; k++, bit++)
      value = (value << 1) | ((bytes[from + (bit >> 3)] >> (7 - (bit & 7))) & 1)
    if (value > most) throw tooHigh(value, most)
    out[i] = value
  }
  return length
}

/** Bits that hold 0 to `most`. */
function bitsFor(most: number): number {
  return 32 - Math.clz32(most)
}

function tooHigh(level: number, most: number): DecodeError {
  return new DecodeError(`a level is ${level}, and the schema has ${most} at most`)
}
