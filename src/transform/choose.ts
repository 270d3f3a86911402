/**
 * Operators choose steps: from the definition's parameters, the sample's size and a keyed random source, before
 * a pixel is decoded. Pure: the same key gives the same steps. Parameters mean what they mean in torchvision v2;
 * only the random source differs.
 */
import type { OperatorName } from '../define/operators.js'
import type { Random } from '../define/random.js'
import type { NormalOp } from '../define/types.js'
import { MillraceError } from '../errors.js'
import { affine, rotate } from './choose/affine.js'
import { randAugment, trivialAugment } from './choose/augment.js'
import { type Chooser, type Size, withChance } from './choose/chooser.js'
import { colorJitter, gaussianBlur, photometricDistort } from './choose/color.js'
import { centerCrop, pad, randomCrop, randomResizedCrop, resize } from './choose/crop.js'
import { randomErasing } from './choose/erase.js'
import { autoAugment } from './choose/policies.js'
import { elastic, perspective } from './choose/warp.js'
import type { Step } from './steps.js'

export type { Size } from './choose/chooser.js'

const choosers: { [N in Exclude<OperatorName, 'mixup' | 'cutmix'>]: Chooser<N> } = {
  resize,
  centerCrop,
  randomCrop,
  randomResizedCrop,
  pad,
  flip: withChance(({ axis }) => ({ do: 'flip', axis })),
  rotate,
  affine,
  perspective,
  elastic,
  colorJitter,
  grayscale: withChance(() => ({ do: 'grayscale' })),
  gaussianBlur,
  autocontrast: withChance(() => ({ do: 'autocontrast' })),
  posterize: withChance(({ bits }) => ({ do: 'posterize', bits })),
  solarize: withChance(({ threshold }) => ({ do: 'solarize', threshold })),
  equalize: withChance(() => ({ do: 'equalize' })),
  invert: withChance(() => ({ do: 'invert' })),
  sharpness: withChance(({ factor }) => ({ do: 'sharpness', factor })),
  trivialAugment,
  randAugment,
  autoAugment,
  photometricDistort,
  randomErasing,
  normalize: ({ mean, std }) => [{ do: 'normalize', mean, std }],
}

/** Most steps that an operator chooses, where that is more than one. */
const MOST_STEPS: Partial<Record<OperatorName, number | ((params: NormalOp['params']) => number)>> = {
  randomCrop: 2,
  randomResizedCrop: 2,
  rotate: 2,
  trivialAugment: 2,
  randAugment: ({ ops }) => ops as number,
  autoAugment: 2,
  colorJitter: 4,
  photometricDistort: 5,
}

export function mostSteps(ops: readonly NormalOp[]): number {
  return ops.reduce((sum, { name, params }) => {
    const most = MOST_STEPS[name as OperatorName] ?? 1
    return sum + (typeof most === 'number' ? most : most(params))
  }, 0)
}

/** What will be done to a sample of `size`. `random` gives each operator its own keyed source. */
export function chooseSteps(ops: readonly NormalOp[], size: Size, random: (op: NormalOp) => Random): Step[] {
  const steps: Step[] = []
  let now = size
  for (const op of ops) {
    // A NormalOp's parameters were parsed by the table that types them.
    const choose = choosers[op.name as keyof typeof choosers] as (
      params: unknown,
      size: Size,
      random: Random,
    ) => Step[]
    if (choose === undefined) throw new MillraceError(`"${op.name}" is not an operator of a single image`)
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
