/**
 * Operators of arrays (fields `as: "npy"`), in any number of dimensions. Sizes are those of the last axes, so that an array
 * with channels in front and its mask without them can have the same ones. Axes are counted from 0, or from the end: −1 is the last.
 */
import { DefinitionError } from '../../core/basics/errors.js'
import { at, unknownName, wrong } from '../../core/basics/mistakes.js'
import {
  either,
  exactlyOne,
  integer,
  isNumber,
  isObject,
  isText,
  list,
  number,
  object,
  oneOf,
  optional,
  type Parser,
  withDefault,
} from '../../core/basics/shape.js'
import type { FieldJson, NormalOp, OpJson } from '../../core/define/types.js'

export const positive = number({ above: 0 })
const probability = number({ min: 0, max: 1 })
const side = integer({ min: 1 })
const sides = list(side, 'sizes of the last axes', { min: 1, max: 64 })
const axis = integer({ min: -64, max: 63 })
const axes = list(axis, 'a list of axes', { min: 1, max: 64 })
const before = integer({ min: 0 })

/** [before, after] of each of the last axes; one number is for both. */
const paddings = list(
  ((value, path) =>
    isNumber(value)
      ? [before(value, path), value as number]
      : list(before, 'a number or [before, after]', { min: 2, max: 2 })(value, path)) as Parser<number[]>,
  'paddings of the last axes',
  { min: 1, max: 64 },
)

/** One number, or one for each place along an axis. */
export const statistics =
  (one: Parser<number>): Parser<number[]> =>
  (value, path) =>
    isNumber(value) ? [one(value, path)] : list(one, 'a number or a list of them', { min: 1 })(value, path)

/** An operator that is no picture's: its parameters, and the one that is meant by a bare value. */
export interface ValueOperator {
  main?: string
  parse: Parser<Record<string, unknown>>
}

interface ArrayOperator extends ValueOperator {
  says: string
  /** Moves elements, so that followers do it too. */
  moves: boolean
}

const operator = (facts: ArrayOperator): ArrayOperator => facts
const parsed = (parser: unknown): ArrayOperator['parse'] => parser as ArrayOperator['parse']

const ARRAY_OPERATORS = {
  crop: operator({
    says: 'a piece of the last axes: in the middle, at a random place, or at a fixed one',
    main: 'size',
    moves: true,
    parse: parsed(
      object({
        size: sides,
        at: withDefault(
          either(isText, oneOf(['center', 'random'], 'place'), list(before, 'a list of first indices')),
          'center',
        ),
      }),
    ),
  }),
  flip: operator({
    says: 'mirrored along each of the axes, each with probability p',
    main: 'axes',
    moves: true,
    parse: parsed(object({ axes, p: withDefault(probability, 0.5) })),
  }),
  rotate90: operator({
    says: 'turned by 90° in the plane of two axes, so many times, or a random number of times',
    main: 'axes',
    moves: true,
    parse: parsed(
      object({
        axes: withDefault(list(axis, 'two axes', { min: 2, max: 2 }), [-2, -1]),
        times: withDefault(
          either(isText, oneOf(['random'], 'number of times'), integer({ min: 0, max: 3 })),
          'random',
        ),
      }),
    ),
  }),
  pad: operator({
    says: 'a border of one value: so wide, or so wide that the last axes have these sizes at least',
    main: 'padding',
    moves: true,
    parse: parsed(
      exactlyOne(
        ['padding', 'to'],
        object({ padding: optional(paddings), to: optional(sides), value: withDefault(number(), 0) }),
      ),
    ),
  }),
  normalize: operator({
    says: 'less the mean, by the standard deviation: for all elements, or for each place along an axis',
    moves: false,
    parse: parsed(
      object({ mean: statistics(number()), std: statistics(positive), axis: withDefault(axis, 0) }),
    ),
  }),
}

/** An operator of arrays as it is written. */
export type ArrayOpJson =
  | { crop: number[] | { size: number[]; at?: 'center' | 'random' | number[] } }
  | { flip: number[] | { axes: number[]; p?: number } }
  | 'rotate90'
  | { rotate90: number[] | { axes?: number[]; times?: number | 'random' } }
  | { pad: (number | number[])[] | { padding?: (number | number[])[]; to?: number[]; value?: number } }
  | { normalize: { mean: number | number[]; std: number | number[]; axis?: number } }

type ArrayOperatorName = keyof typeof ARRAY_OPERATORS

/** Operators of a table in normal form, each numbered among those of its name. `what` has them: arrays. */
export function parseValueOps(
  table: Readonly<Record<string, ValueOperator>>,
  what: string,
  example: string,
  apply: readonly OpJson[],
  path: string,
): NormalOp[] {
  const seen = new Map<string, number>()
  return apply.map((json, i) => {
    const here = at(path, i)
    const names = isObject(json) ? Object.keys(json).filter(key => json[key] !== undefined) : [json]
    const [name] = names
    if (names.length !== 1 || typeof name !== 'string')
      throw wrong(here, `one operator, such as ${example}`, json)
    if (!Object.hasOwn(table, name)) throw unknownName(here, `operator of ${what}`, name, Object.keys(table))
    const { main, parse } = table[name]
    const written = isObject(json) ? json[name] : {}
    const params = parse(
      main === undefined || isObject(written) ? written : { [main]: written },
      at(here, name),
    )
    const ordinal = seen.get(name) ?? 0
    seen.set(name, ordinal + 1)
    return { name, ordinal, params }
  })
}

function parseAll(apply: readonly OpJson[], path: string): NormalOp[] {
  return parseValueOps(ARRAY_OPERATORS, 'arrays', '{"crop": [64, 64, 64]}', apply, path)
}

/** The operators of a field of arrays. One that follows another moves as that does, then has its own. */
export function arrayOps(
  name: string,
  fields: Readonly<Record<string, FieldJson>>,
  path = 'fields',
): NormalOp[] {
  const { apply = [], follow, dtype } = fields[name]
  const here = at(at(path, name), 'apply')
  const own = parseAll(apply, here)
  own.forEach(({ name: op }, i) => {
    const inside = at(at(here, i), op)
    const { moves } = ARRAY_OPERATORS[op as ArrayOperatorName]
    if (follow !== undefined && moves)
      throw new DefinitionError(
        inside,
        `moves elements, but the field follows "${follow}" and moves as that does`,
      )
    if (moves) return
    if (i + 1 < own.length) throw new DefinitionError(inside, 'comes last: put the others before it')
    if (dtype !== 'f32' && dtype !== 'f64')
      throw new DefinitionError(inside, `makes f32 or f64, and the field is ${dtype}: give it one of these`)
  })
  if (follow === undefined) return own
  const led = parseAll(fields[follow].apply ?? [], at(at(path, follow), 'apply'))
  return [...led.filter(({ name: op }) => ARRAY_OPERATORS[op as ArrayOperatorName].moves), ...own]
}
