/** Jinja's filters. */
import { Float } from '../../json.js'
import type { Meter } from '../meter.js'
import { attribute, negated, operate } from '../operators.js'
import {
  integer,
  isDict,
  isInteger,
  isList,
  isNumber,
  isText,
  itemsOf,
  Missing,
  numberOf,
  orMissing,
  str,
  truth,
  typeOf,
  type Value,
  View,
} from '../values.js'
import { Args, type Builtin } from './calls.js'
import { formatted, joined } from './format.js'
import {
  batch,
  dictsort,
  extreme,
  generator,
  getter,
  groupby,
  itemsOrNone,
  selecting,
  sort,
  unique,
} from './lists.js'
import { lengthOf, pairs, replaceIn } from './methods.js'
import { capitalize, linesOf, strip, titleWords } from './text.js'
import { toJson } from './to-json.js'

type Filter = Builtin<Value>

/** A filter of the text of its operand. A character becomes three at most. */
const ofText = (change: (text: string) => string, cost = 3): Filter => [
  '',
  (value, _, meter) => {
    const text = str(meter, value)
    meter.text(cost * text.length)
    return change(text)
  },
]

function length(value: Value, _: Args, meter: Meter): Value {
  if (isText(value)) return lengthOf(meter, value)
  if (isList(value)) return value.length
  if (isDict(value)) return value.size
  if (value instanceof Missing) return 0
  if (value instanceof View && value.kind !== 'generator') return value.items.length
  throw new Error(`${typeOf(value)} has no length`)
}

function fallback(value: Value, args: Args): Value {
  const other = args.at('default_value', '')
  return value instanceof Missing || (args.truth('boolean') && !truth(value)) ? other : value
}

function map(value: Value, args: Args, meter: Meter): Value {
  const items = itemsOrNone(meter, value)
  if (args.list.length === 0) {
    if (!args.named.has('attribute')) throw new Error('map wants an attribute or a filter')
    const get = getter(
      new Args(meter, 'map', 'attribute default', [], args.named),
      'attribute',
      args.at('default'),
    )
    return generator(items.map(get))
  }
  const [name, ...more] = args.list
  return generator(items.map(item => applyFilter(meter, String(name), item, more, args.named)))
}

function textOf(value: Value): string {
  if (isText(value)) return value
  throw new Error(`a text is wanted, and there is ${typeOf(value)}`)
}

function indent(value: Value, args: Args, meter: Meter): Value {
  const width = args.at('width', 4)
  if (isInteger(width)) meter.text(Math.max(0, Number(width)))
  const by = isText(width) ? width : ' '.repeat(Math.max(0, Number(width)))
  const text = `${textOf(value)}\n`
  meter.items(text.length / 4)
  const lines = linesOf(text)
  meter.text(text.length + by.length * (lines.length + 1))
  const blank = args.truth('blank')
  const rest = lines.slice(1).map(line => (blank || line !== '' ? by + line : line))
  return (args.truth('first') ? by : '') + [lines[0], ...rest].join('\n')
}

function toInteger(value: Value, args: Args): Value {
  const other = args.at('default', 0)
  if (value instanceof Float && !Number.isFinite(value.value)) return other
  if (isNumber(value))
    return value instanceof Float ? integer(Math.trunc(value.value)) : integer(BigInt(value))
  if (value instanceof Missing) throw new Error(`'${value.name}' is undefined`)
  if (!isText(value)) return other
  const text = strip(value)
  const base = args.integer('base', 10)
  const digits = text.replace(/^[-+]/, '').replace(/(?<=[\da-z])_(?=[\da-z])/gi, '')
  const prefix = { 16: /^0x/i, 8: /^0o/i, 2: /^0b/i }[base]
  if (digits.length <= 4300 && prefix !== undefined && /^(?:0[xob])?[\da-f]+$/i.test(digits)) {
    const number = Number.parseInt(digits.replace(prefix, ''), base)
    if (Number.isSafeInteger(number)) return text.startsWith('-') ? -number : number
  }
  if (base === 10 && digits.length <= 4300 && /^\d+$/.test(digits))
    return integer(text.startsWith('-') ? -BigInt(digits) : BigInt(digits))
  const float = toFloat(text)
  return float === undefined || !Number.isFinite(float) ? other : integer(Math.trunc(float))
}

/** A text as `float()` of Python reads it. */
function toFloat(text: string): number | undefined {
  const plain = strip(text).replace(/(?<=\d)_(?=\d)/g, '')
  if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(plain)) return Number(plain)
  const named = /^([-+]?)(inf(?:inity)?|nan)$/i.exec(plain)
  if (named === null) return undefined
  return named[2].toLowerCase() === 'nan' ? Number.NaN : named[1] === '-' ? -Infinity : Infinity
}

function round(value: Value, args: Args): Value {
  if (!isNumber(value)) throw new Error(`round wants a number, and got ${typeOf(value)}`)
  const [precision, how, number] = [
    args.integer('precision', 0),
    args.text('method') ?? 'common',
    numberOf(value),
  ]
  const scale = 10 ** precision
  if (how === 'common' && !(value instanceof Float) && precision >= 0) return integer(BigInt(value))
  if (how === 'ceil') return new Float(Math.ceil(number * scale) / scale)
  if (how === 'floor') return new Float(Math.floor(number * scale) / scale)
  if (how !== 'common') throw new Error('round has the methods common, ceil and floor')
  if (!Number.isInteger(precision) || precision < 0 || precision > 100)
    throw new Error('round wants a precision from 0 on')
  // Halves go to the even digit; toFixed has them go away from zero.
  const below = Math.floor(Math.abs(number))
  if (precision === 0 && Math.abs(number) - below === 0.5)
    return new Float(Math.sign(number) * (below + (below % 2)))
  return new Float(Number(number.toFixed(precision)))
}

function tojson(value: Value, args: Args, meter: Meter): Value {
  const indent = args.at('indent', null)
  const separators = args.at('separators', null)
  if (indent !== null && !isText(indent)) meter.text(args.integer('indent', 0))
  const pair = isList(separators) ? separators.map(part => str(meter, part)) : undefined
  return toJson(meter, value, {
    ascii: args.truth('ensure_ascii'),
    ...(indent !== null && {
      indent: isText(indent) ? indent : ' '.repeat(Math.max(0, args.integer('indent', 0))),
    }),
    separators: pair === undefined ? [indent === null ? ', ' : ',', ': '] : [pair[0], pair[1]],
    sort: args.truth('sort_keys'),
  })
}

const WORD = /[\p{L}\p{N}_]+/gu
const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
}
const escaped = ofText(text => text.replace(/[&<>'"]/g, char => HTML[char]), 6)
const defaulting: Filter = ['default_value boolean', fallback]
const counting: Filter = ['', length]

const FILTERS: Readonly<Record<string, Filter>> = {
  abs: [
    '',
    value => {
      if (!isNumber(value)) throw new Error(`abs wants a number, and got ${typeOf(value)}`)
      return numberOf(value) < 0 ? negated(value, '-') : negated(value, '+')
    },
  ],
  attr: [
    'name',
    (value, args, meter) =>
      isDict(value) ? new Missing(args.neededText('name')) : attribute(meter, value, args.neededText('name')),
  ],
  batch: ['linecount fill_with', batch],
  capitalize: ofText(capitalize),
  center: ['width', (value, args, meter) => centered(str(meter, value), args.integer('width', 80), meter)],
  count: counting,
  d: defaulting,
  default: defaulting,
  dictsort: ['case_sensitive by reverse', dictsort],
  e: escaped,
  escape: escaped,
  first: [
    '',
    (value, _, meter) => {
      if (value instanceof View && value.kind === 'generator') {
        const [first, ...rest] = itemsOf(meter, value)
        value.items = rest
        return orMissing(first, 'the first of nothing')
      }
      if (isText(value))
        return value === ''
          ? new Missing('the first of nothing')
          : String.fromCodePoint(value.codePointAt(0)!)
      return orMissing(itemsOf(meter, value)[0], 'the first of nothing')
    },
  ],
  float: [
    'default',
    (value, args) => {
      if (isNumber(value)) return new Float(numberOf(value))
      if (value instanceof Missing) throw new Error(`'${value.name}' is undefined`)
      const number = isText(value) ? toFloat(value) : undefined
      return number === undefined ? args.at('default', new Float(0)) : new Float(number)
    },
  ],
  forceescape: escaped,
  format: ['*', (value, args, meter) => formatted(meter, str(meter, value), args.list)],
  groupby: ['attribute default case_sensitive', groupby],
  indent: ['width first blank', indent],
  int: ['default base', toInteger],
  items: [
    '',
    (value, _, meter) => {
      if (value instanceof Missing) return generator([])
      if (!isDict(value)) throw new Error(`items wants a dict, and got ${typeOf(value)}`)
      meter.items(2 * value.size)
      return generator(pairs(value))
    },
  ],
  join: [
    'd attribute',
    (value, args, meter) => joined(meter, itemsOf(meter, value).map(getter(args)), args.str('d', '')),
  ],
  last: [
    '',
    (value, _, meter) => {
      if (value instanceof View && value.kind === 'generator')
        throw new Error('a generator has no last item: make a list of it')
      return orMissing(itemsOf(meter, value).at(-1), 'the last of nothing')
    },
  ],
  length: counting,
  list: ['', (value, _, meter) => Array.from(itemsOf(meter, value))],
  lower: ofText(text => text.toLowerCase()),
  map: ['attribute default *', map],
  max: extreme(1),
  min: extreme(-1),
  reject: selecting(false, false),
  rejectattr: selecting(false, true),
  replace: [
    'old new count',
    (value, args, meter) =>
      replaceIn(
        meter,
        str(meter, value),
        str(meter, args.needed('old')),
        str(meter, args.needed('new')),
        args.at('count'),
      ),
  ],
  reverse: [
    '',
    (value, _, meter) => {
      if (value instanceof View && value.kind === 'generator')
        throw new Error('a generator has no reverse: make a list of it')
      const reversed = Array.from(itemsOf(meter, value)).reverse()
      return isText(value) ? reversed.join('') : generator(reversed)
    },
  ],
  round: ['precision method', round],
  safe: ofText(text => text, 1),
  select: selecting(true, false),
  selectattr: selecting(true, true),
  sort: ['reverse case_sensitive attribute', sort],
  string: ofText(text => text, 1),
  sum: [
    'attribute start',
    (value, args, meter) =>
      itemsOf(meter, value)
        .map(getter(args))
        .reduce((sum, item) => operate(meter, '+', sum, item), args.at('start', 0)),
  ],
  title: ofText(titleWords, 16),
  tojson: ['ensure_ascii indent separators sort_keys', tojson],
  trim: [
    'chars',
    (value, args, meter) => {
      const text = str(meter, value)
      meter.charge(text.length)
      return strip(text, args.text('chars'))
    },
  ],
  truncate: [
    'length killwords end leeway',
    (value, args, meter) => {
      if (value instanceof Missing) return ''
      const points = Array.from(itemsOf(meter, textOf(value))) as string[]
      const [limit, end] = [args.integer('length', 255), args.text('end') ?? '...']
      if (points.length <= limit + args.integer('leeway', 5)) return points.join('')
      const text = points.slice(0, Math.max(0, limit - lengthOf(meter, end))).join('')
      const blank = text.lastIndexOf(' ')
      return (args.truth('killwords') || blank < 0 ? text : text.slice(0, blank)) + end
    },
  ],
  unique: ['case_sensitive attribute', unique],
  upper: ofText(text => text.toUpperCase()),
  wordcount: [
    '',
    (value, _, meter) => {
      const text = str(meter, value)
      meter.items(text.length)
      return text.match(WORD)?.length ?? 0
    },
  ],
}

function centered(text: string, width: number, meter: Meter): string {
  const missing = width - lengthOf(meter, text)
  meter.text(text.length + Math.max(0, missing))
  if (missing <= 0) return text
  const left = Math.floor(missing / 2) + (missing & width & 1)
  return ' '.repeat(left) + text + ' '.repeat(missing - left)
}

export const hasFilter = (name: string): boolean => Object.hasOwn(FILTERS, name)

export function applyFilter(
  meter: Meter,
  name: string,
  value: Value,
  args: readonly Value[] = [],
  named: ReadonlyMap<string, Value> = new Map(),
): Value {
  meter.step()
  if (!hasFilter(name)) throw new Error(`there is no filter "${name}" here`)
  const [parameters, run] = FILTERS[name]
  return run(value, new Args(meter, name, parameters, args, named), meter)
}
