/**
 * Every operator, in one table: its parameters with ranges and defaults, what it does to an image, and what size
 * comes out. Names and meaning are those of torchvision's transforms v2; sizes are [height, width].
 *
 * The parsed parameters are the normal form that other rooms read, with every shorthand written out: `fill` has
 * three channels (masks use the first), `padding` is [left, top, right, bottom], `degrees` is [low, high], and so on.
 */
import { DefinitionError } from '../errors.js'
import {
  channels,
  degrees,
  filling,
  hueJitter,
  jitter,
  kernel,
  mixing,
  padding,
  pair,
  pixels,
  positive,
  probability,
  resampling,
  type Size,
  STATISTICS,
  shear,
  sigma,
  sometimes,
  spread,
  square,
  warpFilter,
} from './parameters.js'
import type { Parsed, Written } from './schema.js'
import {
  at,
  boolean,
  either,
  integer,
  interval,
  isNumber,
  isObject,
  isText,
  number,
  object,
  oneOf,
  tuple,
  unknownName,
  withDefault,
  wrong,
} from './schema.js'
import type { NormalOp, OpJson } from './types.js'

type Keys = Parameters<typeof object>[0]

/** The facts about one operator. */
export interface Operator<K extends Keys = Keys> {
  /** What it says in a chooser, a help text or a document. */
  says: string
  keys: K
  /** The parameter meant by a bare value: `{"resize": 256}` is `{"resize": {"size": 256}}`. */
  main?: keyof K & string
  /** Named sets of parameters: `{"normalize": "imagenet"}`. */
  presets?: Record<string, Record<string, unknown>>
  /** Moves pixels, so that followers do it too. */
  moves?: boolean
  /** Changes values of pixels, so that a mask can't have it. */
  colors?: boolean
  /** pixels: on 8-bit pixels; final: on the way into the batch, after all others; batch: over the finished batch. */
  stage: 'pixels' | 'final' | 'batch'
  /** What must hold between parameters; says what does not. */
  check?(params: Parsed<K>): string | undefined
  /** The size that comes out. Without it: the size that went in. Undefined: not known before the image is. */
  output?(before: Size | undefined, params: Parsed<K>): Size | undefined
}

const operator = <K extends Keys>(facts: Operator<K>): Operator<K> => facts

/** The size after a resize of the shorter side to `size`, the longer at most `maxSize`: torchvision's rounding. */
export function resizedTo([height, width]: Size, size: number, maxSize: number | null): Size {
  const [short, long] = height <= width ? [height, width] : [width, height]
  let newShort = size
  let newLong = Math.trunc((size * long) / short)
  if (maxSize !== null && newLong > maxSize) {
    newShort = Math.trunc((maxSize * newShort) / newLong)
    newLong = maxSize
  }
  return height <= width ? [newShort, newLong] : [newLong, newShort]
}

/** A greatest size, or none. Apart, so that the types of the keys around it are inferred. */
const upTo = either(
  (value: unknown) => value === null,
  (): null => null,
  pixels,
)

const sideOrBoth = either(isNumber, pixels, pair)

export const OPERATORS = {
  resize: operator({
    says: 'the shorter side to a size, or both to [height, width]',
    stage: 'pixels',
    moves: true,
    main: 'size',
    keys: {
      size: sideOrBoth,
      ...resampling,
      maxSize: withDefault(upTo, null),
    },
    check: ({ size, maxSize }) =>
      typeof size !== 'number' && maxSize !== null
        ? 'maxSize goes with the size of the shorter side only'
        : undefined,
    output: (before, { size, maxSize }) =>
      typeof size !== 'number' ? size : before && resizedTo(before, size, maxSize),
  }),
  centerCrop: operator({
    says: 'the middle; smaller images are padded with black',
    stage: 'pixels',
    moves: true,
    main: 'size',
    keys: { size: square },
    output: (_, { size }) => size,
  }),
  randomCrop: operator({
    says: 'a piece at a random place',
    stage: 'pixels',
    moves: true,
    main: 'size',
    keys: {
      size: square,
      padding: withDefault(padding, [0, 0, 0, 0]),
      padIfNeeded: withDefault(boolean, false),
      ...filling,
    },
    output: (_, { size }) => size,
  }),
  randomResizedCrop: operator({
    says: 'a piece of random area and shape, resized',
    stage: 'pixels',
    moves: true,
    main: 'size',
    keys: {
      size: square,
      scale: withDefault(interval(positive, 'areas [low, high]'), [0.08, 1]),
      ratio: withDefault(interval(positive, 'width by height, [low, high]'), [3 / 4, 4 / 3]),
      ...resampling,
    },
    output: (_, { size }) => size,
  }),
  pad: operator({
    says: 'a border',
    stage: 'pixels',
    moves: true,
    main: 'padding',
    keys: { padding, ...filling },
    output: (before, { padding: [left, top, right, bottom] }) =>
      before && [before[0] + top + bottom, before[1] + left + right],
  }),
  flip: operator({
    says: 'mirrored, with probability p',
    stage: 'pixels',
    moves: true,
    main: 'p',
    keys: { ...sometimes, axis: withDefault(oneOf(['horizontal', 'vertical'], 'axis'), 'horizontal') },
  }),
  rotate: operator({
    says: 'turned by a random angle, counter-clockwise',
    stage: 'pixels',
    moves: true,
    main: 'degrees',
    keys: {
      degrees,
      filter: withDefault(warpFilter, 'nearest'),
      expand: withDefault((value: unknown, path: string): boolean => {
        if (value === false) return false
        throw new DefinitionError(
          path,
          'only false is possible, since rows must be of one size; pad before, or crop after',
        )
      }, false),
      fill: filling.fill,
    },
  }),
  affine: operator({
    says: 'turned, shifted, scaled and sheared at random',
    stage: 'pixels',
    moves: true,
    main: 'degrees',
    keys: {
      degrees,
      translate: withDefault(tuple(2, probability, 'fractions [horizontal, vertical] from 0 to 1'), [0, 0]),
      scale: withDefault(interval(positive, 'factors [low, high]'), [1, 1]),
      shear: withDefault(shear, [0, 0, 0, 0]),
      filter: withDefault(warpFilter, 'nearest'),
      fill: filling.fill,
    },
  }),
  colorJitter: operator({
    says: 'brightness, contrast, saturation and hue changed at random, in random order',
    stage: 'pixels',
    colors: true,
    keys: {
      brightness: withDefault(jitter, null),
      contrast: withDefault(jitter, null),
      saturation: withDefault(jitter, null),
      hue: withDefault(hueJitter, null),
    },
  }),
  grayscale: operator({
    says: 'grey, still with three channels, with probability p',
    stage: 'pixels',
    colors: true,
    main: 'p',
    keys: { p: withDefault(probability, 1) },
  }),
  gaussianBlur: operator({
    says: 'blurred with a random sigma',
    stage: 'pixels',
    colors: true,
    main: 'kernel',
    keys: { kernel, sigma: withDefault(sigma, [0.1, 2]) },
  }),
  autocontrast: operator({
    says: 'each channel stretched to 0…255',
    stage: 'pixels',
    colors: true,
    main: 'p',
    keys: sometimes,
  }),
  posterize: operator({
    says: 'fewer bits a channel',
    stage: 'pixels',
    colors: true,
    main: 'bits',
    keys: { bits: integer({ min: 0, max: 8 }), ...sometimes },
  }),
  solarize: operator({
    says: 'values from the threshold on inverted',
    stage: 'pixels',
    colors: true,
    main: 'threshold',
    keys: { threshold: number({ min: 0, max: 256 }), ...sometimes },
  }),
  equalize: operator({
    says: 'histogram of each channel made even',
    stage: 'pixels',
    colors: true,
    main: 'p',
    keys: sometimes,
  }),
  invert: operator({ says: 'negative', stage: 'pixels', colors: true, main: 'p', keys: sometimes }),
  sharpness: operator({
    says: 'blurred (factor < 1) or sharpened (factor > 1)',
    stage: 'pixels',
    colors: true,
    main: 'factor',
    keys: { factor: number({ min: 0 }), ...sometimes },
  }),
  trivialAugment: operator({
    says: 'one random change of random strength (TrivialAugment, wide)',
    stage: 'pixels',
    moves: true,
    colors: true,
    main: 'bins',
    keys: {
      bins: withDefault(integer({ min: 2, max: 1024 }), 31),
      filter: withDefault(warpFilter, 'nearest'),
    },
  }),
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
  }),
  mixup: operator({ says: 'images and labels blended in pairs', stage: 'batch', keys: mixing }),
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
