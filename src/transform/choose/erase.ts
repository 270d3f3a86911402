/** Which rectangle is erased. */
import type { Chooser } from './chooser.js'
import { number, numbers, pair, roundEven } from './params.js'

const TRIES = 10 // after as many torchvision leaves the picture as it is

/**
 * A rectangle of random area and aspect (here h/w) that is smaller than the picture in both directions. Its
 * value counts in the units of the finished row: after normalize, if there is one.
 */
export const randomErasing: Chooser = (params, size, random) => {
  if (random.next() >= number(params, 'p')) return []
  const [scale, ratio] = [pair(params, 'scale'), pair(params, 'ratio')]
  const area = size.width * size.height
  for (let i = 0; i < TRIES; i++) {
    const wanted = area * random.uniform(scale[0], scale[1])
    const aspect = Math.exp(random.uniform(Math.log(ratio[0]), Math.log(ratio[1])))
    const height = roundEven(Math.sqrt(wanted * aspect))
    const width = roundEven(Math.sqrt(wanted / aspect))
    if (height >= size.height || width >= size.width) continue
    const y = random.int(size.height - height + 1)
    const x = random.int(size.width - width + 1)
    const value = params.value === 'random' ? 'random' : numbers(params, 'value')
    return [{ do: 'erase', x, y, width, height, value, seed: random.bits() }]
  }
  return []
}
