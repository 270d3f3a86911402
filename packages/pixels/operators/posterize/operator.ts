import { integer } from '../../../core/basics/shape.js'
import { operator, withChance } from '../operator.js'
import { sometimes } from '../parameters.js'
import { tableStep } from '../table-step.js'

type PosterizeStep = {
  do: 'posterize'
  bits: number
}

export const posterize = operator({
  says: 'fewer bits a channel',
  example: { posterize: { bits: 3, p: 1 } },
  stage: 'pixels',
  colors: true,
  main: 'bits',
  keys: { bits: integer({ min: 0, max: 8 }), ...sometimes },
  torchvision: { RandomPosterize: { parameters: { bits: 'bits', p: 'p' } } },
  steps: [
    tableStep<PosterizeStep>('posterize', 14, {
      numbers: ({ bits }) => [bits],
      whole: true,
      value: ([bits]) => {
        const mask = 0xff & ~(0xff >> bits)
        return x => x & mask
      },
    }),
  ],
  choose: withChance(({ bits }): PosterizeStep => ({ do: 'posterize', bits })),
})
