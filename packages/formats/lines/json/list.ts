/**
 * A list of numbers, or lists of equal length of them, as an array: i64 where all are integers, otherwise f64. The elements
 * are read straight from the bytes, without a JavaScript value for each.
 */
import type { ArrayColumn } from '../../../core/source/source.js'
import { jsonNumber, shortInteger } from './number.js'

const [COMMA, OPEN, CLOSE] = [0x2c, 0x5b, 0x5d]
/** Lists in lists: an array has no more axes. */
const DEEPEST = 32
/** Bytes of text that an element takes at least: a digit and a comma. */
const LEAST_BYTES = 2
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n]

/** Where elements are collected: their number is known at the end. It grows to the longest list. */
let scratch = new Float64Array(1024)
let words = new Int32Array(scratch.buffer)

/** Undefined where it is no such list: with texts, nulls, objects, or of unequal lengths. */
export function numberList(bytes: Buffer, from: number, to: number): ArrayColumn | undefined {
  const room = Math.ceil((to - from) / LEAST_BYTES) + 1
  if (room > scratch.length) {
    scratch = new Float64Array(room)
    words = new Int32Array(scratch.buffer)
  }
  return read(bytes, from, to, 'i64', addInteger) ?? read(bytes, from, to, 'f64', addFloat)
}

/** Puts an element at its place in the scratch; false where it is none of this type. */
type Add = (bytes: Buffer, from: number, to: number, at: number) => boolean

function read(
  bytes: Buffer,
  from: number,
  to: number,
  dtype: 'i64' | 'f64',
  add: Add,
): ArrayColumn | undefined {
  let count = 0
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
      if (!add(bytes, begin, at, count++)) return undefined
      counts[depth - 1]++
      ended = true
    }
  }
  if (depth !== 0 || shape.length !== Math.max(deepest, 1)) return undefined
  return { dtype, shape, tiles: [{ data: new Uint8Array(scratch.buffer.slice(0, 8 * count)) }] }
}

const addInteger: Add = (bytes, from, to, at) => {
  const number = shortInteger(bytes, from, to)
  if (number !== undefined) {
    const low = number | 0
    words[2 * at] = low
    words[2 * at + 1] = low === number ? low >> 31 : Math.floor(number / 2 ** 32)
    return true
  }
  const word = bytes.toString('latin1', from, to)
  const wide = jsonNumber(word)
  if (typeof wide === 'number' ? !/^-?\d+$/.test(word) : wide === undefined) return false
  const exact = BigInt(wide as number | bigint)
  if (exact < LEAST || exact > MOST) return false
  words[2 * at] = Number(exact & 0xffffffffn)
  words[2 * at + 1] = Number(exact >> 32n)
  return true
}

const addFloat: Add = (bytes, from, to, at) => {
  const number = shortInteger(bytes, from, to) ?? jsonNumber(bytes.toString('latin1', from, to))
  if (number === undefined) return false
  scratch[at] = Number(number)
  return true
}
