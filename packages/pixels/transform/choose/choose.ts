/**
 * Operators choose steps: from the definition's parameters, the sample's size and a keyed random source, before
 * a pixel is decoded. Pure: the same key gives the same steps. Parameters mean what they mean in torchvision v2;
 * only the random source differs.
 */

import { MillraceError } from '../../../core/basics/errors.js'
import type { Random } from '../../../core/basics/random.js'
import type { OperatorName } from '../../../core/define/operators/table.js'
import type { NormalOp } from '../../../core/define/types.js'
import type { Rows } from '../../decode/array/rows.js'
import { followBoxes } from '../plain/follow.js'
import { type CropStep, type Size, type Step, sizeAfter } from '../steps.js'
import { affine, rotate } from './affine.js'
import { randAugment, trivialAugment } from './augment.js'
import { type Chooser, type Scene, withChance } from './chooser.js'
import { colorJitter, gaussianBlur, photometricDistort } from './color.js'
import { centerCrop, pad, randomCrop, randomResizedCrop, resize } from './crop.js'
import { iouCrop, scaleJitter, zoomOut } from './detect.js'
import { randomErasing } from './erase.js'
import { autoAugment } from './policies.js'
import { elastic, perspective } from './warp.js'

export type { Size } from '../steps.js'
export { sizeAfter } from '../steps.js'

const choosers: { [N in Exclude<OperatorName, 'mixup' | 'cutmix' | 'mosaic'>]: Chooser<N> } = {
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
  zoomOut,
  iouCrop,
  scaleJitter,
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

/** What else is known of a sample: its boxes, or the crop that was chosen when they were at hand. */
export interface Known {
  /** The boxes of a field, where they lie before the first step. */
  boxes?: ((field: string) => Rows) | undefined
  /** Null: none was chosen. */
  recalled?: CropStep | null | undefined
}

/** What will be done to a sample of `size`. `random` gives each operator its own keyed source. */
export function chooseSteps(
  ops: readonly NormalOp[],
  size: Size,
  random: (op: NormalOp) => Random,
  { boxes, recalled }: Known = {},
): Step[] {
  const steps: Step[] = []
  let now = size
  const scene: Scene = {
    recalled,
    boxes: field => {
      if (boxes === undefined) throw new MillraceError(`the boxes of "${field}" are not known here`)
      return followBoxes(boxes(field), { ...size, steps }, 0)
    },
  }
  for (const op of ops) {
    // A NormalOp's parameters were parsed by the table that types them.
    const choose = choosers[op.name as keyof typeof choosers] as (
      params: unknown,
      size: Size,
      random: Random,
      scene: Scene,
    ) => Step[]
    if (choose === undefined) throw new MillraceError(`"${op.name}" is not an operator of a single image`)
    for (const step of choose(op.params, now, random(op), scene)) {
      steps.push(step)
      now = sizeAfter(step, now)
    }
  }
  return steps
}
