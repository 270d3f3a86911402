/** Operators that move pixels; masks, boxes and points follow them. */
import { DefinitionError } from '../../basics/errors.js'
import {
  boolean,
  either,
  integer,
  interval,
  isNumber,
  list,
  number,
  oneOf,
  text,
  tuple,
  withDefault,
} from '../../basics/shape.js'
import { operator } from './operator.js'
import {
  degrees,
  filling,
  orNull,
  padding,
  pair,
  pixels,
  positive,
  probability,
  resampling,
  type Size,
  shear,
  sometimes,
  square,
  twice,
  warpFilter,
} from './parameters.js'

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

/** Of a side. */
const shareOf = number({ above: 0, max: 1 })

const sideOrBoth = either(isNumber, pixels, pair)

export const GEOMETRY = {
  resize: operator({
    says: 'the shorter side to a size, or both to [height, width]',
    stage: 'pixels',
    moves: true,
    main: 'size',
    keys: {
      size: sideOrBoth,
      ...resampling,
      maxSize: withDefault(orNull(pixels), null),
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
  perspective: operator({
    says: 'its corners moved inwards at random, with probability p',
    stage: 'pixels',
    moves: true,
    main: 'distortion',
    keys: {
      distortion: withDefault(probability, 0.5),
      ...sometimes,
      filter: withDefault(warpFilter, 'bilinear'),
      fill: filling.fill,
    },
  }),
  elastic: operator({
    says: 'pixels displaced by smooth noise, as if seen through water',
    stage: 'pixels',
    moves: true,
    main: 'alpha',
    keys: {
      alpha: withDefault(twice(number()), [50, 50]),
      sigma: withDefault(twice(number({ min: 0, max: 31.8 })), [5, 5]),
      filter: withDefault(warpFilter, 'bilinear'),
      fill: filling.fill,
    },
    check: ({ sigma: [x, y] }) =>
      (x === 0) === (y === 0) ? undefined : 'both sigmas are 0, for noise without blur, or neither is',
  }),
  zoomOut: operator({
    says: 'a border that makes it up to so many times as large, with probability p',
    stage: 'pixels',
    moves: true,
    main: 'sides',
    keys: {
      sides: withDefault(interval(number({ min: 1 }), 'factors [low, high] from 1 on'), [1, 4]),
      ...sometimes,
      fill: filling.fill,
    },
    output: () => undefined,
  }),
  iouCrop: operator({
    says: 'a piece that overlaps a box; boxes whose middle lies outside are dropped',
    stage: 'pixels',
    moves: true,
    main: 'scale',
    keys: {
      scale: withDefault(interval(shareOf, 'shares of the sides [low, high] up to 1'), [0.3, 1]),
      ratio: withDefault(interval(positive, 'width by height, [low, high]'), [0.5, 2]),
      overlaps: withDefault(
        list(number({ min: 0 }), 'least overlaps (IoU), 1 for the whole picture', { min: 1, max: 64 }),
        [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1],
      ),
      trials: withDefault(integer({ min: 1, max: 1000 }), 40),
      boxes: withDefault(text, ''),
    },
    output: () => undefined,
  }),
  scaleJitter: operator({
    says: 'resized to a random share of what fits into a size',
    stage: 'pixels',
    moves: true,
    main: 'size',
    keys: {
      size: square,
      scale: withDefault(interval(positive, 'factors [low, high]'), [0.1, 2]),
      ...resampling,
    },
    output: () => undefined,
  }),
}
