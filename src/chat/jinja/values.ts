/** Values of a template: made of JSON, compared and printed as Python does. */
import { Float, floatText, type Json } from '../json.js'
import type { Jinja, ListValue, MapValue, Value } from './package.js'

/** Integers beyond 2^53: their digits. The package computes with the rounded number. */
const DIGITS = new WeakMap<Value, string>()

export function toValue(jinja: Jinja, json: Json): Value {
  if (json === null) return jinja.none
  if (typeof json === 'string') return new jinja.Text(json)
  if (typeof json === 'boolean') return new jinja.Bool(json)
  if (typeof json === 'number') return new jinja.Integer(json)
  if (json instanceof Float) return new jinja.Float(json.value)
  if (typeof json === 'bigint') {
    const value = new jinja.Integer(Number(json))
    DIGITS.set(value, json.toString())
    return value
  }
  if (Array.isArray(json)) return new jinja.List(json.map(item => toValue(jinja, item)))
  return new jinja.Dict(new Map(Array.from(json, ([key, value]) => [key, toValue(jinja, value)])))
}

export const isText = (value: Value): value is Value & { value: string } => value.type === 'StringValue'
export const isList = (value: Value): value is ListValue =>
  value.type === 'ArrayValue' || value.type === 'TupleValue'
export const isDict = (value: Value): value is MapValue =>
  value.type === 'ObjectValue' || value.type === 'KeywordArgumentsValue'
export const isMissing = (value: Value): boolean => value.type === 'UndefinedValue'
export const isNone = (value: Value): boolean => value.type === 'NullValue'
export const isBool = (value: Value): boolean => value.type === 'BooleanValue'
export const isInteger = (value: Value): boolean => value.type === 'IntegerValue'
export const isFloat = (value: Value): boolean => value.type === 'FloatValue'
/** In Python, true and false are numbers. */
export const isNumber = (value: Value): boolean => isInteger(value) || isFloat(value) || isBool(value)

/** `==` of Python. */
export function equal(a: Value, b: Value): boolean {
  if (isNumber(a) && isNumber(b)) {
    const [left, right] = [DIGITS.get(a), DIGITS.get(b)]
    return left === undefined || right === undefined ? Number(a.value) === Number(b.value) : left === right
  }
  if (a.type !== b.type) return false
  if (isList(a)) {
    const [left, right] = [a.value, (b as ListValue).value]
    return left.length === right.length && left.every((item, i) => equal(item, right[i]))
  }
  if (isDict(a)) {
    const [left, right] = [a.value, (b as MapValue).value]
    if (left.size !== right.size) return false
    return Array.from(left).every(([key, value]) => {
      const other = right.get(key)
      return other !== undefined && equal(value, other)
    })
  }
  return a.value === b.value
}

/** `str(value)`: what `{{ value }}` prints. */
export function str(value: Value): string {
  if (isText(value)) return value.value
  return isMissing(value) ? '' : repr(value)
}

/** `repr(value)`. */
export function repr(value: Value): string {
  if (isText(value)) return quoted(value.value)
  if (isNone(value)) return 'None'
  if (isBool(value)) return value.value === true ? 'True' : 'False'
  if (isInteger(value)) return integerText(value)
  if (isFloat(value)) return floatText(value.value as number)
  if (isList(value)) {
    const items = value.value.map(repr)
    if (value.type === 'ArrayValue') return `[${items.join(', ')}]`
    return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`
  }
  if (isDict(value)) {
    const items = Array.from(value.value, ([key, item]) => `${quoted(key)}: ${repr(item)}`)
    return `{${items.join(', ')}}`
  }
  if (isMissing(value)) return 'Undefined'
  throw new Error(`a template can't print a ${value.type}`)
}

export function integerText(value: Value): string {
  const digits = DIGITS.get(value)
  if (digits !== undefined) return digits
  const number = value.value as number
  return Number.isSafeInteger(number) ? String(number) : BigInt(Math.trunc(number)).toString()
}

/** Characters that repr of a text writes as they are: all but controls, separators other than the space, surrogates, unassigned ones. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu

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

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }
