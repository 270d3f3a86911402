import { number } from '../../../core/basics/shape.js'
import { operator, withChance } from '../operator.js'
import { sometimes } from '../parameters.js'
import { tableStep } from '../table-step.js'

type SolarizeStep = {
  do: 'solarize'
  threshold: number
}

export const solarize = operator({
  says: 'values from the threshold on inverted',
  example: { solarize: { threshold: 100, p: 1 } },
  stage: 'pixels',
  colors: true,
  main: 'threshold',
  keys: { threshold: number({ min: 0, max: 256 }), ...sometimes },
  torchvision: { RandomSolarize: { parameters: { threshold: 'threshold', p: 'p' }, bytes: ['threshold'] } },
  steps: [
    tableStep<SolarizeStep>('solarize', 15, {
      // Bytes are whole: the same ones reach the next whole number, which is the same in float32.
      numbers: ({ threshold }) => [Math.ceil(threshold)],
      value:
        ([threshold]) =>
        x =>
          x >= threshold ? 255 - x : x,
    }),
  ],
  choose: withChance(({ threshold }): SolarizeStep => ({ do: 'solarize', threshold })),
})
