/** TrivialAugment (wide): one operator out of fourteen, at one of `bins` strengths. */

import type { Filter, Step } from '../steps.js'
import { affineStep, rotateSteps, unmoved } from './affine.js'
import { type Chooser, roundEven, type Size } from './chooser.js'

const DEGREE = Math.PI / 180

interface How {
  size: Size
  filter: Filter
  fill: number[]
}

interface Augmentation {
  /** Strength at the first and at the last bin. */
  from: number
  to: number
  /** Whether the strength's sign is chosen by a coin. */
  signed: boolean
  steps(strength: number, how: How): Step[]
}

const signed = (to: number, steps: Augmentation['steps']): Augmentation => ({
  from: 0,
  to,
  signed: true,
  steps,
})
const unsigned = (from: number, to: number, steps: Augmentation['steps']): Augmentation => ({
  from,
  to,
  signed: false,
  steps,
})
const plain = (...steps: Step[]) => unsigned(0, 0, () => steps)

/** In torchvision's order. Shears keep the upper left corner in its place; their strength is a slope. */
const space: readonly Augmentation[] = [
  plain(),
  signed(0.99, (slope, how) => shear([Math.atan(slope) / DEGREE, 0], how)),
  signed(0.99, (slope, how) => shear([0, Math.atan(slope) / DEGREE], how)),
  signed(32, (pixels, how) => translate([Math.trunc(pixels), 0], how)),
  signed(32, (pixels, how) => translate([0, Math.trunc(pixels)], how)),
  signed(135, (angle, how) => rotateSteps(angle, how.size, how.filter, how.fill)),
  signed(0.99, strength => [{ do: 'brightness', factor: 1 + strength }]),
  signed(0.99, strength => [{ do: 'saturation', factor: 1 + strength }]),
  signed(0.99, strength => [{ do: 'contrast', factor: 1 + strength }]),
  signed(0.99, strength => [{ do: 'sharpness', factor: 1 + strength }]),
  unsigned(8, 2, bits => [{ do: 'posterize', bits: roundEven(bits) }]),
  unsigned(255, 0, threshold => [{ do: 'solarize', threshold }]),
  plain({ do: 'autocontrast' }),
  plain({ do: 'equalize' }),
]

function shear(by: [number, number], { size, filter, fill }: How): Step[] {
  const centre: [number, number] = [-size.width / 2, -size.height / 2]
  return [affineStep({ ...unmoved, shear: by, centre }, size, filter, fill)]
}

function translate(by: [number, number], { size, filter, fill }: How): Step[] {
  return [affineStep({ ...unmoved, translate: by }, size, filter, fill)]
}

export const trivialAugment: Chooser<'trivialAugment'> = ({ bins, filter }, size, random) => {
  const { from, to, signed, steps } = space[random.int(space.length)]
  const strength = from + ((to - from) * random.int(bins)) / (bins - 1)
  const sign = signed && random.next() < 0.5 ? -1 : 1
  // Without a fill, what comes from outside is zero (and the filter blends towards it).
  return steps(sign * strength, { size, filter, fill: [] })
}
