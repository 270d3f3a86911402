/** Filters that the package has otherwise than Jinja, or lacks. A filter that is not here is left to the package. */
import type { Jinja, Value } from './package.js'
import { capitalize, indented, replaced, strip, title } from './text.js'
import { toJson } from './to-json.js'
import { equal, isDict, isInteger, isList, isMissing, isNone, isNumber, isText, str } from './values.js'

export interface FilterCall {
  jinja: Jinja
  operand: Value
  args: Value[]
  named: ReadonlyMap<string, Value>
}

type Filter = (call: FilterCall) => Value | undefined

const argument = ({ args, named }: FilterCall, i: number, name: string): Value | undefined => {
  const found = args[i] ?? named.get(name)
  return found === undefined || isNone(found) ? undefined : found
}

const truth = (value: Value | undefined): boolean => value?.__bool__().value ?? false

/** A filter of the text of its operand. */
const ofText =
  (change: (text: string, call: FilterCall) => string): Filter =>
  call =>
    new call.jinja.Text(change(str(call.operand), call))

function textArgument(call: FilterCall, i: number, name: string): string | undefined {
  const found = argument(call, i, name)
  return found === undefined ? undefined : str(found)
}

const length: Filter = ({ jinja, operand }) => {
  if (isText(operand)) return new jinja.Integer(Array.from(operand.value).length)
  if (isList(operand)) return new jinja.Integer(operand.value.length)
  if (isDict(operand)) return new jinja.Integer(operand.value.size)
  if (isMissing(operand)) return new jinja.Integer(0)
  throw new Error(`a ${operand.type} has no length`)
}

const fallback: Filter = call => {
  const { jinja, operand, args, named } = call
  const other = args[0] ?? named.get('default_value') ?? new jinja.Text('')
  const ofFalse = truth(args[1] ?? named.get('boolean'))
  return isMissing(operand) || (ofFalse && !truth(operand)) ? other : operand
}

/** Items that a loop would see. */
export function itemsOf(jinja: Jinja, value: Value): Value[] {
  if (isList(value)) return value.value
  if (isDict(value)) return Array.from(value.value.keys(), key => new jinja.Text(key))
  if (isText(value)) return Array.from(value.value, point => new jinja.Text(point))
  if (isMissing(value)) return []
  throw new Error(`a ${isNone(value) ? 'None' : value.type} can't be gone through`)
}

const tojson: Filter = call => {
  const { jinja, operand } = call
  const [ascii, indent] = [argument(call, 0, 'ensure_ascii'), argument(call, 1, 'indent')]
  const separators = argument(call, 2, 'separators')
  const pair = separators !== undefined && isList(separators) ? separators.value.map(str) : undefined
  return new jinja.Text(
    toJson(operand, {
      ascii: truth(ascii),
      indent:
        indent === undefined ? undefined : isText(indent) ? indent.value : ' '.repeat(Number(indent.value)),
      separators: pair === undefined ? [indent === undefined ? ', ' : ',', ': '] : [pair[0], pair[1]],
      sort: truth(argument(call, 3, 'sort_keys')),
    }),
  )
}

const FILTERS: Readonly<Record<string, Filter>> = {
  tojson,
  length,
  count: length,
  default: fallback,
  d: fallback,
  string: ({ jinja, operand }) => new jinja.Text(str(operand)),
  trim: ofText((text, call) => strip(text, textArgument(call, 0, 'chars'))),
  upper: ofText(text => text.toUpperCase()),
  lower: ofText(text => text.toLowerCase()),
  capitalize: ofText(capitalize),
  title: ofText(title),
  replace: ofText((text, call) => {
    const count = argument(call, 2, 'count')
    return replaced(
      text,
      textArgument(call, 0, 'old') ?? '',
      textArgument(call, 1, 'new') ?? '',
      count !== undefined && isInteger(count) ? (count.value as number) : -1,
    )
  }),
  indent: ofText((text, call) => {
    const width = argument(call, 0, 'width')
    const by =
      width === undefined
        ? '    '
        : isText(width)
          ? width.value
          : ' '.repeat(Math.min(4096, Number(width.value)))
    return indented(text, by, truth(argument(call, 1, 'first')), truth(argument(call, 2, 'blank')))
  }),
  join: call => {
    const { jinja, operand } = call
    const attribute = argument(call, 1, 'attribute')
    const items = itemsOf(jinja, operand).map(item =>
      attribute !== undefined && isDict(item) ? (item.value.get(str(attribute)) ?? jinja.missing) : item,
    )
    return new jinja.Text(items.map(str).join(textArgument(call, 0, 'd') ?? ''))
  },
  list: ({ jinja, operand }) => new jinja.List(itemsOf(jinja, operand).slice()),
  first: ({ jinja, operand }) => itemsOf(jinja, operand)[0] ?? jinja.missing,
  last: ({ jinja, operand }) => itemsOf(jinja, operand).at(-1) ?? jinja.missing,
  reverse: ({ jinja, operand }) =>
    isText(operand)
      ? new jinja.Text(Array.from(operand.value).reverse().join(''))
      : new jinja.List(itemsOf(jinja, operand).slice().reverse()),
  unique: ({ jinja, operand }) => {
    const out: Value[] = []
    for (const item of itemsOf(jinja, operand)) if (!out.some(other => equal(other, item))) out.push(item)
    return new jinja.List(out)
  },
  int: ({ jinja, operand, args, named }) => {
    if (isNumber(operand))
      return isInteger(operand) ? operand : new jinja.Integer(Math.trunc(Number(operand.value)))
    const number =
      isText(operand) && /^\s*[-+]?\d+(\.\d*)?\s*$/.test(operand.value) ? Number(operand.value) : undefined
    return number === undefined
      ? (args[0] ?? named.get('default') ?? new jinja.Integer(0))
      : new jinja.Integer(Math.trunc(number))
  },
  items: ({ jinja, operand }) => {
    if (isMissing(operand)) return new jinja.List([])
    if (!isDict(operand)) throw new Error('items wants a mapping')
    return pairs(jinja, operand.value)
  },
}

/** Keys and values, as lists of two. */
export function pairs(jinja: Jinja, map: ReadonlyMap<string, Value>): Value {
  return new jinja.List(Array.from(map, ([key, value]) => new jinja.List([new jinja.Text(key), value])))
}

export function hasFilter(name: string): boolean {
  return Object.hasOwn(FILTERS, name)
}

export function applyFilter(name: string, call: FilterCall): Value {
  return FILTERS[name](call)!
}
