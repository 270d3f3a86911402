/**
 * A list of numbers, or lists of equal length of them, as an array: i64 where all are integers, otherwise f64. The elements
 * are read straight from the bytes, without a JavaScript value for each.
 */
import type { ArrayColumn } from '../../source.js'
import { jsonNumber, shortInteger } from './number.js'

const [COMMA, OPEN, CLOSE] = [0x2c, 0x5b, 0x5d]
/** Lists in lists: an array has no more axes. */
const DEEPEST = 32
/** Bytes of text that an element takes at least: a digit and a comma. */
const LEAST_BYTES = 2
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n]

/** Undefined where it is no such list: with texts, nulls, objects, or of unequal lengths. */
export function numberList(bytes: Buffer, from: number, to: number): ArrayColumn | undefined {
  const room = Math.ceil((to - from) / LEAST_BYTES) + 1
  const data = new Uint8Array(8 * room)
  return (
    read(bytes, from, to, new Integers(data)) ??
    read(bytes, from, to, new Floats(new Float64Array(data.buffer)))
  )
}

/** Takes elements; false where it can't hold one. */
interface Elements {
  readonly dtype: 'i64' | 'f64'
  count: number
  add(bytes: Buffer, from: number, to: number): boolean
  view(): Uint8Array
}

function read(bytes: Buffer, from: number, to: number, elements: Elements): ArrayColumn | undefined {
  /** Length of each axis, known when its first list has ended. */
  const shape: number[] = []
  const counts: number[] = []
  let depth = 0
  /** The depth at which numbers stand. */
  let deepest = -1
  /** A value or a list has just ended. */
  let ended = false
  for (let at = from; at < to; ) {
    const byte = bytes[at]
    if (byte === 0x20 || byte === 0x09) at++
    else if (byte === OPEN) {
      if (ended || depth === DEEPEST || (deepest >= 0 && depth >= deepest)) return undefined
      counts[depth++] = 0
      at++
    } else if (byte === CLOSE) {
      if (depth === 0 || (!ended && counts[depth - 1] > 0)) return undefined
      depth--
      if (shape[depth] === undefined) shape[depth] = counts[depth]
      else if (shape[depth] !== counts[depth]) return undefined
      if (deepest < 0) deepest = depth + 1
      if (depth > 0) counts[depth - 1]++
      ended = true
      at++
    } else if (byte === COMMA) {
      if (!ended) return undefined
      ended = false
      at++
    } else {
      if (ended || (deepest >= 0 && depth !== deepest)) return undefined
      deepest = depth
      const begin = at
      while (at < to && bytes[at] !== COMMA && bytes[at] !== CLOSE && bytes[at] > 0x20) at++
      if (!elements.add(bytes, begin, at)) return undefined
      counts[depth - 1]++
      ended = true
    }
  }
  if (depth !== 0 || shape.length !== Math.max(deepest, 1)) return undefined
  return { dtype: elements.dtype, shape, tiles: [{ data: elements.view() }] }
}

class Integers implements Elements {
  readonly dtype = 'i64'
  count = 0
  private readonly words: Int32Array

  constructor(private readonly data: Uint8Array) {
    this.words = new Int32Array(data.buffer)
  }

  add(bytes: Buffer, from: number, to: number): boolean {
    const number = shortInteger(bytes, from, to)
    const at = 2 * this.count++
    if (number !== undefined) {
      this.words[at] = number % 2 ** 32
      this.words[at + 1] = Math.floor(number / 2 ** 32)
      return true
    }
    const word = bytes.toString('latin1', from, to)
    const wide = jsonNumber(word)
    if (typeof wide === 'number' ? !/^-?\d+$/.test(word) : wide === undefined) return false
    const exact = BigInt(wide as number | bigint)
    if (exact < LEAST || exact > MOST) return false
    this.words[at] = Number(exact & 0xffffffffn)
    this.words[at + 1] = Number(exact >> 32n)
    return true
  }

  view(): Uint8Array {
    return this.data.subarray(0, 8 * this.count)
  }
}

class Floats implements Elements {
  readonly dtype = 'f64'
  count = 0

  constructor(private readonly values: Float64Array) {}

  add(bytes: Buffer, from: number, to: number): boolean {
    const number = shortInteger(bytes, from, to) ?? jsonNumber(bytes.toString('latin1', from, to))
    if (number === undefined) return false
    this.values[this.count++] = Number(number)
    return true
  }

  view(): Uint8Array {
    return new Uint8Array(this.values.buffer, 0, 8 * this.count)
  }
}
