/**
 * The changes of which TrivialAugment, RandAugment and AutoAugment choose, each at one of some strengths. Strengths are
 * float32, as torchvision's tables have them: a threshold or a shift that is rounded falls on the same side.
 */
import { rotateSteps } from '../affine/operator.js'
import { affineStep, unmoved } from '../affine/step.js'
import { roundEven } from '../operator.js'
import type { AnyStep, Filter, Size } from '../step.js'

const DEGREE = Math.PI / 180
const f32 = Math.fround

interface How {
  size: Size
  filter: Filter
  fill: number[]
}

/** What each change does at a strength. Shears keep the upper left corner in its place; their strength is a slope. */
const CHANGES = {
  identity: () => [],
  shearX: (slope, how) => shear([Math.atan(slope) / DEGREE, 0], how),
  shearY: (slope, how) => shear([0, Math.atan(slope) / DEGREE], how),
  translateX: (pixels, how) => translate([Math.trunc(pixels), 0], how),
  translateY: (pixels, how) => translate([0, Math.trunc(pixels)], how),
  rotate: (angle, how) => rotateSteps(angle, how.size, how.filter, how.fill),
  brightness: strength => [{ do: 'brightness', factor: 1 + strength }],
  color: strength => [{ do: 'saturation', factor: 1 + strength }],
  contrast: strength => [{ do: 'contrast', factor: 1 + strength }],
  sharpness: strength => [{ do: 'sharpness', factor: 1 + strength }],
  posterize: bits => [{ do: 'posterize', bits }],
  solarize: share => [{ do: 'solarize', threshold: f32(255 * share) }],
  autocontrast: () => [{ do: 'autocontrast' }],
  equalize: () => [{ do: 'equalize' }],
  invert: () => [{ do: 'invert' }],
} satisfies Record<string, (strength: number, how: How) => AnyStep[]>

export type Change = keyof typeof CHANGES

/** The strengths of a change, at bin `i` of `bins`. */
interface Strength {
  at(i: number, bins: number, size: Size): number
  /** Whether a coin chooses its sign. */
  signed: boolean
}

/** As torch.linspace has it: from both ends to the middle, each value rounded once. */
function spaced(from: number, to: number, i: number, bins: number): number {
  const step = f32((f32(to) - f32(from)) / (bins - 1))
  return i < bins >> 1 ? f32(f32(from) + step * i) : f32(f32(to) - step * (bins - 1 - i))
}

const signed = (to: number): Strength => ({ at: (i, bins) => spaced(0, to, i, bins), signed: true })
const none: Strength = { at: () => 0, signed: false }
/** Bits that are kept: from 8 down, by `fewer` at most. */
const bits = (fewer: number): Strength => ({
  at: (i, bins) => roundEven(f32(8 - f32(i / f32((bins - 1) / fewer)))),
  signed: false,
})
const threshold: Strength = { at: (i, bins) => spaced(1, 0, i, bins), signed: false }
/** A share of the picture's side. */
const shift = (side: keyof Size): Strength => ({
  at: (i, bins, size) => spaced(0, (150 / 331) * size[side], i, bins),
  signed: true,
})

type Space = Readonly<Partial<Record<Change, Strength>>>

const shared = { posterize: bits(4), solarize: threshold, autocontrast: none, equalize: none }

/** In torchvision's order. */
const WIDE: Space = {
  identity: none,
  shearX: signed(0.99),
  shearY: signed(0.99),
  translateX: signed(32),
  translateY: signed(32),
  rotate: signed(135),
  brightness: signed(0.99),
  color: signed(0.99),
  contrast: signed(0.99),
  sharpness: signed(0.99),
  ...shared,
  posterize: bits(6),
}

const NARROW: Space = {
  identity: none,
  shearX: signed(0.3),
  shearY: signed(0.3),
  translateX: shift('width'),
  translateY: shift('height'),
  rotate: signed(30),
  brightness: signed(0.9),
  color: signed(0.9),
  contrast: signed(0.9),
  sharpness: signed(0.9),
  ...shared,
}

/** Of TrivialAugment, of RandAugment, and of AutoAugment's policies, which name their changes. */
export const SPACES = { wide: WIDE, narrow: NARROW, policy: { ...NARROW, invert: none } as Space }

function shear(by: [number, number], { size, filter, fill }: How): AnyStep[] {
  const centre: [number, number] = [-size.width / 2, -size.height / 2]
  return [affineStep({ ...unmoved, shear: by, centre }, size, filter, fill)]
}

function translate(by: [number, number], { size, filter, fill }: How): AnyStep[] {
  return [affineStep({ ...unmoved, translate: by }, size, filter, fill)]
}

/** The steps of one change at bin `i`. Without a fill, what comes from outside is zero, and the filter blends towards it. */
export function changeAt(
  space: Space,
  change: Change,
  i: number,
  bins: number,
  how: { size: Size; filter: Filter; fill: number[] | null },
  coin: () => number,
): AnyStep[] {
  const { at, signed } = space[change]!
  const strength = at(i, bins, how.size)
  const sign = signed && coin() < 0.5 ? -1 : 1
  return CHANGES[change](sign * strength, { ...how, fill: how.fill ?? [] })
}
