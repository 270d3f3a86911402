import { operator, withChance } from '../operator.js'
import { sometimes } from '../parameters.js'
import { tableStep } from '../table-step.js'

type InvertStep = {
  do: 'invert'
}

export const invert = operator({
  says: 'negative',
  example: { invert: 1 },
  stage: 'pixels',
  colors: true,
  main: 'p',
  keys: sometimes,
  torchvision: { RandomInvert: { parameters: { p: 'p' } } },
  steps: [tableStep<InvertStep>('invert', 13, { value: () => x => 255 - x })],
  choose: withChance((): InvertStep => ({ do: 'invert' })),
})
