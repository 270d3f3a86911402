/** TrivialAugment, RandAugment, AutoAugment and photometricDistort: torchvision's tables, and choices spread as there. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { operatorKey, Random } from '../../../../core/basics/random.js'
import { normalOps } from '../../../../core/define/operator.js'
import type { OpJson } from '../../../../core/define/types.js'
import { type Change, SPACES } from '../../../operators/augment/changes.js'
import { POLICIES } from '../../../operators/augment/policies.js'
import { chooseSteps, mostSteps } from '../../../operators/choose.js'
import type { Step } from '../../../operators/steps.js'

interface Golden {
  strengths: [
    space: keyof typeof SPACES,
    change: Change,
    bins: number,
    height: number,
    width: number,
    signed: number,
    at: number[],
  ][]
  policies: typeof POLICIES
}
const golden: Golden = JSON.parse(
  readFileSync(new URL('../../../../../test/golden/transforms/augment.json', import.meta.url), 'utf8'),
)
const size = { width: 48, height: 40 }

/** What `op` chooses at each of `count` positions. */
function choices(op: OpJson, count: number): Step[][] {
  const ops = normalOps([op], 'apply')
  return Array.from({ length: count }, (_, position) =>
    chooseSteps(ops, size, ({ name, ordinal }) =>
      new Random().key(1, 0, position, operatorKey('image', name, ordinal)),
    ),
  )
}

/** Five standard deviations of a count of chances `p` in `n`. */
const within = (n: number, p: number): number => 5 * Math.sqrt(n * p * (1 - p)) + 1

describe('tables', () => {
  it('have the changes of torchvision, in its order', () => {
    const named = (space: string) => [
      ...new Set(golden.strengths.filter(([of]) => of === space).map(([, change]) => change)),
    ]
    expect(Object.keys(SPACES.wide)).toEqual(named('wide'))
    expect(Object.keys(SPACES.narrow)).toEqual(named('narrow'))
    expect(Object.keys(SPACES.policy).sort()).toEqual(['identity', ...named('policy')].sort())
  })

  it('have strengths of the same bits', () => {
    for (const [space, change, bins, height, width, signed, at] of golden.strengths) {
      const strength = SPACES[space][change]!
      expect(strength.signed).toBe(signed === 1)
      const ours = at.map((_, i) => strength.at(i, bins, { width, height }))
      expect(ours, `${space} ${change} ${bins} ${width}×${height}`).toEqual(at)
    }
  })

  it('have the same policies', () => expect(POLICIES).toEqual(golden.policies))
})

describe('randAugment', () => {
  it('takes each of fourteen changes equally often, each sign of half of them', () => {
    const N = 7000
    const counts = new Map<string, number>()
    let brighter = 0
    for (const steps of choices({ randAugment: { ops: 1 } }, N)) {
      const name = steps[0]?.do ?? 'nothing'
      counts.set(name, (counts.get(name) ?? 0) + 1)
      if (steps[0]?.do === 'brightness') brighter += steps[0].factor > 1 ? 1 : 0
    }
    for (const name of [
      ...['nothing', 'brightness', 'saturation', 'contrast', 'sharpness'],
      ...['posterize', 'solarize', 'autocontrast', 'equalize'],
    ])
      expect(Math.abs(counts.get(name)! - N / 14), name).toBeLessThan(within(N, 1 / 14))
    expect(Math.abs(counts.get('affine')! - (5 * N) / 14)).toBeLessThan(within(N, 5 / 14))
    const bright = counts.get('brightness')!
    expect(Math.abs(brighter - bright / 2)).toBeLessThan(within(bright, 0.5))
  })

  it('has one strength, given by magnitude and bins', () => {
    const found = choices({ randAugment: { ops: 3, magnitude: 5, bins: 11 } }, 300).flat()
    const factors = found.flatMap(step => (step.do === 'contrast' ? [step.factor] : []))
    expect(new Set(factors.map(factor => Math.fround(Math.abs(factor - 1))))).toEqual(
      new Set([Math.fround(0.45)]),
    )
    const bits = found.flatMap(step => (step.do === 'posterize' ? [step.bits] : []))
    expect(new Set(bits)).toEqual(new Set([6]))
  })

  it('makes as many changes as were asked for', () => {
    expect(choices({ randAugment: { ops: 0 } }, 20).flat()).toEqual([])
    const longest = Math.max(...choices({ randAugment: { ops: 5 } }, 200).map(steps => steps.length))
    expect(longest).toBe(5)
    expect(mostSteps(normalOps([{ randAugment: { ops: 5 } }], ''))).toBe(5)
  })

  it('has a magnitude below its bins', () => {
    expect(() => normalOps([{ randAugment: { magnitude: 31 } }], 'apply')).toThrow(/magnitude is below bins/)
  })
})

describe('autoAugment', () => {
  it('takes each pair equally often, and each change with its probability', () => {
    const N = 10000
    const found = choices({ autoAugment: 'imagenet' }, N)
    const share = (change: Change, steps: (all: Step[]) => number): void => {
      const pairs = POLICIES.imagenet.flat().filter(([name]) => name === change)
      const mean = (N * pairs.reduce((sum, [, p]) => sum + p, 0)) / POLICIES.imagenet.length
      const count = found.reduce((sum, all) => sum + steps(all), 0)
      expect(Math.abs(count - mean), change).toBeLessThan(5 * Math.sqrt(2 * mean))
    }
    const of = (kind: Step['do']) => (all: Step[]) => all.filter(step => step.do === kind).length
    share('equalize', of('equalize'))
    share('posterize', of('posterize'))
    share('solarize', of('solarize'))
    share('invert', of('invert'))
    share('contrast', of('contrast'))
    expect(Math.max(...found.map(steps => steps.length))).toBe(2)
  })

  it('knows three policies', () => {
    for (const policy of ['imagenet', 'cifar10', 'svhn'])
      expect(choices({ autoAugment: policy as never }, 50).flat().length).toBeGreaterThan(20)
    expect(() => normalOps([{ autoAugment: 'image-net' }], 'apply')).toThrow(/imagenet/)
  })
})

describe('photometricDistort', () => {
  it('makes each change with p, contrast before or after, and each order of channels equally often', () => {
    const N = 12000
    const found = choices({ photometricDistort: { p: 0.3, hue: [-0.1, 0.2] } }, N)
    const counts = new Map<string, number>()
    const note = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
    for (const steps of found) {
      for (const step of steps) {
        note(step.do)
        if (step.do === 'permute') note(step.order.join(''))
        if (step.do === 'hue') expect(step.factor >= -0.1 && step.factor < 0.2).toBe(true)
      }
      const kinds = steps.map(step => step.do)
      expect(kinds.indexOf('permute') === -1 || kinds.at(-1) === 'permute').toBe(true)
      if (kinds.includes('contrast') && kinds.includes('hue'))
        note(kinds.indexOf('contrast') < kinds.indexOf('hue') ? 'before' : 'after')
    }
    for (const kind of ['brightness', 'contrast', 'saturation', 'hue', 'permute'])
      expect(Math.abs(counts.get(kind)! - 0.3 * N), kind).toBeLessThan(within(N, 0.3))
    for (const order of ['012', '021', '102', '120', '201', '210'])
      expect(Math.abs(counts.get(order)! - 0.05 * N), order).toBeLessThan(within(N, 0.05))
    expect(Math.abs(counts.get('before')! - 0.045 * N)).toBeLessThan(within(N, 0.045))
    expect(Math.abs(counts.get('after')! - 0.045 * N)).toBeLessThan(within(N, 0.045))
  })
})
