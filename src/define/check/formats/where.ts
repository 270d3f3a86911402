/** Conditions on columns: `{"width": {">=": 256}, "label": [1, 2]}`. */
import type { WhereJson } from '../../types.js'
import { at, unknownName, wrong } from '../mistakes.js'
import { isObject, list, type Parser, record } from '../schema.js'

const COMPARISONS = ['>', '>=', '<', '<=', '=', '!='] as const

const isScalar = (value: unknown): value is number | string =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))

export const scalar: Parser<number | string> = (value, path) => {
  if (isScalar(value)) return value
  throw wrong(path, 'a number or a text', value)
}

const bound: Parser<number | string | boolean> = (value, path) => {
  if (typeof value === 'boolean' || isScalar(value)) return value
  throw wrong(path, 'a number, a text, true or false', value)
}

const condition: Parser<WhereJson[string]> = (value, path) => {
  if (Array.isArray(value))
    return list(bound, 'a list of numbers, texts, true or false', { min: 1 })(value, path)
  if (!isObject(value)) return bound(value, path)
  const keys = Object.keys(value)
  if (keys.length === 0) throw wrong(path, 'a comparison such as {">=": 256}', value)
  for (const key of keys) {
    if (!(COMPARISONS as readonly string[]).includes(key))
      throw unknownName(path, 'comparison', key, COMPARISONS)
    bound(value[key], at(path, key))
  }
  return value
}

export const where = record(condition, 'conditions such as {"width": {">=": 256}}')
