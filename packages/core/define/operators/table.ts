/**
 * Every operator, in one table: its parameters with ranges and defaults, what it does to an image, and what size
 * comes out. Names and meaning are those of torchvision's transforms v2; sizes are [height, width].
 *
 * The parsed parameters are the normal form that other rooms read, with every shorthand written out: `fill` has
 * three channels (masks use the first), `padding` is [left, top, right, bottom], `degrees` is [low, high], and so on.
 */
import { DefinitionError } from '../../basics/errors.js'
import { at, unknownName, wrong } from '../../basics/mistakes.js'
import type { Parsed, Written } from '../../basics/shape.js'
import { either, interval, isObject, isText, object, oneOf, text, withDefault } from '../../basics/shape.js'
import type { NormalOp, OpJson } from '../types.js'
import { COLOUR } from './color.js'
import { GEOMETRY } from './geometry.js'
import { type Operator, operator } from './operator.js'
import {
  channels,
  mixing,
  positive,
  probability,
  type Size,
  STATISTICS,
  sometimes,
  spread,
} from './parameters.js'

export type { Operator } from './operator.js'

export const OPERATORS = {
  ...GEOMETRY,
  ...COLOUR,
  randomErasing: operator({
    says: 'a random rectangle overwritten',
    stage: 'final',
    colors: true,
    main: 'p',
    keys: {
      ...sometimes,
      scale: withDefault(interval(probability, 'areas [low, high] from 0 to 1'), [0.02, 0.33]),
      ratio: withDefault(interval(positive, 'height by width, [low, high]'), [0.3, 3.3]),
      value: withDefault(either(isText, oneOf(['random'], 'value'), channels), [0, 0, 0]),
    },
  }),
  normalize: operator({
    says: 'values scaled to 0…1, less the mean, by the standard deviation',
    stage: 'final',
    colors: true,
    presets: STATISTICS,
    keys: { mean: channels, std: spread },
    check: ({ mean }) =>
      mean.some(one => one > 1)
        ? `a mean of ${Math.max(...mean)} is one of bytes, but values are scaled to 0…1 first: divide mean and std by 255`
        : undefined,
  }),
  mixup: operator({ says: 'images and labels blended in pairs', stage: 'batch', keys: mixing }),
  mosaic: operator({
    says: 'four images meet in a point, with all that follows them',
    stage: 'batch',
    keys: {
      center: withDefault(interval(probability, 'shares of the sides [low, high]'), [0.25, 0.75]),
      p: withDefault(probability, 1),
      field: withDefault(text, ''),
    },
  }),
  cutmix: operator({
    says: 'a rectangle of each image from another, labels in proportion',
    stage: 'batch',
    keys: mixing,
  }),
}

export type OperatorName = keyof typeof OPERATORS
/** The normal parameters of an operator: what other rooms read. */
export type OperatorParams<N extends OperatorName> = Parsed<(typeof OPERATORS)[N]['keys']>
/** What may be written for them. */
export type OperatorOptions<N extends OperatorName> = Written<(typeof OPERATORS)[N]['keys']>

export const OPERATOR_NAMES = Object.keys(OPERATORS) as OperatorName[]

/** The facts of an operator, without the types of its own parameters. */
export type OperatorFacts = Omit<Operator, 'output' | 'check'> & {
  check?(params: Record<string, unknown>): string | undefined
  output?(before: Size | undefined, params: Record<string, unknown>): Size | undefined
}

export function operatorFacts(name: OperatorName): OperatorFacts {
  return OPERATORS[name] as unknown as OperatorFacts
}

/** One entry of `apply`, parsed: shorthands written out, defaults filled in. `allowed` limits the names. */
export function parseOperator(
  json: unknown,
  path: string,
  allowed: readonly string[] = OPERATOR_NAMES,
): { name: OperatorName; params: Record<string, unknown>; path: string } {
  const names = isObject(json) ? Object.keys(json).filter(key => json[key] !== undefined) : [json]
  if (names.length !== 1 || typeof names[0] !== 'string') {
    throw wrong(path, 'one operator, such as {"flip": {"p": 0.5}}', json)
  }
  const name = names[0]
  if (!Object.hasOwn(OPERATORS, name)) throw unknownName(path, 'operator', name, allowed)
  const facts = operatorFacts(name as OperatorName)
  const inside = at(path, name)
  let written: unknown = isObject(json) ? json[name] : {}
  if (facts.presets !== undefined && typeof written === 'string') {
    if (!Object.hasOwn(facts.presets, written))
      throw unknownName(inside, 'preset', written, Object.keys(facts.presets))
    written = facts.presets[written]
  } else if (facts.main !== undefined && !isObject(written)) {
    written = { [facts.main]: written }
  }
  const params = object(facts.keys)(written, inside)
  const problem = facts.check?.(params)
  if (problem !== undefined) throw new DefinitionError(inside, problem)
  return { name: name as OperatorName, params, path: inside }
}

/** A list of operators in normal form, each numbered among those of its name. */
export function normalOps(apply: readonly OpJson[], path: string): NormalOp[] {
  const seen = new Map<string, number>()
  return apply.map((json, i) => {
    const { name, params } = parseOperator(json, at(path, i))
    const ordinal = seen.get(name) ?? 0
    seen.set(name, ordinal + 1)
    return { name, ordinal, params }
  })
}
