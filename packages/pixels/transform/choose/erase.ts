/** Which rectangle is erased. */
import { type Chooser, roundEven } from './chooser.js'

const TRIES = 10 // after as many torchvision leaves the picture as it is

/**
 * A rectangle of random area and aspect (here h/w) that is smaller than the picture in both directions. Its
 * value counts in the units of the finished row: after normalize, if there is one.
 */
export const randomErasing: Chooser<'randomErasing'> = ({ p, scale, ratio, value }, size, random) => {
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
}
