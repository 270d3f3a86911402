/** The measures say 0 of no shuffle, 1 of the global one, and the right thing in between. */
import { describe, expect, test } from 'vitest'
import type { NormalOrder } from '../../../core/define/types.js'
import { loadsPerUnit } from '../../../core/engine/plan/unit-price.js'
import { compileSource, planSource } from '../../../core/order/single.js'
import { orderQuality, type QualityOptions } from '../../cli/verbs/inspect/order-quality.js'

const count = 40_000
const runs = Float64Array.from({ length: 20 }, (_, i) => i * 2000)
/** Sorted by class, as an image folder is: 100 classes of 400. */
const label = (row: number) => Math.floor(row / 400)

function quality(order: NormalOrder, options: Partial<QualityOptions> = {}) {
  return orderQuality(compileSource(planSource(order, { count, runs })), count, {
    batch: 256,
    label,
    ...options,
  })
}

describe('the score', () => {
  test('is 1 for the global shuffle', () => {
    const { score, mixing, spread, entropy } = quality({ kind: 'global', seed: 4 })
    for (const part of [mixing, spread, entropy!]) expect(Math.abs(part - 1)).toBeLessThan(0.02)
    expect(score).toBeGreaterThan(0.98)
  })

  test('is about 0 for a source sorted by class and not shuffled', () => {
    const { score, mixing, spread, entropy } = quality({ kind: 'none' })
    expect(mixing).toBeLessThan(1e-3)
    expect(spread).toBeLessThan(0.02)
    expect(entropy).toBeLessThan(0.2)
    expect(score).toBeLessThan(0.1)
  })

  test('grows with the window', () => {
    const scores = [512, 2048, 8192, count].map(window => quality({ kind: 'window', window, seed: 4 }))
    for (let i = 1; i < scores.length; i++) expect(scores[i].score).toBeGreaterThan(scores[i - 1].score)
    expect(scores[1].entropy).toBeGreaterThan(0.9)
    expect(scores[3].score).toBeGreaterThan(0.98)
  })

  test('knows mixing of a window: neighbours are a third of a window apart', () => {
    const { mixing } = quality({ kind: 'window', window: 4000, seed: 4 })
    // One pair in 15 lies across two blocks, which are as far apart as in the global shuffle.
    expect(Math.abs(mixing - ((14 / 15) * (4000 / count) + 1 / 15))).toBeLessThan(0.01)
  })

  test('sees class balance as more entropy than the global shuffle has', () => {
    const skewed = (row: number) => (row < count * 0.9 ? 0 : 1)
    const balanced = planSource(
      { kind: 'weights', weights: { balance: 'cls' }, seed: 1 },
      { count, runs, index: () => ({ at: skewed }) },
    )
    const { entropy, mixing } = orderQuality(compileSource(balanced), count, { batch: 256, label: skewed })
    expect(entropy).toBeGreaterThan(2)
    expect(mixing).toBeGreaterThan(0.9)
  })

  test('works for the smallest sources', () => {
    for (const n of [0, 1, 2, 3]) {
      const order = compileSource({ kind: 'global', count: n, seed: 1 })
      const { score } = orderQuality(order, n, { batch: 256, label })
      expect(score >= 0 && score <= 1).toBe(true)
    }
  })
})

describe('loads per unit', () => {
  // 400 units of 100 rows; some share their rows with another, and one past the end has none.
  const units = Float64Array.from({ length: 410 }, (_, i) => Math.min(i, 400) * 100)
  const loads = (order: NormalOrder, cacheRows: number) => {
    const compiled = compileSource(planSource(order, { count, runs, unitStarts: units }))
    return orderQuality(compiled, count, { batch: 256, units, cacheRows }).loadsPerUnit
  }

  test('are one for a window whose cache holds it and two more units', () => {
    expect(loads({ kind: 'window', window: 2000, seed: 4 }, 2200)).toBe(1)
    expect(loads({ kind: 'window', window: 2000, seed: 4 }, 1000)).toBeGreaterThan(2)
    expect(loads({ kind: 'none' }, 100)).toBe(1)
  })

  test('are the rows that the cache does not hold, for the global shuffle: the price that opening a feed tells', () => {
    for (const share of [0.02, 0.1, 0.5]) {
      const price = loadsPerUnit({ rows: count, stretches: 400, bytes: 0, largest: 0 }, share)
      // Units leave the cache when they are used up: near the end of an epoch it holds more than its share.
      const simulated = loads({ kind: 'global', seed: 1 }, share * count)!
      expect(simulated / price).toBeGreaterThan(0.9)
      expect(simulated / price).toBeLessThan(1.02)
    }
  })

  test('are left out where rows share nothing', () => {
    expect('loadsPerUnit' in quality({ kind: 'global', seed: 1 })).toBe(false)
  })
})

test('a billion rows take a sample, not an epoch', () => {
  const n = 1e9
  const order = compileSource({ kind: 'global', count: n, seed: 1 })
  const { score } = orderQuality(order, n, { batch: 512, label: row => row % 1000 })
  expect(score).toBeGreaterThan(0.97)
})
