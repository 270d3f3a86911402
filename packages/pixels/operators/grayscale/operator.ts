import { withDefault } from '../../../core/basics/shape.js'
import { colorStep } from '../color-kernel.js'
import { operator, withChance } from '../operator.js'
import { probability } from '../parameters.js'

type GrayscaleStep = {
  do: 'grayscale'
}

export const grayscale = operator({
  says: 'grey, still with three channels, with probability p',
  about: 'grey, still three channels',
  example: { grayscale: 1 },
  stage: 'pixels',
  colors: true,
  main: 'p',
  keys: { p: withDefault(probability, 1) },
  torchvision: { RandomGrayscale: { parameters: { p: 'p' } } },
  steps: [
    colorStep<GrayscaleStep>(
      'grayscale',
      10,
      () => [],
      (color, _, pixels) => color.grayscale(...pixels),
    ),
  ],
  choose: withChance((): GrayscaleStep => ({ do: 'grayscale' })),
})
