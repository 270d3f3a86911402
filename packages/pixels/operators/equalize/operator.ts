import { operator, withChance } from '../operator.js'
import { sometimes } from '../parameters.js'
import { tableStep } from '../table-step.js'

type EqualizeStep = {
  do: 'equalize'
}

export const equalize = operator({
  says: 'histogram of each channel made even',
  example: { equalize: 1 },
  stage: 'pixels',
  colors: true,
  main: 'p',
  keys: sometimes,
  torchvision: { RandomEqualize: { parameters: { p: 'p' } } },
  steps: [
    tableStep<EqualizeStep>('equalize', 12, {
      looksAt: 'counts',
      // By Pillow's scheme: the highest value that occurs does not count.
      value(_, __, counts) {
        const total = counts.reduce((sum, count) => sum + count, 0)
        const last = counts.findLastIndex(count => count > 0)
        const step = Math.floor((total - counts[last]) / 255)
        let below = 0 // how many values are smaller: bytes are asked for in their order
        return x => {
          const byte = step === 0 ? x : Math.min(255, Math.floor((below + (step >> 1)) / step))
          below += counts[x]
          return byte
        }
      },
    }),
  ],
  choose: withChance((): EqualizeStep => ({ do: 'equalize' })),
})
