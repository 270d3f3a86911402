/**
 * Parsers for definitions: each takes a JSON value and its path, and gives back the value with shorthands written
 * out, or throws a DefinitionError that says where, what was expected and what was found.
 */
import { DefinitionError } from './errors.js'
import { at, unknownName, wrong } from './mistakes.js'

/** Turns JSON into `Out`. `In` is the type of what may be written; it exists for the builders' signatures only. */
export interface Parser<Out, In = Out> {
  (value: unknown, path: string): Out
  readonly written?: In
  /** A parser of single values says what it expects; one of some words, which they are. */
  readonly expects?: string
  readonly words?: readonly string[]
}

/** A key that may be left out. */
export interface Default<Out, In = Out> {
  readonly parse: Parser<unknown, In>
  readonly fallback: Out | undefined
}

type Keys = Record<string, Parser<unknown> | Default<unknown>>
type Flat<T> = { [K in keyof T]: T[K] }

/** The parsed object of a table of keys. */
export type Parsed<S extends Keys> = {
  [K in keyof S]: S[K] extends Parser<infer O, unknown>
    ? O
    : S[K] extends Default<infer O, unknown>
      ? O
      : never
}

/** What may be written for it. */
export type Written<S extends Keys> = Flat<
  { [K in keyof S as S[K] extends Default<unknown> ? never : K]: InputOf<S[K]> } & {
    [K in keyof S as S[K] extends Default<unknown> ? K : never]?: InputOf<S[K]>
  }
>
/** What a parser takes. */
export type InputOf<P> = P extends { readonly parse: Parser<unknown, infer I> }
  ? I
  : P extends Parser<unknown, infer I>
    ? I
    : never

export function isObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

interface Range {
  min?: number
  max?: number
  /** Like `min`, but the bound itself is excluded. */
  above?: number
}

function rangeText({ min, max, above }: Range): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`
  if (min !== undefined) return ` ≥ ${min}`
  if (above !== undefined) return ` > ${above}${max === undefined ? '' : ` and ≤ ${max}`}`
  return max === undefined ? '' : ` ≤ ${max}`
}

function inRange(n: number, { min = -Infinity, max = Infinity, above = -Infinity }: Range): boolean {
  return n >= min && n <= max && n > above
}

/** A parser of single values: those that pass the test. */
export function single<T>(expects: string, test: (value: unknown) => boolean): Parser<T> {
  const parse: Parser<T> = (value, path) => {
    if (test(value)) return value as T
    throw wrong(path, expects, value)
  }
  return Object.assign(parse, { expects })
}

export function number(range: Range = {}, expects = `a number${rangeText(range)}`): Parser<number> {
  return single(expects, value => Number.isFinite(value) && inRange(value as number, range))
}

export function integer(range: Range = {}, expects = `a whole number${rangeText(range)}`): Parser<number> {
  return single(expects, value => Number.isSafeInteger(value) && inRange(value as number, range))
}

export const boolean: Parser<boolean> = single('true or false', value => typeof value === 'boolean')

/** Text that is not empty. */
export const text: Parser<string> = single('a text', value => typeof value === 'string' && value !== '')

/** One of these words or null, or else what the parser takes. */
export function or<const W extends string | false | null, O, I>(
  word: W,
  parse: Parser<O, I>,
): Parser<W | O, W | I> {
  const expects = `${parse.expects}, or ${JSON.stringify(word)}`
  const either: Parser<W | O, W | I> = (value, path) => {
    if (value === word) return word
    if (parse.expects === undefined) return parse(value, path)
    try {
      return parse(value, path)
    } catch {
      throw wrong(path, expects, value)
    }
  }
  return Object.assign(either, parse.expects !== undefined && { expects })
}

/** A value that is checked by who uses it. */
export function unchecked<T>(): Parser<T> {
  return value => value as T
}

export function oneOf<const T extends string>(names: readonly T[], what = 'name'): Parser<T> {
  const parse: Parser<T> = (value, path) => {
    if ((names as readonly unknown[]).includes(value)) return value as T
    if (typeof value === 'string') throw unknownName(path, what, value, names)
    throw wrong(path, `one of ${names.join(', ')}`, value)
  }
  return Object.assign(parse, { words: names })
}

/** A list whose every entry is parsed. */
export function list<O, I>(entry: Parser<O, I>, what: string, length: Range = {}): Parser<O[], I[]> {
  return (value, path) => {
    if (!Array.isArray(value) || !inRange(value.length, length)) throw wrong(path, what, value)
    // Paths are texts: of single values, which lists may have millions of, only the one that is wrong is named.
    if (entry.expects === undefined) return value.map((v, i) => entry(v, at(path, i)))
    let i = 0
    try {
      for (; i < value.length; i++) entry(value[i], path)
    } catch {
      entry(value[i], at(path, i))
    }
    return value.slice() as O[]
  }
}

/** A list of exactly `length` numbers. */
export function tuple<const N extends number>(
  length: N,
  entry: Parser<number>,
  what: string,
): Parser<Tuple<N>> {
  const parse = list(entry, what, { min: length, max: length })
  return (value, path) => parse(value, path) as Tuple<N>
}
export type Tuple<N extends number, T extends number[] = []> = T['length'] extends N
  ? T
  : Tuple<N, [...T, number]>

/** [low, high] with low ≤ high. */
export function interval(entry: Parser<number>, what = '[low, high]'): Parser<[number, number]> {
  const parse = tuple(2, entry, what)
  return (value, path) => {
    const [low, high] = parse(value, path)
    if (low > high) throw wrong(path, `${what} with low ≤ high`, value)
    return [low, high]
  }
}

/** An object whose keys are free and whose values are all of one kind. */
export function record<O, I>(
  entry: Parser<O, I>,
  what: string,
): Parser<Record<string, O>, Record<string, I>> {
  return (value, path) => {
    if (!isObject(value)) throw wrong(path, what, value)
    return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, entry(v, at(path, key))]))
  }
}

/** The first parser if the value passes `test`, else the second. */
export function either<A, B, IA, IB>(
  test: (value: unknown) => boolean,
  yes: Parser<A, IA>,
  no: Parser<B, IB>,
): Parser<A | B, IA | IB> {
  return (value, path) => (test(value) ? yes(value, path) : no(value, path))
}

/** For what is none of the kinds that there are parsers for. */
export function nothing(expected: string): Parser<never> {
  return (value, path) => {
    throw wrong(path, expected, value)
  }
}

export const isNumber = (value: unknown): boolean => typeof value === 'number'
export const isText = (value: unknown): boolean => typeof value === 'string'

/** The parser's result, changed. */
export function refine<A, I, B>(parse: Parser<A, I>, change: (value: A, path: string) => B): Parser<B, I> {
  return (value, path) => change(parse(value, path), path)
}

/** A key that is filled in with `fallback` when it is left out. */
export function withDefault<O, I, const F>(parse: Parser<O, I>, fallback: F): Default<O | Loose<F>, I> {
  return { parse, fallback: fallback as Loose<F> }
}
/** The type of a fallback without its literal value. */
type Loose<F> = F extends number
  ? number
  : F extends boolean
    ? boolean
    : F extends null
      ? null
      : F extends string
        ? F
        : never

/** A key that stays away when it is left out. */
export function optional<O, I>(parse: Parser<O, I>): Default<O | undefined, I> {
  return { parse, fallback: undefined }
}

/** An object with these keys and no others; or, of what another version may have written, with others that are ignored. */
export function object<S extends Keys>(
  keys: S,
  what = 'an object',
  others: 'refused' | 'ignored' = 'refused',
): Parser<Parsed<S>, Written<S>> {
  const known = Object.keys(keys)
  return (value, path) => {
    if (!isObject(value)) throw wrong(path, `${what} with ${known.join(', ')}`, value)
    if (others === 'refused')
      for (const key of Object.keys(value)) {
        if (value[key] !== undefined && !Object.hasOwn(keys, key))
          throw unknownName(at(path, key), 'key', key, known)
      }
    const out: Record<string, unknown> = {}
    for (const key of known) {
      const spec = keys[key]
      const given = Object.hasOwn(value, key) ? value[key] : undefined
      if (typeof spec === 'function') {
        if (given === undefined) throw new DefinitionError(at(path, key), 'is missing')
        out[key] = spec(given, at(path, key))
      } else if (given !== undefined) {
        out[key] = spec.parse(given, at(path, key))
      } else if (spec.fallback !== undefined) {
        out[key] = spec.fallback
      }
    }
    return out as Parsed<S>
  }
}

/** The same parser, for objects that must not have a certain key: `why` says what to do instead. */
export function without<O, I>(key: string, why: string, parse: Parser<O, I>): Parser<O, I> {
  return (value, path) => {
    if (isObject(value) && value[key] !== undefined) throw new DefinitionError(at(path, key), why)
    return parse(value, path)
  }
}

/** The same parser, for objects that must have a certain key: `how` says where it comes from. */
export function needing<O, I>(key: string, how: string, parse: Parser<O, I>): Parser<O, I> {
  return (value, path) => {
    if (isObject(value) && value[key] === undefined)
      throw new DefinitionError(at(path, key), `is missing: ${how}`)
    return parse(value, path)
  }
}

/** A parser for objects of which exactly one of some keys must be there. */
export function exactlyOne<O, I>(keys: readonly string[], parse: Parser<O, I>): Parser<O, I> {
  return (value, path) => {
    const parsed = parse(value, path)
    const there = keys.filter(key => (parsed as Record<string, unknown>)[key] !== undefined)
    if (there.length !== 1) {
      throw new DefinitionError(
        path,
        `expected exactly one of ${keys.join(', ')}, found ${there.length === 0 ? 'none' : there.join(' and ')}`,
      )
    }
    return parsed
  }
}
