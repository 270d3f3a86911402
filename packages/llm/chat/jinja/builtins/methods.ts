/** Methods of Python's texts, lists and dicts, as far as templates use them. Those that change a value are refused, as in Jinja's sandbox. */

import type { Meter } from '../meter.js'
import {
  type Dict,
  equal,
  isInteger,
  isList,
  isText,
  itemsOf,
  keyOf,
  type List,
  tuple,
  typeOf,
  type Value,
  View,
} from '../values.js'
import { type Args, type Builtin, bound } from './calls.js'
import { braces, joined } from './format.js'
import {
  capitalize,
  isCase,
  linesOf,
  occurrences,
  partition,
  replaced,
  split,
  strip,
  stripLeft,
  stripRight,
  title,
} from './text.js'

type TextMethod = Builtin<string>

/** Units of work for a character that JavaScript looks at by itself. */
const SLOW = 16

const method = (parameters: string, run: (text: string, args: Args, meter: Meter) => Value): TextMethod => [
  parameters,
  (text, args, meter) => {
    meter.charge(text.length)
    return run(text, args, meter)
  },
]
const made = (change: (text: string) => string): TextMethod =>
  method('', (text, _, meter) => {
    // Some characters become three in the other case.
    meter.text(3 * text.length)
    return change(text)
  })
const slow = (change: (text: string) => string): TextMethod =>
  method('', (text, _, meter) => {
    meter.charge(SLOW * text.length)
    return change(text)
  })
const every = (pattern: RegExp): TextMethod => method('', text => pattern.test(text))
const stripping = (change: (text: string, chars?: string) => string): TextMethod =>
  method('chars', (text, args, meter) => {
    meter.charge(SLOW * (args.text('chars')?.length ?? 0))
    return change(text, args.text('chars'))
  })
const splitting = (fromRight: boolean): TextMethod =>
  method('sep maxsplit', (text, args, meter) => {
    const separator = args.text('sep')
    meter.items(separator === undefined ? text.length / 2 : occurrences(text, separator || ' '))
    return split(text, separator, args.integer('maxsplit', -1), fromRight)
  })
const affix = (stands: (text: string, part: string) => boolean): TextMethod =>
  method('affix', (text, args, meter) => {
    const part = args.needed('affix')
    return (isList(part) ? part : [part]).some(one => {
      if (!isText(one)) throw new Error(`a text can't begin or end with ${typeOf(one)}`)
      meter.items(1)
      return stands(text, one)
    })
  })
const padding = (pad: (text: string, width: number, fill: string) => string): TextMethod =>
  method('width fillchar', (text, args, meter) => {
    args.needed('width')
    const width = args.integer('width', 0)
    const missing = width - lengthOf(meter, text)
    meter.text(text.length + Math.max(0, missing))
    return missing <= 0 ? text : pad(text, text.length + missing, args.text('fillchar') ?? ' ')
  })
const finding = (find: (text: string, part: string) => number, needed: boolean): TextMethod =>
  method('sub start end', (text, args, meter) => {
    if (args.at('start') !== undefined)
      throw new Error('places to look at are not known here: cut the text before')
    const found = find(text, args.neededText('sub'))
    if (found < 0 && needed) throw new Error('the text is not found')
    return found < 0 ? -1 : lengthOf(meter, text.slice(0, found))
  })

const TEXT: Readonly<Record<string, TextMethod>> = {
  strip: stripping(strip),
  lstrip: stripping(stripLeft),
  rstrip: stripping(stripRight),
  upper: made(text => text.toUpperCase()),
  lower: made(text => text.toLowerCase()),
  casefold: made(text => text.toUpperCase().toLowerCase()),
  swapcase: slow(text =>
    Array.from(text, p => (p === p.toLowerCase() ? p.toUpperCase() : p.toLowerCase())).join(''),
  ),
  title: slow(title),
  capitalize: made(capitalize),
  startswith: affix((text, part) => text.startsWith(part)),
  endswith: affix((text, part) => text.endsWith(part)),
  split: splitting(false),
  rsplit: splitting(true),
  splitlines: method('', (text, _, meter) => {
    meter.items(text.length / 2)
    return linesOf(text)
  }),
  partition: method('sep', (text, args) => {
    const separator = args.neededText('sep')
    return tuple(...partition(text, separator, text.indexOf(separator), [text, '', '']))
  }),
  rpartition: method('sep', (text, args) => {
    const separator = args.neededText('sep')
    return tuple(...partition(text, separator, text.lastIndexOf(separator), ['', '', text]))
  }),
  replace: method('old new count', (text, args, meter) =>
    replaceIn(meter, text, args.neededText('old'), args.neededText('new'), args.at('count')),
  ),
  removeprefix: method('prefix', (text, args) => {
    const prefix = args.neededText('prefix')
    return text.startsWith(prefix) ? text.slice(prefix.length) : text
  }),
  removesuffix: method('suffix', (text, args) => {
    const suffix = args.neededText('suffix')
    return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text
  }),
  find: finding((text, part) => text.indexOf(part), false),
  rfind: finding((text, part) => text.lastIndexOf(part), false),
  index: finding((text, part) => text.indexOf(part), true),
  rindex: finding((text, part) => text.lastIndexOf(part), true),
  count: method('sub', (text, args) => occurrences(text, args.neededText('sub'))),
  isdigit: every(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉①-⑨]+$/u),
  isdecimal: every(/^\p{Nd}+$/u),
  isnumeric: every(/^\p{N}+$/u),
  isalpha: every(/^\p{L}+$/u),
  isalnum: every(/^[\p{L}\p{N}]+$/u),
  isspace: method('', text => text !== '' && strip(text) === ''),
  islower: method('', text => isCase(text, text.toLowerCase())),
  isupper: method('', text => isCase(text, text.toUpperCase())),
  center: padding((text, width, fill) => {
    // Python puts the odd one on the left where the width is odd, too.
    const missing = width - text.length
    const left = Math.floor(missing / 2) + (missing & width & 1)
    return text.padStart(text.length + left, fill).padEnd(width, fill)
  }),
  ljust: padding((text, width, fill) => text.padEnd(width, fill)),
  rjust: padding((text, width, fill) => text.padStart(width, fill)),
  zfill: padding((text, width) =>
    /^[-+]/.test(text) ? text[0] + text.slice(1).padStart(width - 1, '0') : text.padStart(width, '0'),
  ),
  join: method('iterable', (text, args, meter) =>
    joined(meter, itemsOf(meter, args.needed('iterable')), text, true),
  ),
  format: ['*', (text, args, meter) => braces(meter, text, args)],
}

/** Characters of a text, as Python counts them. */
export function lengthOf(meter: Meter, text: string): number {
  meter.charge(text.length)
  let count = text.length
  for (let i = 0; i < text.length; i++)
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) count--
  return count
}

/** `text.replace`: the room that the result takes is known before it is made. */
export function replaceIn(meter: Meter, text: string, before: string, after: string, count?: Value): string {
  meter.charge(text.length)
  if (before === '') meter.items(text.length)
  const most =
    count === undefined || count === null || !isInteger(count) || count < 0 ? Infinity : Number(count)
  const found = Math.min(most, occurrences(text, before))
  meter.items(found)
  meter.text(text.length + found * (after.length - before.length))
  return replaced(text, before, after, most)
}

const LIST: Readonly<Record<string, Builtin<List>>> = {
  index: [
    'value',
    (list, args, meter) => {
      const found = list.findIndex(item => equal(meter, item, args.needed('value')))
      if (found < 0) throw new Error('the value is not in the list')
      return found
    },
  ],
  count: [
    'value',
    (list, args, meter) => list.filter(item => equal(meter, item, args.needed('value'))).length,
  ],
  copy: ['', (list, _, meter) => Array.from(itemsOf(meter, list))],
}

const view =
  (
    kind: 'dict_items' | 'dict_keys' | 'dict_values',
    items: (dict: Dict) => Iterable<Value>,
  ): Builtin<Dict>[1] =>
  (dict, _, meter) => {
    meter.items(2 * dict.size)
    return new View(kind, Array.from(items(dict)))
  }

const DICT: Readonly<Record<string, Builtin<Dict>>> = {
  get: [
    'key default',
    (dict, args) => {
      const value = dict.get(keyOf(args.needed('key')))
      return value === undefined ? args.at('default', null) : value
    },
  ],
  items: ['', view('dict_items', dict => pairs(dict))],
  keys: ['', view('dict_keys', dict => dict.keys())],
  values: ['', view('dict_values', dict => dict.values())],
}

export const pairs = (dict: Dict): Value[] => Array.from(dict, ([key, value]) => tuple(key, value))

const LIST_CHANGES = 'append clear extend insert pop remove reverse sort'.split(' ')
const DICT_CHANGES = 'clear pop popitem setdefault update'.split(' ')

function methodOf<T>(table: Readonly<Record<string, Builtin<T>>>, changes: readonly string[] = []) {
  return (meter: Meter, value: T, name: string): Value | undefined => {
    if (changes.includes(name)) throw new Error(`a template may not change values: ${name}()`)
    return Object.hasOwn(table, name) ? bound(meter, name, table[name], value) : undefined
  }
}

export const textMethod = methodOf(TEXT)
export const listMethod = methodOf(LIST, LIST_CHANGES)
export const dictMethod = methodOf(DICT, DICT_CHANGES)
