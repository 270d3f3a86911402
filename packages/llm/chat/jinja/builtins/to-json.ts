/** The filter `tojson` as transformers has it: Python's json.dumps, without the escapes for HTML. */
import { Float, floatText } from '../../json.js'
import { type Meter, Output } from '../meter.js'
import { compareTexts, isDict, isInteger, isList, isText, Missing, typeOf, type Value } from '../values.js'

export interface ToJsonOptions {
  ascii: boolean
  /** Text of one level; undefined: all on one line. */
  indent?: string
  /** Between items, and between a key and its value. */
  separators: readonly [string, string]
  sort: boolean
}

export function toJson(meter: Meter, value: Value, options: ToJsonOptions): string {
  const { indent, separators } = options
  const out = new Output(meter)
  const put = (part: string): void => out.add(part)
  write(value, 0)
  return out.text()

  function write(value: Value, depth: number): void {
    if (isText(value)) put(literal(meter, value, options))
    else if (value === null || typeof value === 'boolean' || isInteger(value)) put(String(value))
    else if (value instanceof Float) put(jsonFloat(value.value))
    else if (isList(value)) wrapped('[', value, ']', depth, item => write(item, depth + 1))
    else if (isDict(value)) {
      const entries = Array.from(value, ([key, item]) => [isText(key) ? key : String(key), item] as const)
      meter.items(entries.length)
      if (options.sort) {
        meter.items(entries.length * Math.ceil(Math.log2(entries.length + 1)))
        entries.sort(([a], [b]) => compareTexts(a, b))
      }
      wrapped('{', entries, '}', depth, ([key, item]) => {
        put(literal(meter, key, options))
        put(separators[1])
        write(item, depth + 1)
      })
    } else
      throw new Error(
        `tojson can't write ${value instanceof Missing ? `'${value.name}', which is undefined` : typeOf(value)}`,
      )
  }
  function wrapped<T>(
    open: string,
    items: readonly T[],
    close: string,
    depth: number,
    each: (item: T) => void,
  ): void {
    put(open)
    const line = (depth: number): void => {
      if (indent === undefined) return
      put('\n')
      meter.text(indent.length * depth)
      put(indent.repeat(depth))
    }
    for (const [i, item] of items.entries()) {
      if (i > 0) put(separators[0])
      line(depth + 1)
      each(item)
    }
    if (items.length > 0) line(depth)
    put(close)
  }
}

function jsonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  return floatText(value)
}

function literal(meter: Meter, text: string, { ascii }: ToJsonOptions): string {
  // A character becomes six at most.
  meter.charge(6 * text.length)
  const json = JSON.stringify(text)
  if (!ascii) return json
  return json.replace(/[\u007f-\uffff]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
