/** The changes of which colour jitter consists, each by a factor; and channels in another order. */
import { colorStep } from '../color-kernel.js'
import { tableStep, toByte } from '../table-step.js'

export interface FactorStep<N extends 'brightness' | 'contrast' | 'saturation' | 'hue'> {
  do: N
  factor: number
}

/** Channel c becomes what channel order[c] was. */
export interface PermuteStep {
  do: 'permute'
  order: readonly number[]
}

const f32 = Math.fround

export const brightness = tableStep<FactorStep<'brightness'>>('brightness', 5, {
  numbers: ({ factor }) => [factor],
  value:
    ([factor]) =>
    x =>
      toByte(f32(x * f32(factor))),
})

/** Blends with the mean luminance of the whole picture. */
export const contrast = tableStep<FactorStep<'contrast'>>('contrast', 6, {
  numbers: ({ factor }) => [factor, 1 - factor],
  looksAt: 'mean',
  value([factor, rest], mean) {
    const gray = f32(mean) * f32(rest) // exact in a double: torch fuses this product with the sum
    return x => toByte(f32(f32(x * f32(factor)) + gray))
  },
})

export const saturation = colorStep<FactorStep<'saturation'>>(
  'saturation',
  7,
  ({ factor }) => [{ f32: factor }, { f32: 1 - factor }],
  (color, { factor }, pixels) => color.saturation(...pixels, factor, 1 - factor),
)

/** Turns the hue; the kernels count in sixths of the circle. */
export const hue = colorStep<FactorStep<'hue'>>(
  'hue',
  8,
  ({ factor }) => [{ f32: factor * 6 }],
  (color, { factor }, pixels) => color.hue(...pixels, factor * 6),
)

export const permute = colorStep<PermuteStep>(
  'permute',
  18,
  ({ order }) => order,
  (color, { order: [first, second, third] }, pixels) => color.permute(...pixels, first, second, third),
)
