import { operator, withChance } from '../operator.js'
import { sometimes } from '../parameters.js'
import { tableStep, toByte } from '../table-step.js'

type AutocontrastStep = {
  do: 'autocontrast'
}

const f32 = Math.fround

export const autocontrast = operator({
  says: 'each channel stretched to 0…255',
  example: { autocontrast: 1 },
  stage: 'pixels',
  colors: true,
  main: 'p',
  keys: sometimes,
  torchvision: { RandomAutocontrast: { parameters: { p: 'p' } } },
  steps: [
    tableStep<AutocontrastStep>('autocontrast', 11, {
      looksAt: 'counts',
      // A single value stays.
      value(_, __, counts) {
        const low = counts.findIndex(count => count > 0)
        const high = counts.findLastIndex(count => count > 0)
        const unit = f32((high - low) * f32(1 / 255))
        return x => (low === high ? x : toByte(f32((x - low) / unit)))
      },
    }),
  ],
  choose: withChance((): AutocontrastStep => ({ do: 'autocontrast' })),
})
