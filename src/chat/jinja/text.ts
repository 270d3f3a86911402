/** Python's methods of str, as far as templates use them. The package's differ: they trim other characters and ignore arguments. */
import type { Call, Jinja, Value } from './package.js'
import { isDict, isInteger, isList, isNone, isText, str } from './values.js'

/** What Python takes for white space. */
const SPACE = '\\t-\\r\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const LEADING = new RegExp(`^[${SPACE}]+`)
const TRAILING = new RegExp(`[${SPACE}]`)
const WORDS = new RegExp(`[^${SPACE}]+`, 'g')
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python ends lines at these, too
const LINES = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/

function stripLeft(text: string, chars?: string): string {
  if (chars === undefined) return text.replace(LEADING, '')
  const set = new Set(chars)
  const points = Array.from(text)
  const from = points.findIndex(point => !set.has(point))
  return from < 0 ? '' : points.slice(from).join('')
}

function stripRight(text: string, chars?: string): string {
  if (chars === undefined) {
    let end = text.length
    while (end > 0 && TRAILING.test(text[end - 1])) end--
    return text.slice(0, end)
  }
  const set = new Set(chars)
  const points = Array.from(text)
  let end = points.length
  while (end > 0 && set.has(points[end - 1])) end--
  return points.slice(0, end).join('')
}

export const strip = (text: string, chars?: string): string => stripRight(stripLeft(text, chars), chars)

export const capitalize = (text: string): string => {
  const [first = ''] = text
  return first.toUpperCase() + text.slice(first.length).toLowerCase()
}

/** A letter after what is no letter is large, the others are small. */
export const title = (text: string): string =>
  text.replace(/\p{L}+/gu, word => {
    const [first] = word
    return first.toUpperCase() + word.slice(first.length).toLowerCase()
  })

/** The indent of the filter: other lines than the first, and none that is empty. */
export function indented(text: string, by: string, first: boolean, blank: boolean): string {
  // Jinja's lines end in \n alone here, and keep a last empty one.
  const lines = `${text}\n`.split('\n').slice(0, -1)
  return lines.map((line, i) => ((i > 0 || first) && (blank || line !== '') ? by + line : line)).join('\n')
}

export function replaced(text: string, before: string, after: string, count = -1): string {
  if (count < 0) {
    // Between all characters and at both ends, as Python has it for an empty text.
    return before === ''
      ? after + Array.from(text, point => point + after).join('')
      : text.split(before).join(after)
  }
  let [out, rest] = ['', text]
  for (let i = 0; i < count; i++) {
    const at = rest.indexOf(before)
    if (at < 0 || before === '') break
    out += rest.slice(0, at) + after
    rest = rest.slice(at + before.length)
  }
  return out + rest
}

/** At most `limit` cuts, from the left or the right; a limit below 0 is none. */
function split(text: string, separator: string | undefined, limit: number, fromRight: boolean): string[] {
  if (separator === '') throw new Error('split() has an empty separator')
  if (separator === undefined) return splitAtSpace(text, limit, fromRight)
  const parts = text.split(separator)
  if (limit < 0 || parts.length <= limit + 1) return parts
  return fromRight
    ? [parts.slice(0, parts.length - limit).join(separator), ...parts.slice(parts.length - limit)]
    : [...parts.slice(0, limit), parts.slice(limit).join(separator)]
}

function splitAtSpace(text: string, limit: number, fromRight: boolean): string[] {
  const words = Array.from(text.matchAll(WORDS))
  if (limit < 0 || words.length <= limit + 1) return words.map(([word]) => word)
  if (fromRight) {
    const { 0: word, index } = words[words.length - limit - 1]
    return [
      stripLeft(text.slice(0, index! + word.length)),
      ...words.slice(words.length - limit).map(([word]) => word),
    ]
  }
  return [...words.slice(0, limit).map(([word]) => word), stripRight(text.slice(words[limit].index!))]
}

const at = (args: Value[], i: number): Value | undefined => {
  const found = args[i]
  return found === undefined || found.type === 'KeywordArgumentsValue' || isNone(found) ? undefined : found
}

function textAt(args: Value[], i: number, method: string): string | undefined {
  const found = at(args, i)
  if (found === undefined) return undefined
  if (!isText(found)) throw new Error(`${method}() wants a text, and got ${found.type}`)
  return found.value
}

/** An integer argument, by place or by name. */
function integerAt(args: Value[], i: number, name: string): number | undefined {
  const last = args.at(-1)
  const named = last !== undefined && isDict(last) ? last.value.get(name) : undefined
  const found = at(args, i) ?? named
  return found !== undefined && isInteger(found) ? (found.value as number) : undefined
}

function needed(args: Value[], i: number, method: string): string {
  const found = textAt(args, i, method)
  if (found === undefined) throw new Error(`${method}() wants an argument more`)
  return found
}

/** A text, or a tuple of them. */
function affixes(args: Value[], method: string): string[] {
  const first = at(args, 0)
  if (first !== undefined && isList(first)) return first.value.map(str)
  return [needed(args, 0, method)]
}

type Method = (text: string, args: Value[]) => string | number | boolean | string[]

const METHODS: Readonly<Record<string, Method>> = {
  strip: (text, args) => strip(text, textAt(args, 0, 'strip')),
  lstrip: (text, args) => stripLeft(text, textAt(args, 0, 'lstrip')),
  rstrip: (text, args) => stripRight(text, textAt(args, 0, 'rstrip')),
  upper: text => text.toUpperCase(),
  lower: text => text.toLowerCase(),
  title,
  capitalize,
  startswith: (text, args) => affixes(args, 'startswith').some(prefix => text.startsWith(prefix)),
  endswith: (text, args) => affixes(args, 'endswith').some(suffix => text.endsWith(suffix)),
  split: (text, args) => split(text, textAt(args, 0, 'split'), integerAt(args, 1, 'maxsplit') ?? -1, false),
  rsplit: (text, args) => split(text, textAt(args, 0, 'rsplit'), integerAt(args, 1, 'maxsplit') ?? -1, true),
  splitlines: text => {
    const lines = text.split(LINES)
    return lines.at(-1) === '' ? lines.slice(0, -1) : lines
  },
  partition: (text, args) => {
    const separator = needed(args, 0, 'partition')
    const found = text.indexOf(separator)
    return found < 0
      ? [text, '', '']
      : [text.slice(0, found), separator, text.slice(found + separator.length)]
  },
  replace: (text, args) =>
    replaced(text, needed(args, 0, 'replace'), needed(args, 1, 'replace'), integerAt(args, 2, 'count')),
  removeprefix: (text, args) => {
    const prefix = needed(args, 0, 'removeprefix')
    return text.startsWith(prefix) ? text.slice(prefix.length) : text
  },
  removesuffix: (text, args) => {
    const suffix = needed(args, 0, 'removesuffix')
    return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text
  },
  find: (text, args) => {
    const found = text.indexOf(needed(args, 0, 'find'))
    return found < 0 ? -1 : Array.from(text.slice(0, found)).length
  },
  count: (text, args) => text.split(needed(args, 0, 'count')).length - 1,
  isdigit: text => /^\p{Nd}+$/u.test(text),
  join: (text, args) => {
    const [list] = args
    if (list === undefined || !isList(list)) throw new Error('join() wants a list')
    return list.value.map(str).join(text)
  },
}

/** A method of a text, bound to it; undefined where there is none of that name. */
export function textMethod(jinja: Jinja, text: string, name: string): Value | undefined {
  if (!Object.hasOwn(METHODS, name)) return undefined
  const method = METHODS[name]
  const call: Call = args => {
    const out = method(text, args)
    if (typeof out === 'string') return new jinja.Text(out)
    if (typeof out === 'number') return new jinja.Integer(out)
    if (typeof out === 'boolean') return new jinja.Bool(out)
    return new jinja.List(out.map(part => new jinja.Text(part)))
  }
  return new jinja.Function(call)
}
