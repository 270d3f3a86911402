/**
 * Operators of numbers (fields `as` int, float, vector): `normalize` and `clamp`, done in the order in which they are written, in
 * f64. A vector has a mean and a deviation for each of its columns; "standard" stands for those of the main source.
 */
import { DefinitionError } from '../../core/basics/errors.js'
import { at } from '../../core/basics/mistakes.js'
import { either, isText, number, object, oneOf, type Parser, tuple } from '../../core/basics/shape.js'
import { isFloat } from '../../core/define/layout.js'
import type { FieldJson, NormalOp } from '../../core/define/types.js'
import { parseValueOps, positive, statistics, type ValueOperator } from './array-operators.js'

/** An operator of numbers as it is written. */
export type NumberOpJson = { normalize: NormalizeJson } | { clamp: readonly [number, number] }
export type NormalizeJson = 'standard' | { mean: number | readonly number[]; std: number | readonly number[] }

/** Parameters of `normalize`: one number, or one for each column. Absent where the main source has yet to be looked at. */
export interface NormalizeParams {
  statistics?: 'standard'
  mean?: number[]
  std?: number[]
}

const standard = oneOf(['standard'], 'statistics')
const range: Parser<[number, number]> = (value, path) => {
  const [low, high] = tuple(2, number(), '[low, high]')(value, path)
  if (low > high)
    throw new DefinitionError(path, `expected [low, high] with low ≤ high, found [${low}, ${high}]`)
  return [low, high]
}

const NUMBER_OPERATORS: Readonly<Record<'normalize' | 'clamp', ValueOperator>> = {
  normalize: {
    main: 'statistics',
    parse: either(
      value => isText((value as { statistics?: unknown }).statistics),
      object({ statistics: standard }),
      object({ mean: statistics(number()), std: statistics(positive) }),
    ) as ValueOperator['parse'],
  },
  clamp: { main: 'range', parse: object({ range }) as ValueOperator['parse'] },
}

/** The operators of a field of numbers. */
export function numberOps({ apply = [], map }: FieldJson, path: string): NormalOp[] {
  const ops = parseValueOps(NUMBER_OPERATORS, 'numbers', '{"clamp": [0, 1]}', apply, path)
  const open = ops.findIndex(isOpenOp)
  if (open >= 0 && map !== undefined)
    throw new DefinitionError(
      at(at(path, open), 'normalize'),
      'the field has a function, and what that makes of the values is not known: give mean and std in numbers',
    )
  return ops
}

/** What only holds together with the element type and the number of columns; undefined: that is not known yet. */
export function checkNumberOps(
  ops: readonly NormalOp[],
  dtype: FieldJson['dtype'],
  columns: number | undefined,
  path: string,
): void {
  for (const [i, { name, params }] of ops.entries()) {
    const inside = at(at(path, i), name)
    const { mean = [], std = [] } = params as NormalizeParams
    const { range = [] } = params as { range?: number[] }
    for (const [key, list] of Object.entries({ mean, std }))
      if (columns !== undefined && list.length > 1 && list.length !== columns)
        throw new DefinitionError(
          at(inside, key),
          `has ${list.length} numbers, and the field has ${columns} column${columns === 1 ? '' : 's'}: give one number, or one for each column`,
        )
    if (!isFloat(dtype!) && !range.every(Number.isInteger))
      throw new DefinitionError(
        inside,
        `${range.join(' and ')} are no bounds of ${dtype}: take whole numbers, or f32`,
      )
  }
}

/** `normalize` by statistics that are not known yet. */
export function isOpenOp({ name, params }: NormalOp): boolean {
  return name === 'normalize' && (params as NormalizeParams).statistics !== undefined
}

/** The same of operators as they are written, or in normal form: no other says this word. */
export const hasOpenOp = (apply: readonly unknown[] = []): boolean =>
  JSON.stringify(apply).includes('"standard"')
