/** Choices about colours: jitter and blur. */
import type { Random } from '../../../core/basics/random.js'
import type { ColorStep } from '../steps.js'
import type { Chooser } from './chooser.js'

const jitters = ['brightness', 'contrast', 'saturation', 'hue'] as const

/** Up to four changes in random order, each by a uniform factor. A range of null is left out. */
export const colorJitter: Chooser<'colorJitter'> = (params, _, random) => {
  const order = shuffled([0, 1, 2, 3], random)
  const steps = jitters.map((name): ColorStep | undefined => {
    const range = params[name]
    return range === null ? undefined : { do: name, factor: random.uniform(range[0], range[1]) }
  })
  return order.map(i => steps[i]).filter(step => step !== undefined)
}

/** Each change with probability p, contrast first or last but for the channels, which may change places at the end. */
export const photometricDistort: Chooser<'photometricDistort'> = (params, _, random) => {
  const sometimes = (name: (typeof jitters)[number]): ColorStep[] => {
    const [low, high] = params[name]
    return random.next() < params.p ? [{ do: name, factor: random.uniform(low, high) }] : []
  }
  const [brightness, contrast, saturation, hue] = jitters.map(sometimes)
  const early = random.next() < 0.5
  const order: ColorStep[] =
    random.next() < params.p ? [{ do: 'permute', order: shuffled([0, 1, 2], random) }] : []
  return early
    ? [...brightness, ...contrast, ...saturation, ...hue, ...order]
    : [...brightness, ...saturation, ...hue, ...contrast, ...order]
}

/** In random order, all orders being equally likely (Fisher and Yates). */
function shuffled<T>(items: T[], random: Random): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = random.int(i + 1)
    ;[items[i], items[j]] = [items[j], items[i]]
  }
  return items
}

export const gaussianBlur: Chooser<'gaussianBlur'> = ({ kernel, sigma: [low, high] }, _, random) => {
  const sigma = random.uniform(low, high)
  return [{ do: 'blur', kernelX: kernel[0], kernelY: kernel[1], sigmaX: sigma, sigmaY: sigma }]
}
