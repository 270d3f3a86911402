/** Choices about values: jitter of colours, blur, sharpness, and everything that happens with a chance. */
import type { Random } from '../../define/random.js'
import type { NormalOp } from '../../define/types.js'
import type { ColorStep, Step } from '../steps.js'
import type { Chooser } from './chooser.js'
import { missing, number, numbers, pair } from './params.js'

type Params = NormalOp['params']

/** An operator that does one thing with probability `p`. */
export function withChance(step: (params: Params) => Step): Chooser {
  return (params, _, random) => (random.next() < number(params, 'p') ? [step(params)] : [])
}

export const sharpness = (params: Params): ColorStep => ({
  do: 'sharpness',
  factor: number(params, 'factor'),
})

const jitters = ['brightness', 'contrast', 'saturation', 'hue'] as const

/** Up to four changes in random order, each by a uniform factor. */
export const colorJitter: Chooser = (params, _, random) => {
  const order = shuffled(jitters, random)
  const factors = new Map<string, number>()
  for (const name of jitters) {
    const range = jitterRange(params, name)
    if (range !== undefined) factors.set(name, random.uniform(range[0], range[1]))
  }
  const steps: ColorStep[] = []
  for (const name of order) {
    const factor = factors.get(name)
    if (factor !== undefined) steps.push({ do: name, factor })
  }
  return steps
}

/** A number v is 1 - v … 1 + v (hue: -v … v); a range stays as it is; one that changes nothing is left out. */
function jitterRange(params: Params, name: (typeof jitters)[number]): readonly number[] | undefined {
  if (missing(params, name)) return undefined
  const neutral = name === 'hue' ? 0 : 1
  const value = params[name]
  const range =
    typeof value === 'number'
      ? [name === 'hue' ? -value : Math.max(0, 1 - value), neutral + value]
      : numbers(params, name)
  return range[0] === neutral && range[1] === neutral ? undefined : range
}

/** A copy in random order, all orders being equally likely (Fisher and Yates). */
function shuffled<T>(items: readonly T[], random: Random): T[] {
  const copy = [...items]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = random.int(i + 1)
    ;[copy[i], copy[j]] = [copy[j], copy[i]]
  }
  return copy
}

/** `kernel` is [x, y] or one number for both; `sigma` a range or a fixed number. */
export const gaussianBlur: Chooser = (params, _, random) => {
  const [kernelX, kernelY] = pair(params, 'kernel')
  const sigma = random.uniform(...pair(params, 'sigma'))
  return [{ do: 'blur', kernelX, kernelY, sigmaX: sigma, sigmaY: sigma }]
}
