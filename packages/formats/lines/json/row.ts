/**
 * The wanted values of one JSON object, found in its bytes. What is not wanted is passed over without being parsed, so that a
 * long text costs a search for its end. `a.b` is the value of `b` in the object `a`, unless there is a key `a.b`. Where a
 * key stands twice, the last one counts, as in Python and JavaScript.
 */

import { isUtf8 } from 'node:buffer'
import { DecodeError } from '../../../core/basics/errors.js'
import type { ArrayColumn, Column, Columns } from '../../../core/source/source.js'
import { jsonNumber, shortInteger } from './number.js'

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]
/** Bytes of a string that are looked at one by one before a search is worth its call. */
const SHORT = 24

/** What is wanted below an object: by key the column, and what is wanted in it. */
interface Wanted {
  column: number
  /** The columns below it. */
  below?: Map<string, Wanted>
  columns: number[]
}

export class JsonRow {
  private readonly top = new Map<string, Wanted>()
  /** Whether a wanted key has so many bytes. A key with an escape has more than its text. */
  private readonly lengths: Uint8Array
  /** The value of each column lies here; -1: there is none. */
  private readonly from: Int32Array
  private readonly to: Int32Array
  /** Whether it is that of a key of this very name. */
  private readonly exact: Uint8Array
  private bytes: Buffer = Buffer.alloc(0)

  constructor(private readonly columns: readonly string[]) {
    this.from = new Int32Array(columns.length)
    this.to = new Int32Array(columns.length)
    this.exact = new Uint8Array(columns.length)
    const lengths = columns.flatMap(name => [name, ...name.split('.')]).map(key => Buffer.byteLength(key))
    this.lengths = new Uint8Array(Math.max(0, ...lengths) + 1)
    for (const length of lengths) this.lengths[length] = 1
    columns.forEach((name, column) => {
      entry(this.top, name).column = column
      const keys = name.split('.')
      if (keys.length === 1) return
      let level = this.top
      keys.forEach((key, i) => {
        const found = entry(level, key)
        found.columns.push(column)
        if (i === keys.length - 1) found.column = column
        else level = found.below ??= new Map()
      })
    })
  }

  /** The columns that the object has. */
  read(row: Uint8Array): Columns {
    const bytes = Buffer.from(row.buffer, row.byteOffset, row.length)
    this.bytes = bytes
    this.from.fill(-1)
    this.exact.fill(0)
    const begin = this.space(0)
    if (bytes[begin] !== OPEN_OBJECT) {
      throw new DecodeError(
        `is no JSON object, such as {"text": "…", "label": 3}: it begins with ${shownAt(bytes, begin)}`,
      )
    }
    const end = this.space(this.object(begin, this.top, true))
    if (end < bytes.length) throw this.fault(end, 'after the object there is more text')
    const out: Columns = {}
    for (let i = 0; i < this.columns.length; i++) {
      if (this.from[i] < 0) continue
      const value = jsonColumn(bytes, this.from[i], this.to[i], this.columns[i])
      if (value !== undefined) out[this.columns[i]] = value
    }
    return out
  }

  /** Goes through an object; gives the offset behind it. */
  private object(begin: number, wanted: Map<string, Wanted>, top: boolean): number {
    const { bytes } = this
    let at = this.space(begin + 1)
    if (bytes[at] === CLOSE_OBJECT) return at + 1
    for (;;) {
      if (bytes[at] !== QUOTE) throw this.fault(at, 'a key in quotes should stand here')
      const close = stringEnd(bytes, at + 1)
      if (close < 0) throw this.fault(at, 'this string does not end')
      const found = this.mayBeWanted(at, close) ? wanted.get(this.key(at, close)) : undefined
      at = this.space(close + 1)
      if (bytes[at] !== COLON) throw this.fault(at, 'a colon should stand here')
      const from = this.space(at + 1)
      at = found === undefined ? this.skip(from) : this.take(from, found, top)
      at = this.space(at)
      if (bytes[at] === CLOSE_OBJECT) return at + 1
      if (bytes[at] !== COMMA) throw this.fault(at, 'a comma or the end of the object should stand here')
      at = this.space(at + 1)
    }
  }

  private take(from: number, wanted: Wanted, top: boolean): number {
    for (const column of wanted.columns) if (this.exact[column] === 0) this.from[column] = -1
    let to: number
    if (wanted.below !== undefined && this.bytes[from] === OPEN_OBJECT)
      to = this.object(from, wanted.below, false)
    else to = this.skip(from)
    const { column } = wanted
    const literal = top && column >= 0 && wanted.columns.length === 0 ? 1 : 0
    if (column >= 0 && literal >= this.exact[column]) {
      this.from[column] = from
      this.to[column] = to
      this.exact[column] = literal
    }
    return to
  }

  private mayBeWanted(quote: number, close: number): boolean {
    const length = close - quote - 1
    if (length < this.lengths.length && this.lengths[length] === 1) return true
    for (let at = quote + 1; at < close; at++) if (this.bytes[at] === BACKSLASH) return true
    return false
  }

  private key(quote: number, close: number): string {
    const text = this.bytes.toString('utf8', quote + 1, close)
    if (!text.includes('\\')) return text
    try {
      return JSON.parse(`"${text}"`) as string
    } catch {
      throw this.fault(quote, 'this key is no JSON string')
    }
  }

  /** The offset behind a value. */
  private skip(from: number): number {
    const { bytes } = this
    const byte = bytes[from]
    if (byte === QUOTE) {
      const close = stringEnd(bytes, from + 1)
      if (close < 0) throw this.fault(from, 'this string does not end')
      return close + 1
    }
    let at = from
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      for (let depth = 0; at < bytes.length; at++) {
        const here = bytes[at]
        if (here === QUOTE) {
          const close = stringEnd(bytes, at + 1)
          if (close < 0) throw this.fault(at, 'this string does not end')
          at = close
        } else if (here === OPEN_OBJECT || here === OPEN_LIST) depth++
        else if (here === CLOSE_OBJECT || here === CLOSE_LIST) {
          if (--depth === 0) return at + 1
        }
      }
      throw this.fault(from, 'this list or object does not end')
    }
    while (at < bytes.length && !endsWord(bytes[at])) at++
    if (at === from) throw this.fault(at, 'a value should stand here')
    return at
  }

  private space(from: number): number {
    const { bytes } = this
    let at = from
    while (at < bytes.length && isSpace(bytes[at])) at++
    return at
  }

  private fault(at: number, problem: string): DecodeError {
    const { bytes } = this
    const where = at >= bytes.length ? 'it ends too early' : `it has ${shownAt(bytes, at)}`
    return new DecodeError(`is no JSON: at byte ${at} of the row ${problem}, and ${where}`)
  }
}

/** Where a string closes whose first byte is at `from`; -1: nowhere. */
function stringEnd(bytes: Buffer, from: number): number {
  const near = Math.min(from + SHORT, bytes.length)
  for (let at = from; at < near; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) return farEnd(bytes, from, at)
  }
  return farEnd(bytes, from, near)
}

function farEnd(bytes: Buffer, from: number, after: number): number {
  for (let at = bytes.indexOf(QUOTE, after); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let before = at
    while (before > from && bytes[before - 1] === BACKSLASH) before--
    if ((at - before) % 2 === 0) return at
  }
  return -1
}

function entry(map: Map<string, Wanted>, key: string): Wanted {
  let found = map.get(key)
  if (found === undefined) {
    found = { column: -1, columns: [] }
    map.set(key, found)
  }
  return found
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const endsWord = (byte: number): boolean =>
  byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST || byte === COLON || isSpace(byte)

function shownAt(bytes: Buffer, at: number): string {
  return JSON.stringify(bytes.toString('latin1', at, at + 40))
}

/**
 * One JSON value as a column: numbers (integers that a number would round as bigint), text, true and false as 1 and 0, lists
 * of numbers as arrays. Null is no value. Objects and other lists stay JSON text.
 */

/** Half of a surrogate pair. */
const LONE = /\p{Surrogate}/u

/** The value at [from, to); undefined for null. */
function jsonColumn(bytes: Buffer, from: number, to: number, name: string): Column | undefined {
  const first = bytes[from]
  if (first === QUOTE) return textIn(bytes, from, to, name)
  if (first === OPEN_LIST) return numberList(bytes, from, to) ?? plainText(bytes, from, to, name)
  if (first === OPEN_OBJECT) return plainText(bytes, from, to, name)
  const short = shortInteger(bytes, from, to)
  if (short !== undefined) return short
  return wordValue(bytes.toString('latin1', from, to), name)
}

function wordValue(word: string, name: string): number | bigint | undefined {
  if (word === 'null') return undefined
  if (word === 'true') return 1
  if (word === 'false') return 0
  const number = jsonNumber(word)
  if (number !== undefined) return number
  throw new DecodeError(`is no JSON: the value of "${name}" is ${JSON.stringify(word.slice(0, 40))}`)
}

function textIn(bytes: Buffer, from: number, to: number, name: string): string {
  const slash = bytes.indexOf(BACKSLASH, from)
  if (slash < 0 || slash >= to) return plainText(bytes, from + 1, to - 1, name)
  const quoted = plainText(bytes, from, to, name)
  let text: string
  try {
    text = JSON.parse(quoted) as string
  } catch (cause) {
    throw new DecodeError(`is no JSON: the text of "${name}": ${(cause as Error).message}`, { cause })
  }
  if (!LONE.test(text)) return text
  throw new DecodeError(
    `the text of "${name}" has half of a surrogate pair (\\ud800–\\udfff), which is no character: write it again`,
  )
}

/** Bytes as text, once they are known to be valid. */
function plainText(bytes: Buffer, from: number, to: number, name: string): string {
  if (isUtf8(bytes.subarray(from, to))) return bytes.toString('utf8', from, to)
  throw new DecodeError(`the text of "${name}" is not UTF-8: convert the file, or write it again`)
}

/**
 * A list of numbers, or lists of equal length of them, as an array: i64 where all are integers, otherwise f64. The elements
 * are read straight from the bytes, without a JavaScript value for each.
 */

/** Lists in lists: an array has no more axes. */
const DEEPEST = 32
/** Bytes of text that an element takes at least: a digit and a comma. */
const LEAST_BYTES = 2
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n]

/** Where elements are collected: their number is known at the end. It grows to the longest list. */
let scratch = new Float64Array(1024)
let words = new Int32Array(scratch.buffer)

/** Undefined where it is no such list: with texts, nulls, objects, or of unequal lengths. */
function numberList(bytes: Buffer, from: number, to: number): ArrayColumn | undefined {
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
    else if (byte === OPEN_LIST) {
      if (ended || depth === DEEPEST || (deepest >= 0 && depth >= deepest)) return undefined
      counts[depth++] = 0
      at++
    } else if (byte === CLOSE_LIST) {
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
      while (at < to && bytes[at] !== COMMA && bytes[at] !== CLOSE_LIST && bytes[at] > 0x20) at++
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
