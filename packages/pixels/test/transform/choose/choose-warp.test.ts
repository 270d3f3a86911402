/** Choices of perspective and elastic transforms. */
import { describe, expect, it } from 'vitest'
import { operatorKey, Random } from '../../../../core/basics/random.js'
import { normalOps } from '../../../../core/define/operator.js'
import type { OpJson } from '../../../../core/define/types.js'
import { chooseSteps } from '../../../operators/choose.js'
import { noiseAt, noiseKey } from '../../../operators/elastic/step.js'
import { perspectiveTo } from '../../../operators/perspective/operator.js'
import type { Step } from '../../../operators/steps.js'
import { factsOf } from '../../../operators/steps.js'

const size = { width: 21, height: 12 }

function choices(op: OpJson, count: number, of = size): Step[][] {
  const ops = normalOps([op], 'apply')
  return Array.from({ length: count }, (_, position) =>
    chooseSteps(ops, of, ({ name, ordinal }) =>
      new Random().key(1, 0, position, operatorKey('image', name, ordinal)),
    ),
  )
}

describe('perspective', () => {
  it('moves each corner to each of its places equally often', () => {
    // Half of 21 × 12 is 10 × 6; of that 0.3 are 3 × 1, so corners move by 0 to 3 and 0 to 1 pixels.
    const N = 4000
    let error = 0
    const places = [new Map<string, number>(), new Map<string, number>()]
    for (const [step] of choices({ perspective: { distortion: 0.3, p: 1 } }, N)) {
      const move = factsOf(step).motion!(step, size, 'point')
      for (const [i, corner] of [move(0, 0), move(20, 11)].entries()) {
        const key = corner.map(value => Math.round(value)).join()
        for (const value of corner) error = Math.max(error, Math.abs(value - Math.round(value)))
        places[i].set(key, (places[i].get(key) ?? 0) + 1)
      }
    }
    expect(error).toBeLessThan(0.01)
    const near = [0, 1, 2, 3].flatMap(x => [0, 1].map(y => `${x},${y}`))
    const far = [20, 19, 18, 17].flatMap(x => [11, 10].map(y => `${x},${y}`))
    expect([...places[0].keys()].sort()).toEqual(near.sort())
    expect([...places[1].keys()].sort()).toEqual(far.sort())
    for (const counts of places)
      for (const count of counts.values())
        expect(Math.abs(count - N / 8)).toBeLessThan(5 * Math.sqrt((N / 8) * (7 / 8)))
  })

  it('happens with p', () => {
    const times = choices({ perspective: { p: 0.3 } }, 2000).flat().length
    expect(Math.abs(times - 600)).toBeLessThan(5 * Math.sqrt(2000 * 0.3 * 0.7))
  })

  it('leaves a picture of one line as it is', () => {
    expect(choices({ perspective: { p: 1 } }, 5, { width: 1, height: 9 }).flat()).toEqual([])
    expect(
      perspectiveTo(
        Array.from({ length: 4 }, () => [3, 3] as const),
        size,
      ),
    ).toBeUndefined()
  })
})

describe('elastic', () => {
  it('has noise that is uniform, and of its own for each axis, seed and place', () => {
    const N = 20000
    const values = Array.from({ length: N }, (_, place) => noiseAt(noiseKey(5, 'x'), place))
    const others = Array.from({ length: N }, (_, place) => noiseAt(noiseKey(5, 'y'), place))
    const mean = (list: number[]) => list.reduce((a, b) => a + b) / list.length
    expect(Math.abs(mean(values))).toBeLessThan((5 * 0.577) / Math.sqrt(N))
    expect(Math.abs(mean(values.map(v => v * v)) - 1 / 3)).toBeLessThan((5 * 0.298) / Math.sqrt(N))
    // Neither axes nor neighbours have to do with each other.
    expect(Math.abs(mean(values.map((v, i) => v * others[i])))).toBeLessThan((5 / 3) * Math.sqrt(1 / N))
    expect(Math.abs(mean(values.map((v, i) => v * values[(i + 1) % N])))).toBeLessThan(
      (5 / 3) * Math.sqrt(1 / N),
    )
    expect(Math.min(...values)).toBeGreaterThanOrEqual(-1)
    expect(Math.max(...values)).toBeLessThan(1)
  })

  it('takes another seed at every position', () => {
    const seeds = choices({ elastic: {} }, 100).map(([step]) => step.do === 'elastic' && step.seed)
    expect(new Set(seeds).size).toBe(100)
  })

  it('blurs along both axes or along none', () => {
    expect(() => normalOps([{ elastic: { sigma: [3, 0] } }], 'apply')).toThrow(/both sigmas are 0/)
    expect(() => normalOps([{ elastic: { sigma: 40 } }], 'apply')).toThrow(/31\.8/)
  })
})
