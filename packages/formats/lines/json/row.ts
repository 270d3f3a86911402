/**
 * The wanted values of one JSON object, found in its bytes. What is not wanted is passed over without being parsed, so that a
 * long text costs a search for its end. `a.b` is the value of `b` in the object `a`, unless there is a key `a.b`. Where a
 * key stands twice, the last one counts, as in Python and JavaScript.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import type { Column } from '../../../core/source/source.js'
import { jsonColumn } from './value.js'

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
  read(row: Uint8Array): Record<string, Column> {
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
    const out: Record<string, Column> = {}
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
