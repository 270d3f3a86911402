/** Brightness, contrast, saturation and hue at random: `colorJitter` always, `photometricDistort` each with a probability. */
import type { Random } from '../../../core/basics/random.js'
import { interval, number, withDefault } from '../../../core/basics/shape.js'
import { operator } from '../operator.js'
import { hueJitter, jitter, sometimes } from '../parameters.js'
import { brightness, contrast, type FactorStep, hue, type PermuteStep, permute, saturation } from './steps.js'

const jitters = ['brightness', 'contrast', 'saturation', 'hue'] as const
type JitterStep = FactorStep<(typeof jitters)[number]>

const factors = interval(number({ min: 0 }), 'factors [low, high]')
const attributes = { brightness: 'brightness', contrast: 'contrast', saturation: 'saturation', hue: 'hue' }

export const colorJitter = operator({
  says: 'brightness, contrast, saturation and hue changed at random, in random order',
  about: 'changed at random, in random order',
  example: { colorJitter: { brightness: 0.6, contrast: 0.6, saturation: 0.9, hue: 0.5 } },
  stage: 'pixels',
  colors: true,
  keys: {
    brightness: withDefault(jitter, null),
    contrast: withDefault(jitter, null),
    saturation: withDefault(jitter, null),
    hue: withDefault(hueJitter, null),
  },
  torchvision: { ColorJitter: { parameters: attributes } },
  steps: [brightness, contrast, saturation, hue],
  most: 4,
  /** Up to four changes in random order, each by a uniform factor. A range of null is left out. */
  choose(params, _, random) {
    const order = shuffled([0, 1, 2, 3], random)
    const steps = jitters.map((name): JitterStep | undefined => {
      const range = params[name]
      return range === null ? undefined : { do: name, factor: random.uniform(range[0], range[1]) }
    })
    return order.map(i => steps[i]).filter(step => step !== undefined)
  },
})

export const photometricDistort = operator({
  says: 'brightness, contrast, saturation, hue and order of channels changed, each with probability p',
  about: 'each changed, and channels exchanged, with probability p',
  example: { photometricDistort: { p: 0.8 } },
  stage: 'pixels',
  colors: true,
  main: 'p',
  keys: {
    ...sometimes,
    brightness: withDefault(factors, [0.875, 1.125]),
    contrast: withDefault(factors, [0.5, 1.5]),
    saturation: withDefault(factors, [0.5, 1.5]),
    hue: withDefault(
      interval(number({ min: -0.5, max: 0.5 }), 'turns [low, high] from -0.5 to 0.5'),
      [-0.05, 0.05],
    ),
  },
  torchvision: { RandomPhotometricDistort: { parameters: { p: 'p', ...attributes } } },
  steps: [permute],
  most: 5,
  /** Contrast comes first or last, but for the channels, which may change places at the end. */
  choose(params, _, random) {
    const sometimes = (name: (typeof jitters)[number]): JitterStep[] => {
      const [low, high] = params[name]
      return random.next() < params.p ? [{ do: name, factor: random.uniform(low, high) }] : []
    }
    const [brightness, contrast, saturation, hue] = jitters.map(sometimes)
    const early = random.next() < 0.5
    const order: PermuteStep[] =
      random.next() < params.p ? [{ do: 'permute', order: shuffled([0, 1, 2], random) }] : []
    return early
      ? [...brightness, ...contrast, ...saturation, ...hue, ...order]
      : [...brightness, ...saturation, ...hue, ...contrast, ...order]
  },
})

/** In random order, all orders being equally likely (Fisher and Yates). */
function shuffled<T>(items: T[], random: Random): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = random.int(i + 1)
    ;[items[i], items[j]] = [items[j], items[i]]
  }
  return items
}
