/** Values of a template: JSON as conversations have it, and what Python has besides. Compared, ordered and printed as Python does. */
import { Float, floatText } from '../json.js'
import { type Meter, Output } from './meter.js'

export type Key = string | number | bigint | boolean | null
export type Dict = ReadonlyMap<Key, Value>
export type List = readonly Value[]
export type Value = Key | Float | List | Dict | Missing | Func | Namespace | View | Attributed

/** A variable, key or attribute that is not there. */
export class Missing {
  constructor(readonly name: string) {}
}

/** A value that may not be there. `null` is one that is. */
export const orMissing = (value: Value | undefined, name: string): Value =>
  value === undefined ? new Missing(name) : value

/** A tuple is a list that prints otherwise. */
export class Tuple extends Array<Value> {}
export const tuple = (...items: Value[]): Tuple => Tuple.from(items) as Tuple

export type Call = (args: readonly Value[], named: ReadonlyMap<string, Value>) => Value
export class Func {
  constructor(readonly call: Call) {}
}

export class Namespace {
  constructor(readonly map: Map<string, Value>) {}
}

/** What is gone through and is no list. A generator can be gone through once, and prints as nothing that could be compared. */
export class View {
  constructor(
    readonly kind: 'dict_items' | 'dict_keys' | 'dict_values' | 'range' | 'generator',
    public items: List,
    readonly text?: string,
  ) {}
}

/** `loop` and cyclers: attributes, and what a call does. */
export class Attributed {
  constructor(
    readonly attribute: (name: string) => Value | undefined,
    readonly call?: Call,
  ) {}
}

export const isText = (value: Value): value is string => typeof value === 'string'
export const isList = (value: Value): value is List => Array.isArray(value)
export const isDict = (value: Value): value is Dict => value instanceof Map
export const isInteger = (value: Value): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'
/** In Python, true and false are numbers. */
export const isNumber = (value: Value): value is number | bigint | boolean | Float =>
  isInteger(value) || typeof value === 'boolean' || value instanceof Float

/** Of a number its value; beyond 2^53, a rounded one. */
export const numberOf = (value: number | bigint | boolean | Float): number =>
  value instanceof Float ? value.value : Number(value)

/** Digits of integers, as Python's limit for printing them. */
const MOST_DIGITS = 4300

export function integer(value: number | bigint): number | bigint {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : integer(BigInt(value))
  const small = Number(value)
  if (Number.isSafeInteger(small)) return small
  if (!Number.isFinite(small) && value.toString(16).length > MOST_DIGITS)
    throw new Error(`a number has more than ${MOST_DIGITS} digits`)
  return value
}

export function keyOf(value: Value): Key {
  if (value === null || isText(value) || isInteger(value)) return value
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Float && Number.isInteger(value.value)) return integer(value.value)
  throw new Error(`${typeOf(value)} can't be a key here`)
}

/** What Python calls the type of a value. */
export function typeOf(value: Value): string {
  if (value === null) return 'None'
  if (isText(value)) return 'a text'
  if (typeof value === 'boolean') return 'a boolean'
  if (isInteger(value)) return 'an integer'
  if (value instanceof Float) return 'a float'
  if (isList(value)) return value instanceof Tuple ? 'a tuple' : 'a list'
  if (isDict(value)) return 'a dict'
  if (value instanceof View) return `a ${value.kind}`
  if (value instanceof Missing) return 'an undefined value'
  return value instanceof Namespace ? 'a namespace' : 'a function'
}

export function truth(value: Value): boolean {
  if (value === null || value instanceof Missing) return false
  if (isNumber(value)) return numberOf(value) !== 0
  if (isText(value) || isList(value)) return value.length > 0
  if (isDict(value)) return value.size > 0
  return !(value instanceof View) || value.kind === 'generator' || value.items.length > 0
}

/** Items that a loop sees. They are charged: each may become a value of its own. */
export function itemsOf(meter: Meter, value: Value): List {
  if (isList(value)) {
    meter.charge(value.length)
    return value
  }
  if (isText(value)) {
    meter.items(value.length)
    return Array.from(value)
  }
  if (isDict(value)) {
    meter.items(value.size)
    return Array.from(value.keys())
  }
  if (value instanceof Missing) return []
  if (!(value instanceof View)) throw new Error(`${typeOf(value)} can't be gone through`)
  const { items } = value
  meter.charge(items.length)
  if (value.kind === 'generator') value.items = []
  return items
}

export function equal(meter: Meter, a: Value, b: Value): boolean {
  meter.items(1)
  if (isNumber(a) && isNumber(b)) {
    const [left, right] = [a, b].map(value => (typeof value === 'boolean' ? Number(value) : value))
    // biome-ignore lint/suspicious/noDoubleEquals: of a bigint and a number, by value
    return (left instanceof Float ? left.value : left) == (right instanceof Float ? right.value : right)
  }
  if (isText(a) && isText(b)) {
    if (a.length === b.length) meter.charge(a.length)
    return a === b
  }
  if (isList(a) && isList(b))
    return (
      a instanceof Tuple === b instanceof Tuple &&
      a.length === b.length &&
      a.every((item, i) => equal(meter, item, b[i]))
    )
  if (isDict(a) && isDict(b)) {
    if (a.size !== b.size) return false
    for (const [key, value] of a) {
      const other = b.get(key)
      if (other === undefined || !equal(meter, value, other)) return false
    }
    return true
  }
  return a === b || (a instanceof Missing && b instanceof Missing)
}

/** Which of two goes first: below 0, 0, above 0. */
export function compare(meter: Meter, a: Value, b: Value): number {
  meter.items(1)
  if (isNumber(a) && isNumber(b)) {
    const [left, right] = [a, b].map(value => (value instanceof Float ? value.value : value) as number)
    return left < right ? -1 : left > right ? 1 : 0
  }
  if (isText(a) && isText(b)) {
    meter.charge(Math.min(a.length, b.length))
    return compareTexts(a, b)
  }
  if (isList(a) && isList(b)) {
    for (let i = 0; i < a.length && i < b.length; i++)
      if (!equal(meter, a[i], b[i])) return compare(meter, a[i], b[i])
    return a.length - b.length
  }
  throw new Error(`${typeOf(a)} and ${typeOf(b)} have no order`)
}

/** By code points: surrogates stand before U+E000, and what they write behind it. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const [left, right] = [a, b].map(text => {
    const unit = text.charCodeAt(at)
    return Number.isNaN(unit) ? -1 : unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit
  })
  return left - right
}

/** The keys of sorting: texts without regard to case, unless that is asked for. */
export const caseless = (meter: Meter, value: Value, sensitive: boolean): Value => {
  if (sensitive || !isText(value)) return value
  meter.text(value.length)
  return value.toLowerCase()
}

/** `str(value)`: what `{{ value }}` prints. */
export function str(meter: Meter, value: Value): string {
  if (isText(value)) return value
  if (value instanceof Missing) return ''
  const out = new Output(meter)
  const put = (part: string): void => out.add(part)
  write(value)
  return out.text()

  function list(open: string, items: Iterable<Value>, close: string): void {
    put(open)
    let first = true
    for (const item of items) {
      if (!first) put(', ')
      first = false
      write(item)
    }
    put(close)
  }
  function write(value: Value): void {
    if (isText(value)) {
      meter.charge(8 * value.length)
      put(quoted(value))
    } else if (value === null) put('None')
    else if (typeof value === 'boolean') put(value ? 'True' : 'False')
    else if (isInteger(value)) put(value.toString())
    else if (value instanceof Float) put(floatText(value.value))
    else if (isList(value)) {
      if (!(value instanceof Tuple)) list('[', value, ']')
      else list('(', value, value.length === 1 ? ',)' : ')')
    } else if (isDict(value)) {
      put('{')
      let first = true
      for (const [key, item] of value) {
        if (!first) put(', ')
        first = false
        write(key)
        put(': ')
        write(item)
      }
      put('}')
    } else if (value instanceof Missing) put('Undefined')
    else if (value instanceof View && value.text !== undefined) put(value.text)
    else if (value instanceof View && value.kind.startsWith('dict'))
      list(`${value.kind}([`, value.items, '])')
    else throw new Error(`${typeOf(value)} can't be printed: Python would print its address`)
  }
}

/** Characters that repr of a text writes as they are: all but controls, separators other than the space, surrogates, unassigned ones. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** `repr` of a text. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const inner = text
    .replace(/[\\\n\r\t]/g, char => ESCAPES[char])
    .replaceAll(quote, `\\${quote}`)
    .replace(UNPRINTABLE, char => {
      const code = char.codePointAt(0)!
      if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
      return code < 0x10000
        ? `\\u${code.toString(16).padStart(4, '0')}`
        : `\\U${code.toString(16).padStart(8, '0')}`
    })
  return quote + inner + quote
}
