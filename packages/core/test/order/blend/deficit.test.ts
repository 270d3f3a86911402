/** The deterministic order of a blend, and blends of corpora that have several files. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../../test/support/runs.js'
import { quantise, ROUND } from '../../../order/blend/apportion.js'
import { BlendOrder, type BlendSpec, planBlend } from '../../../order/blend/blend.js'
import type { BlendChange } from '../../../order/blend/changes.js'

const LENGTH = 1000

function orderOf(spec: Partial<BlendSpec> & { weights: number[] }, changes: BlendChange[] = []): BlendOrder {
  const lengths = spec.weights.map(() => LENGTH)
  const names = spec.weights.map((_, i) => `s${i}`)
  const data = planBlend({ names, lengths, seed: 7, ...spec }, changes)
  return new BlendOrder(
    data,
    lengths.map(length => ({ length, at: (epoch, position) => epoch * length + position })),
  )
}

/** Draws counted through all epochs: source, and the number of the draw of that source. */
function draws(order: BlendOrder, from: number, count: number): [number, number][] {
  const out = { source: 0, row: 0, drawn: 0, epoch: 0 }
  return Array.from({ length: count }, (_, i) => {
    const draw = from + i
    const epoch = Math.floor(draw / order.length)
    const { source, row, drawn } = order.draw(epoch, draw - epoch * order.length, out)
    expect(row).toBe(drawn)
    return [source, drawn]
  })
}

/** The rule, walked: the greatest m·(k + 1) − M·c, of several the first. */
function* walked(weights: readonly number[]): Generator<[number, number]> {
  const shares = [...quantise(weights)].map(BigInt)
  const counts = weights.map(() => 0n)
  for (let k = 1n; ; k++) {
    const lags = shares.map((share, i) => share * k - BigInt(ROUND) * counts[i])
    const source = lags.reduce((best, lag, i) => (lag > lags[best] ? i : best), 0)
    yield [source, Number(counts[source]++)]
  }
}

const weightLists = fc
  .array(fc.oneof(fc.constant(0), fc.double({ min: 1e-3, max: 1e3, noNaN: true })), {
    minLength: 1,
    maxLength: 7,
  })
  .filter(weights => weights.some(weight => weight > 0))

describe('schedule "deficit"', () => {
  test('equals a plain walk at every position', () => {
    fc.assert(
      fc.property(weightLists, fc.integer({ min: 0, max: 3000 }), (weights, at) => {
        const walk = walked(weights)
        const expected = Array.from({ length: 3000 }, () => walk.next().value as [number, number])
        const order = orderOf({ weights, schedule: 'deficit' })
        expect(draws(order, 0, 3000)).toEqual(expected)
        const counts = weights.map(() => 0)
        for (const [source] of expected.slice(0, at)) counts[source]++
        expect([...order.drawnBefore(at)]).toEqual(counts)
      }),
      { numRuns: runs(20) },
    )
  })

  test('goes on without a gap where its cycle of 2^20 ends', () => {
    const weights = [0.61, 0.29, 0.1]
    const walk = walked(weights)
    for (let i = 0; i < ROUND - 500; i++) walk.next()
    const order = orderOf({ weights, schedule: 'deficit' })
    const expected = Array.from({ length: 1000 }, () => walk.next().value as [number, number])
    expect(draws(order, ROUND - 500, 1000)).toEqual(expected)
  })

  test('no source is ever a whole draw ahead of its share', () => {
    const weights = [5, 3, 1, 1, 0.01]
    const shares = [...quantise(weights)].map(share => share / ROUND)
    const counts = weights.map(() => 0)
    for (const [i, [source]] of draws(orderOf({ weights, schedule: 'deficit' }), 0, 20_000).entries()) {
      counts[source]++
      expect(counts[source] - shares[source] * (i + 1)).toBeLessThan(1)
    }
  })

  test('takes new weights from a draw on, and its state needs nothing before them', () => {
    const spec = { weights: [1, 1, 1], schedule: 'deficit' as const }
    const order = orderOf(spec, [{ at: 100, weights: [0, 1, 3] }])
    const [settled] = order.settled().slice(-1)
    expect(settled.drawn).toEqual([34, 33, 33])
    expect(draws(orderOf(spec, [settled]), 100, 500)).toEqual(draws(order, 100, 500))
    expect(draws(order, 100, 4).map(([source]) => source)).toEqual([2, 1, 2, 2])
  })
})

describe('corpora of several files', () => {
  const spec = { weights: [2, 1, 4, 1], corpora: ['web', 'web', 'wiki', 'code'] }

  test.each(['shuffled', 'deficit'] as const)(
    '%s: corpora have their shares, and files theirs within them',
    kind => {
      const order = orderOf({ ...spec, schedule: kind })
      const counts = [0, 0, 0, 0]
      for (const [source, drawn] of draws(order, 0, 1024 * 8)) expect(drawn).toBe(counts[source]++)
      expect([...order.drawnBefore(1024 * 8)]).toEqual(counts)
      expect(Math.abs(counts[0] + counts[1] - 3072)).toBeLessThanOrEqual(1)
      expect(Math.abs(counts[2] - 4096)).toBeLessThanOrEqual(1)
      // Of 3,072 draws of a corpus, three of its blocks.
      expect(Math.abs(counts[0] - 2048)).toBeLessThanOrEqual(1)
    },
  )

  test('deficit: the files of a corpus alternate as if it were alone', () => {
    const alone = draws(orderOf({ weights: [2, 1], schedule: 'deficit' }), 0, 300)
    const inside = draws(orderOf({ ...spec, schedule: 'deficit' }), 0, 2000).filter(([source]) => source < 2)
    expect(inside.slice(0, 300)).toEqual(alone)
    const corpora = draws(orderOf({ weights: [3, 4, 1], schedule: 'deficit' }), 0, 500).map(
      ([source]) => source,
    )
    const outside = draws(orderOf({ ...spec, schedule: 'deficit' }), 0, 500)
    expect(outside.map(([source]) => [0, 0, 1, 2][source])).toEqual(corpora)
  })

  test('a corpus of weight 0 is never drawn, and gets its files back by their sizes', () => {
    const order = orderOf({ ...spec, weights: [0, 0, 1, 1], lengths: [300, 100, 1000, 1000] })
    expect(draws(order, 0, 2000).every(([source]) => source > 1)).toBe(true)
    const changes = order.changed([], 0, { web: 4 })
    expect(changes[0].weights).toEqual([3, 1, 1, 1])
  })

  test('the weight of a corpus is changed by its name, or that of one of its files', () => {
    const order = orderOf(spec)
    expect(order.changed([], 0, { web: 6 })[0].weights).toEqual([4, 2, 4, 1])
    expect(order.changed([], 0, { s1: 6 })[0].weights).toEqual([2, 6, 4, 1])
    expect(() => order.changed([], 0, { webb: 6 })).toThrow('no source "webb"; did you mean "web"?')
  })

  test('draws are the same whatever was drawn before, also after new weights', () => {
    const changes = [{ at: 700, weights: [1, 5, 1, 0] }]
    const walk = draws(orderOf(spec, changes), 0, 3000)
    for (const at of [2999, 0, 700, 699, 1500]) {
      expect(draws(orderOf(spec, changes), at, 1)[0]).toEqual(walk[at])
    }
    const counts = [0, 0, 0, 0]
    for (const [source, drawn] of walk) expect(drawn).toBe(counts[source]++)
  })
})

test('weights that mean something else than draws are scaled, also when they change', () => {
  const order = orderOf({ weights: [1, 1], scales: [1, 3] }, [{ at: 1024, weights: [3, 1] }])
  expect([...order.drawnBefore(1024)]).toEqual([256, 768])
  expect([...order.drawnBefore(2048)]).toEqual([768, 1280])
})
