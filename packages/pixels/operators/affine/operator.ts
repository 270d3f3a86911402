/** Turning pictures: `rotate`, and with it shifting, scaling and shearing, `affine`. */
import { DefinitionError } from '../../../core/basics/errors.js'
import { interval, tuple, withDefault } from '../../../core/basics/shape.js'
import type { FlipStep } from '../flip/operator.js'
import { operator, roundEven } from '../operator.js'
import { degrees, filling, positive, probability, shear, warpFilter } from '../parameters.js'
import type { Filter, Size } from '../step.js'
import { type AffineStep, affineStep, affineSteps, unmoved } from './step.js'

/** Anticlockwise by `angle` degrees, in the same frame. Multiples of 90° that fit move whole pixels. */
export function rotateSteps(
  angle: number,
  size: Size,
  filter: Filter,
  fill: number[],
): (AffineStep | FlipStep)[] {
  const turn = ((angle % 360) + 360) % 360
  if (turn === 0) return []
  if (turn === 180)
    return [
      { do: 'flip', axis: 'horizontal' },
      { do: 'flip', axis: 'vertical' },
    ]
  const step = affineStep({ ...unmoved, angle: -turn }, size, filter, fill)
  if (size.width === size.height && turn % 90 === 0)
    return [{ ...step, matrix: step.matrix.map(Math.round), filter: 'nearest' }]
  return [step]
}

export const rotate = operator({
  says: 'turned by a random angle, counter-clockwise',
  example: { rotate: { degrees: 180, filter: 'bilinear' } },
  defaults: { expand: ' false (only that)' },
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
  torchvision: { RandomRotation: undefined },
  most: 2,
  choose: ({ degrees, filter, fill }, size, random) =>
    rotateSteps(random.uniform(degrees[0], degrees[1]), size, filter, fill),
})

export const affine = operator({
  says: 'turned, shifted, scaled and sheared at random',
  about: 'turned, shifted, scaled and sheared',
  example: { affine: { degrees: 40, translate: [0.3, 0.3], scale: [0.4, 2.5], shear: 20 } },
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
  torchvision: { RandomAffine: undefined },
  steps: [affineSteps],
  choose(params, size, random) {
    const { degrees, shear, filter, fill } = params
    const angle = random.uniform(degrees[0], degrees[1])
    // The greatest shift, given as a share of the size.
    const [mostX, mostY] = [params.translate[0] * size.width, params.translate[1] * size.height]
    const translate = [
      roundEven(random.uniform(-mostX, mostX)),
      roundEven(random.uniform(-mostY, mostY)),
    ] as const
    const scale = random.uniform(params.scale[0], params.scale[1])
    const slant = [random.uniform(shear[0], shear[1]), random.uniform(shear[2], shear[3])] as const
    return [affineStep({ ...unmoved, angle, translate, scale, shear: slant }, size, filter, fill)]
  },
})
