/** Operators of a template, and what its values have inside: items, keys, attributes, slices. */
import { Float } from '../json.js'
import { formatted } from './builtins/format.js'
import { dictMethod, listMethod, textMethod } from './builtins/methods.js'
import type { Meter } from './meter.js'
import {
  Attributed,
  compare,
  equal,
  Func,
  integer,
  isDict,
  isInteger,
  isList,
  isNumber,
  isText,
  itemsOf,
  keyOf,
  type List,
  Missing,
  Namespace,
  numberOf,
  orMissing,
  str,
  Tuple,
  typeOf,
  type Value,
  View,
} from './values.js'

const ORDERS: Readonly<Record<string, (order: number) => boolean>> = {
  '<': order => order < 0,
  '>': order => order > 0,
  '<=': order => order <= 0,
  '>=': order => order >= 0,
}

export function operate(meter: Meter, operator: string, left: Value, right: Value): Value {
  if (operator === '==' || operator === '!=') return equal(meter, left, right) === (operator === '==')
  if (operator === 'in' || operator === 'not in') return contains(meter, left, right) === (operator === 'in')
  if (operator === '~') {
    const [a, b] = [str(meter, left), str(meter, right)]
    meter.text(a.length + b.length, Math.min(a.length, b.length))
    return a + b
  }
  for (const value of [left, right]) if (value instanceof Missing) throw undefinedError(value)
  if (Object.hasOwn(ORDERS, operator)) return ORDERS[operator](compare(meter, left, right))
  if (isNumber(left) && isNumber(right)) return compute(meter, operator, left, right)
  if (operator === '+' && isText(left) && isText(right)) return operate(meter, '~', left, right)
  if (operator === '+' && isList(left) && isList(right) && left instanceof Tuple === right instanceof Tuple) {
    meter.charge(8 * (left.length + right.length))
    return left instanceof Tuple ? (Tuple.from(left.concat(right)) as Tuple) : [...left, ...right]
  }
  if (operator === '*') {
    const [what, times] = isNumber(left) ? [right, left] : [left, right]
    if ((isInteger(times) || typeof times === 'boolean') && (isText(what) || isList(what)))
      return repeated(meter, what, Math.max(0, Number(times)))
  }
  if (operator === '%' && isText(left))
    return formatted(meter, left, right instanceof Tuple ? right : [right])
  throw new Error(`${operator} can't be applied to ${typeOf(left)} and ${typeOf(right)}`)
}

const undefinedError = ({ name }: Missing): Error => new Error(`'${name}' is undefined`)

function repeated(meter: Meter, what: string | List, times: number): Value {
  if (isText(what)) {
    meter.text(what.length * times)
    return what.repeat(times)
  }
  meter.charge(8 * what.length * times)
  const all = Array.from({ length: times }, () => what).flat()
  return what instanceof Tuple ? (Tuple.from(all) as Tuple) : all
}

/** Bits of the results of whole numbers: beyond, they take long. */
const MOST_BITS = 16_384

type Numeric = number | bigint | boolean | Float

const OF_FLOATS: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '//': (a, b) => Math.floor(a / b),
  '%': (a, b) => a - b * Math.floor(a / b),
  '**': (a, b) => a ** b,
}
const OF_INTEGERS: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '//': floorDiv,
  '%': (a, b) => a - b * floorDiv(a, b),
  '**': (a, b) => a ** b,
}

function compute(meter: Meter, operator: string, left: Numeric, right: Numeric): Value {
  const [a, b] = [numberOf(left), numberOf(right)]
  if (b === 0 && ['/', '//', '%'].includes(operator)) throw new Error('division by zero')
  if (operator === '/') return new Float(a / b)
  if (left instanceof Float || right instanceof Float || (operator === '**' && b < 0))
    return new Float(OF_FLOATS[operator](a, b))
  const small = typeof left === 'number' && typeof right === 'number' ? ofSmall(operator, left, right) : NaN
  if (Number.isSafeInteger(small)) return small
  const [x, y] = [BigInt(left), BigInt(right)]
  if (operator === '*') meter.charge(bits(x) + bits(y))
  const size = operator === '*' ? bits(x) + bits(y) : operator === '**' ? bits(x) * b : 0
  if (size > MOST_BITS) throw new Error('a number is too large')
  return integer(OF_INTEGERS[operator](x, y))
}

function ofSmall(operator: string, a: number, b: number): number {
  const rest = a % b
  const remainder = rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest
  if (operator === '%') return remainder + 0
  if (operator === '//') return (a - remainder) / b + 0
  // 0 times a number below it is no −0.
  return operator === '**' ? NaN : OF_FLOATS[operator](a, b) + 0
}

function floorDiv(a: bigint, b: bigint): bigint {
  const whole = a / b
  return a % b !== 0n && a < 0n !== b < 0n ? whole - 1n : whole
}

const bits = (value: bigint): number => 4 * value.toString(16).length

export function negated(value: Value, sign: string): Value {
  if (value instanceof Missing) throw undefinedError(value)
  if (!isNumber(value)) throw new Error(`${sign} can't be applied to ${typeOf(value)}`)
  if (value instanceof Float) return new Float(sign === '-' ? -value.value : value.value)
  return integer(sign === '-' ? -BigInt(value) : BigInt(value))
}

export function contains(meter: Meter, item: Value, inside: Value): boolean {
  if (isText(inside)) {
    if (!isText(item)) throw new Error(`${typeOf(item)} can't be looked for in a text`)
    meter.charge(inside.length)
    return inside.includes(item)
  }
  if (isDict(inside)) return inside.has(keyOf(item))
  return itemsOf(meter, inside).some(other => equal(meter, other, item))
}

/** `value.name`: Python's methods come first, then keys. */
export function attribute(meter: Meter, value: Value, name: string): Value {
  if (value instanceof Missing) throw undefinedError(value)
  return orMissing(inside(meter, value, name), name)
}

function inside(meter: Meter, value: Value, name: string): Value | undefined {
  if (isText(value)) return textMethod(meter, value, name)
  if (isList(value)) return listMethod(meter, value, name)
  if (isDict(value)) return dictMethod(meter, value, name) ?? value.get(name)
  if (value instanceof Namespace) return value.map.get(name)
  return value instanceof Attributed ? value.attribute(name) : undefined
}

/** `value[key]`: keys come first. */
export function item(meter: Meter, value: Value, key: Value): Value {
  if (value instanceof Missing) throw undefinedError(value)
  if (isDict(value)) {
    const found = isDict(key) || isList(key) ? undefined : value.get(keyOf(key))
    if (found !== undefined) return found
  } else if (isInteger(key) || typeof key === 'boolean') {
    const at = Number(key)
    if (isText(value)) return orMissing(pointAt(meter, value, at), String(key))
    const items = isList(value) ? value : value instanceof View && value.kind === 'range' ? value.items : []
    return orMissing(items.at(at), String(key))
  }
  return isText(key) ? attribute(meter, value, key) : new Missing(str(meter, key))
}

const ASTRAL = /[\ud800-\udfff]/

function pointAt(meter: Meter, text: string, at: number): string | undefined {
  meter.charge(text.length)
  if (!ASTRAL.test(text)) return text.at(at)
  meter.items(text.length)
  return Array.from(text).at(at)
}

/** `value[from:to:step]`. */
export function slice(meter: Meter, value: Value, [start, stop, by]: (Value | undefined)[]): Value {
  if (value instanceof Missing) throw undefinedError(value)
  const bound = (value: Value | undefined): number | undefined => {
    if (value === undefined || value === null) return undefined
    if (!isInteger(value)) throw new Error(`a slice wants integers, and got ${typeOf(value)}`)
    return Number(value)
  }
  const [from, to, step = 1] = [bound(start), bound(stop), bound(by)]
  if (step === 0) throw new Error('a slice wants a step other than 0')
  if (isText(value)) {
    meter.charge(value.length)
    if (step === 1 && !ASTRAL.test(value)) return value.slice(from, to)
    meter.items(value.length)
    return cut(Array.from(value)).join('')
  }
  const items = value instanceof View && value.kind === 'range' ? value.items : value
  if (!isList(items)) throw new Error(`${typeOf(value)} has no slices`)
  meter.charge(8 * items.length)
  const part = cut(items)
  if (value instanceof View) return new View('range', part)
  return items instanceof Tuple ? (Tuple.from(part) as Tuple) : part

  function cut<T>(items: readonly T[]): T[] {
    if (step === 1) return Array.prototype.slice.call(items, from, to) as T[]
    const { length } = items
    const [low, high] = step > 0 ? [0, length] : [-1, length - 1]
    const place = (at: number | undefined, other: number): number =>
      at === undefined ? other : Math.min(high, Math.max(low, at < 0 ? at + length : at))
    const [first, last] =
      step > 0 ? [place(from, 0), place(to, length)] : [place(from, length - 1), place(to, -1)]
    const out: T[] = []
    for (let at = first; step > 0 ? at < last : at > last; at += step) out.push(items[at])
    return out
  }
}

export function called(value: Value, args: readonly Value[], named: ReadonlyMap<string, Value>): Value {
  if (value instanceof Missing) throw undefinedError(value)
  if (value instanceof Func) return value.call(args, named)
  if (value instanceof Attributed && value.call !== undefined) return value.call(args, named)
  throw new Error(`${typeOf(value)} can't be called`)
}
