/**
 * Operators choose steps: from the definition's parameters, the sample's size and a keyed random source, before
 * a pixel is decoded. Pure: the same key gives the same steps. Parameters mean what they mean in torchvision v2;
 * only the random source differs.
 */
import type { Random } from '../define/random.js'
import type { NormalOp } from '../define/types.js'
import { MillraceError } from '../errors.js'
import { affine, rotate } from './choose/affine.js'
import { trivialAugment } from './choose/augment.js'
import type { Chooser, Size } from './choose/chooser.js'
import { colorJitter, gaussianBlur, sharpness, withChance } from './choose/color.js'
import { centerCrop, pad, randomCrop, randomResizedCrop, resize } from './choose/crop.js'
import { randomErasing } from './choose/erase.js'
import { number, numbers } from './choose/params.js'
import type { Step } from './steps.js'

/** The operators of a field, by name. */
const choosers: Readonly<Record<string, Chooser>> = {
  resize,
  centerCrop,
  randomCrop,
  randomResizedCrop,
  pad,
  flip: withChance(params => ({
    do: 'flip',
    axis: params.axis === 'vertical' ? 'vertical' : 'horizontal',
  })),
  rotate,
  affine,
  colorJitter,
  grayscale: withChance(() => ({ do: 'grayscale' })),
  gaussianBlur,
  randomErasing,
  autocontrast: withChance(() => ({ do: 'autocontrast' })),
  posterize: withChance(params => ({ do: 'posterize', bits: number(params, 'bits') })),
  solarize: withChance(params => ({ do: 'solarize', threshold: number(params, 'threshold') })),
  equalize: withChance(() => ({ do: 'equalize' })),
  invert: withChance(() => ({ do: 'invert' })),
  sharpness: withChance(sharpness),
  trivialAugment,
  normalize: params => [{ do: 'normalize', mean: numbers(params, 'mean'), std: numbers(params, 'std') }],
}

/** What will be done to a sample of `size`. `random` gives each operator its own keyed source. */
export function chooseSteps(ops: readonly NormalOp[], size: Size, random: (op: NormalOp) => Random): Step[] {
  const steps: Step[] = []
  let now = size
  for (const op of ops) {
    const choose = choosers[op.name]
    if (choose === undefined)
      throw new MillraceError(
        `no operator "${op.name}" for images; there are ${Object.keys(choosers).join(', ')}`,
      )
    for (const step of choose(op.params, now, random(op))) {
      steps.push(step)
      now = sizeAfter(step, now)
    }
  }
  return steps
}

/** The size of a sample once `step` is done. */
export function sizeAfter(step: Step, size: Size): Size {
  switch (step.do) {
    case 'crop':
    case 'resize':
    case 'affine':
      return { width: step.width, height: step.height }
    case 'pad':
      return {
        width: size.width + step.left + step.right,
        height: size.height + step.top + step.bottom,
      }
    default:
      return size
  }
}
