/** The filter `tojson` as transformers has it: Python's json.dumps, without the escapes for HTML. */
import { floatText } from '../json.js'
import type { Value } from './package.js'
import {
  integerText,
  isBool,
  isDict,
  isFloat,
  isInteger,
  isList,
  isMissing,
  isNone,
  isText,
} from './values.js'

export interface ToJsonOptions {
  ascii: boolean
  /** Text of one level; undefined: all on one line. */
  indent?: string
  /** Between items, and between a key and its value. */
  separators: readonly [string, string]
  sort: boolean
}

export function toJson(value: Value, options: ToJsonOptions, depth = 0): string {
  if (isText(value)) return literal(value.value, options)
  if (isNone(value)) return 'null'
  if (isBool(value)) return value.value === true ? 'true' : 'false'
  if (isInteger(value)) return integerText(value)
  if (isFloat(value)) return jsonFloat(value.value as number)
  const inside = (item: Value) => toJson(item, options, depth + 1)
  if (isList(value)) return wrapped('[', value.value.map(inside), ']', options, depth)
  if (isDict(value)) {
    const entries = Array.from(value.value)
    if (options.sort) entries.sort(([a], [b]) => (a < b ? -1 : 1))
    const items = entries.map(
      ([key, item]) => `${literal(key, options)}${options.separators[1]}${inside(item)}`,
    )
    return wrapped('{', items, '}', options, depth)
  }
  throw new Error(`tojson can't write a value that is ${isMissing(value) ? 'undefined' : value.type}`)
}

function wrapped(
  open: string,
  items: string[],
  close: string,
  { indent, separators }: ToJsonOptions,
  depth: number,
): string {
  if (items.length === 0) return open + close
  if (indent === undefined) return open + items.join(separators[0]) + close
  const line = `\n${indent.repeat(depth + 1)}`
  return `${open}${line}${items.join(separators[0] + line)}\n${indent.repeat(depth)}${close}`
}

function jsonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  return floatText(value)
}

function literal(text: string, { ascii }: ToJsonOptions): string {
  const json = JSON.stringify(text)
  if (!ascii) return json
  return json.replace(/[\u007f-\uffff]/g, char =>
    char === '\u007f' ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
