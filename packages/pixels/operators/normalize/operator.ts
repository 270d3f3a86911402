import { operator } from '../operator.js'
import { channels, STATISTICS, spread } from '../parameters.js'
import { step } from '../step.js'

/** Of values scaled to 0…1. It is no work of its own: the tables by which bytes become values have it. */
type NormalizeStep = {
  do: 'normalize'
  mean: readonly number[]
  std: readonly number[]
}

export const normalize = operator({
  says: 'values scaled to 0…1, less the mean, by the standard deviation',
  about:
    'values scaled to 0…1, less the mean, by the standard deviation; f32 unless `dtype` says f16, bf16 or f64',
  example: { normalize: 'imagenet' },
  stage: 'values',
  colors: true,
  presets: STATISTICS,
  keys: { mean: channels, std: spread },
  torchvision: { Normalize: undefined },
  steps: [step<NormalizeStep>({ do: 'normalize' })],
  check: ({ mean }) =>
    mean.some(one => one > 1)
      ? `a mean of ${Math.max(...mean)} is one of bytes, but values are scaled to 0…1 first: divide mean and std by 255`
      : undefined,
  choose: ({ mean, std }): NormalizeStep[] => [{ do: 'normalize', mean, std }],
})
