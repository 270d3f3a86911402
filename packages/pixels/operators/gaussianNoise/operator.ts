import { mix32 } from '../../../core/basics/random.js'
import { WEYL } from '../../../core/basics/random-words.js'
import { number, withDefault } from '../../../core/basics/shape.js'
import { operator } from '../operator.js'
import { probability } from '../parameters.js'
import { tableStep } from '../table-step.js'

type NoiseStep = {
  do: 'gaussianNoise'
  /** In levels of 255. */
  mean: number
  sigma: number
  /** Of 24 bits, which float32 holds. */
  seed: number
}

/** Words of random bits for a byte. The sum of their halves, twelve numbers from 0 to 65,535, is nearly normal. */
const WORDS = 6
const HALF_OF_SUM = (2 * WORDS * 65535) / 2
/** What the standard deviation of that sum is, but for a part in 10⁹. */
const DEVIATION = 65536

/** The sum for a byte of the picture, less its mean: whole, so that it is the same on the GPU. */
function noise(seed: number, place: number): number {
  let sum = 0
  for (let i = 0; i < WORDS; i++) {
    const bits = mix32((seed + Math.imul(place * WORDS + i, WEYL)) >>> 0)
    sum += (bits & 0xffff) + (bits >>> 16)
  }
  return sum - HALF_OF_SUM
}

export const gaussianNoise = operator({
  says: 'normal noise added to every byte',
  about: 'normal noise added to every byte, in shares of 255; what leaves 0…255 is cut',
  example: { gaussianNoise: { sigma: 0.05, p: 1 } },
  stage: 'pixels',
  colors: true,
  main: 'sigma',
  keys: {
    sigma: withDefault(number({ min: 0, max: 1 }), 0.1),
    mean: withDefault(number({ min: -1, max: 1 }), 0),
    p: withDefault(probability, 1),
  },
  python: { sigma: 'float', mean: 'float' },
  torchvision: { GaussianNoise: { parameters: { sigma: 'sigma', mean: 'mean' }, needs: { clip: true } } },
  steps: [
    tableStep<NoiseStep>('gaussianNoise', 21, {
      looksAt: 'place',
      numbers: ({ seed, sigma, mean }) => [seed, Math.fround(sigma / DEVIATION), Math.fround(mean)],
      // Rounded towards zero before it is added, as torchvision's.
      value:
        ([seed, scale, mean]) =>
        (x, place) => {
          const added = Math.fround(Math.fround(noise(seed, place) * scale) + mean)
          return Math.min(255, Math.max(0, x + Math.trunc(added)))
        },
    }),
  ],
  choose({ sigma, mean, p }, _, random): NoiseStep[] {
    if (random.next() >= p) return []
    return [{ do: 'gaussianNoise', mean: mean * 255, sigma: sigma * 255, seed: random.bits() >>> 8 }]
  },
})
