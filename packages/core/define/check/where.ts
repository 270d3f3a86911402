/** Conditions on columns: `{"width": {">=": 256}, "label": [1, 2]}`, and how they are joined: `$any`, `$all`, `$not`. */
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName, wrong } from '../../basics/mistakes.js'
import { isObject, list, type Parser } from '../../basics/shape.js'

/** A value, null where there is none, any of a list, or comparisons that all hold. */
export type ConditionJson =
  | Compared
  | Compared[]
  | Partial<Record<'>' | '>=' | '<' | '<=' | '=' | '!=', Compared>>
type Compared = number | string | boolean | null

/** Conditions over columns, all of which must hold: `{"width": {">=": 256}, "$any": [{"label": [1, 2]}, {"class": "cat"}]}`. */
export interface WhereJson {
  $any?: WhereJson[]
  $all?: WhereJson[]
  $not?: WhereJson
  [column: string]: ConditionJson | WhereJson | WhereJson[] | undefined
}

const COMPARISONS = ['>', '>=', '<', '<=', '=', '!='] as const

const isScalar = (value: unknown): value is number | string =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))

export const scalar: Parser<number | string> = (value, path) => {
  if (isScalar(value)) return value
  throw wrong(path, 'a number or a text', value)
}

const bound: Parser<number | string | boolean | null> = (value, path) => {
  if (typeof value === 'boolean' || value === null || isScalar(value)) return value
  throw wrong(path, 'a number, a text, true, false or null', value)
}

const condition: Parser<ConditionJson> = (value, path) => {
  if (Array.isArray(value))
    return list(bound, 'a list of numbers, texts, true, false or null', { min: 1 })(value, path)
  if (!isObject(value)) return bound(value, path)
  const keys = Object.keys(value)
  if (keys.length === 0) throw wrong(path, 'a comparison such as {">=": 256}', value)
  for (const key of keys) {
    if (!(COMPARISONS as readonly string[]).includes(key))
      throw unknownName(path, 'comparison', key, COMPARISONS)
    if (bound(value[key], at(path, key)) === null && key !== '=' && key !== '!=')
      throw new DefinitionError(at(path, key), 'nothing is greater or less than null: write "=" or "!="')
  }
  return value
}

export const where: Parser<WhereJson> = (value, path) => {
  if (!isObject(value)) throw wrong(path, 'conditions such as {"width": {">=": 256}}', value)
  for (const [name, given] of Object.entries(value)) {
    const here = at(path, name)
    if (name === '$not') where(given, here)
    else if (name === '$any' || name === '$all')
      list(where, 'a list of conditions, such as [{"label": 1}, {"width": {">=": 256}}]', { min: 1 })(
        given,
        here,
      )
    else if (name.startsWith('$') && Array.isArray(given) && given.some(isObject))
      throw new DefinitionError(here, 'conditions are joined by $any (one holds), $all and $not')
    else condition(given, here)
  }
  return value as WhereJson
}

/** In a patch of a variant, null removes. Within a list it stays what it is. */
export const whereJson = (where: WhereJson): WhereJson => (hasNull(where) ? { $all: [where] } : where)
const hasNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value as object).some(hasNull))
