import { either, interval, isText, oneOf, withDefault } from '../../../core/basics/shape.js'
import { operator, roundEven } from '../operator.js'
import { channels, positive, probability, sometimes } from '../parameters.js'
import { type EraseStep, eraseSteps } from './step.js'

const TRIES = 10 // after as many torchvision leaves the picture as it is

export const randomErasing = operator({
  says: 'a random rectangle overwritten',
  about: 'a random rectangle overwritten, in units of the finished row',
  example: { randomErasing: { p: 1, value: 'random' } },
  stage: 'final',
  colors: true,
  main: 'p',
  defaults: { value: ' 0 or "random"' },
  keys: {
    ...sometimes,
    scale: withDefault(interval(probability, 'areas [low, high] from 0 to 1'), [0.02, 0.33]),
    ratio: withDefault(interval(positive, 'height by width, [low, high]'), [0.3, 3.3]),
    value: withDefault(either(isText, oneOf(['random'], 'value'), channels), [0, 0, 0]),
  },
  torchvision: { RandomErasing: undefined },
  steps: [eraseSteps],
  /**
   * A rectangle of random area and aspect (here h/w) that is smaller than the picture in both directions. Its
   * value counts in the units of the finished row: after normalize, if there is one.
   */
  choose({ p, scale, ratio, value }, size, random): EraseStep[] {
    if (random.next() >= p) return []
    const area = size.width * size.height
    for (let i = 0; i < TRIES; i++) {
      const wanted = area * random.uniform(scale[0], scale[1])
      const aspect = Math.exp(random.uniform(Math.log(ratio[0]), Math.log(ratio[1])))
      const height = roundEven(Math.sqrt(wanted * aspect))
      const width = roundEven(Math.sqrt(wanted / aspect))
      if (height >= size.height || width >= size.width) continue
      const y = random.int(size.height - height + 1)
      const x = random.int(size.width - width + 1)
      return [{ do: 'erase', x, y, width, height, value, seed: random.bits() }]
    }
    return []
  },
})
