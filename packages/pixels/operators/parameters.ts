/** Parsers of operators' parameters, shared by several of them. The results are the normal form. */

import { wrong } from '../../core/basics/mistakes.js'
import type { Parser } from '../../core/basics/shape.js'
import {
  boolean,
  integer,
  interval,
  isNumber,
  list,
  number,
  oneOf,
  refine,
  tuple,
  withDefault,
} from '../../core/basics/shape.js'
import type { Sides } from '../../core/define/operator.js'

export const pixels = integer({ min: 1, max: 65535 })
export const probability = number({ min: 0, max: 1 })
export const filter = oneOf(['bilinear', 'bicubic', 'nearest'], 'filter')
/** Rotating and shearing have no bicubic filter, as on torchvision's tensors. */
export const warpFilter = oneOf(['bilinear', 'nearest'], 'filter')
export const mode = oneOf(['constant', 'edge', 'reflect', 'symmetric'], 'mode')
export const positive = number({ above: 0 })

export const pair = tuple(2, pixels, 'a size or [height, width]')

type Pair = [number, number]

/** Two numbers, or one for both. */
export function twice(
  one: Parser<number>,
  both: Parser<Pair> = tuple(2, one, 'a number or [horizontal, vertical]'),
): Parser<Pair, number | Pair> {
  return (value, path) => (isNumber(value) ? [one(value, path), value as number] : both(value, path))
}

/** [low, high], or a number d for [−d, d]. */
function around(one: Parser<number>, both: Parser<Pair>): Parser<Pair, number | Pair> {
  return (value, path) => (isNumber(value) ? [-one(value, path), value as number] : both(value, path))
}

/** The parser's value, or null. */
export function orNull<O, I>(parse: Parser<O, I>): Parser<O | null, I | null> {
  return (value, path) => (value === null ? null : parse(value, path))
}

/** A crop's size: one number is a square. */
export const square: Parser<Sides, number | Sides> = twice(pixels, pair)

/** A value for each channel: one number, or a list of one, is for all three. */
export const channels: Parser<[number, number, number], number | number[]> = (value, path) => {
  const [one, ...more] = Array.isArray(value) ? value : [value]
  if (isNumber(one) && more.length === 0) return [one, one, one] as [number, number, number]
  return tuple(3, number(), 'a number or [red, green, blue]')(value, path)
}

/** As torchvision: one number for all sides, two for [left and right, top and bottom], four for [left, top, right, bottom]. */
export const padding: Parser<[number, number, number, number], number | number[]> = (value, path) => {
  const sides = list(integer({ min: 0, max: 65535 }), '1, 2 or 4 whole numbers', { min: 1, max: 4 })(
    isNumber(value) ? [value] : value,
    path,
  )
  const [left, top = left, right = left, bottom = top] = sides
  if (sides.length === 3) throw wrong(path, '1, 2 or 4 whole numbers', value)
  return [left, top, right, bottom]
}

export const degrees = around(number({ min: 0 }), interval(number(), 'degrees ≥ 0 or [low, high]'))

export const shear: Parser<[number, number, number, number], number | number[]> = (value, path) => {
  if (isNumber(value)) return [-number({ min: 0 })(value, path), value as number, 0, 0]
  const parts = list(number(), '1, 2 or 4 numbers', { min: 2, max: 4 })(value, path)
  if (parts.length === 3) throw wrong(path, '1, 2 or 4 numbers', value)
  const [xLow, xHigh, yLow = 0, yHigh = 0] = parts
  if (xLow > xHigh || yLow > yHigh) throw wrong(path, '[low, high] with low ≤ high', value)
  return [xLow, xHigh, yLow, yHigh]
}

/** A jitter b means factors in [1−b, 1+b], at least 0. One that can change nothing is null. */
export const jitter: Parser<Pair | null, number | Pair> = (value, path) => {
  const [low, high] = isNumber(value)
    ? [Math.max(0, 1 - number({ min: 0 })(value, path)), 1 + (value as number)]
    : interval(number({ min: 0 }), 'a number ≥ 0 or [low, high]')(value, path)
  return low === 1 && high === 1 ? null : [low, high]
}

/** A hue jitter h means turns in [−h, h]; half a turn is the most. */
export const hueJitter = refine(
  around(
    number({ min: 0, max: 0.5 }),
    interval(number({ min: -0.5, max: 0.5 }), 'a number from 0 to 0.5 or [low, high]'),
  ),
  turns => (turns[0] === 0 && turns[1] === 0 ? null : turns),
)

const odd: Parser<number> = (value, path) => {
  const n = integer({ min: 1, max: 255 })(value, path)
  if (n % 2 === 0) throw wrong(path, 'an odd whole number', value)
  return n
}

export const kernel = twice(odd, tuple(2, odd, 'an odd number or [horizontal, vertical]'))
export const sigma = twice(positive, interval(positive, 'a number > 0 or [low, high]'))

/** Mean and standard deviation of a data set, of values in 0…1, red, green, blue. */
export const STATISTICS = {
  imagenet: { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
  half: { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  cifar10: { mean: [0.4914, 0.4822, 0.4465], std: [0.247, 0.2435, 0.2616] },
  clip: { mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711] },
}

export const spread = refine(channels, (std, path) => {
  if (std.every(s => s > 0)) return std
  throw wrong(path, 'standard deviations > 0', std)
})

export const resampling = { filter: withDefault(filter, 'bilinear'), antialias: withDefault(boolean, true) }
export const filling = { fill: withDefault(channels, [0, 0, 0]), mode: withDefault(mode, 'constant') }
export const sometimes = { p: withDefault(probability, 0.5) }

/** Warps fetch pixels from anywhere, and fill what lies outside. */
export const warping = { filter: withDefault(warpFilter, 'bilinear'), fill: filling.fill }
