/** Draws with replacement: right frequencies, nothing of weight zero, errors that name the row. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aliasTables, balancedWeights, WeightsOrder } from '../../order/weights.js'

/** The exact probability of each row that the tables stand for. */
function probabilities({ shares, others }: { shares: Float64Array; others: Uint32Array }): number[] {
  const n = shares.length
  const p = new Array<number>(n).fill(0)
  for (let row = 0; row < n; row++) {
    p[row] += shares[row] / n
    if (shares[row] < 1) p[others[row]] += (1 - shares[row]) / n
  }
  return p
}

describe('tables', () => {
  test('stand for exactly the weights', () => {
    const weight = fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 100 }),
      fc.double({ min: 1e-300, max: 1e300, noNaN: true }),
    )
    fc.assert(
      fc.property(fc.array(weight, { minLength: 1, maxLength: 200 }), weights => {
        fc.pre(weights.some(w => w > 0))
        const most = Math.max(...weights)
        const sum = weights.reduce((a, w) => a + w / most, 0)
        const got = probabilities(aliasTables(weights.length, row => weights[row]))
        weights.forEach((w, row) => {
          expect(got[row]).toBeCloseTo(w / most / sum, 12)
          if (w === 0) expect(got[row]).toBe(0)
        })
      }),
      { seed: 1 },
    )
  })

  test('lie in shared memory', () => {
    const { shares, others } = aliasTables(3, () => 1)
    expect(shares.buffer).toBeInstanceOf(SharedArrayBuffer)
    expect(others.buffer).toBeInstanceOf(SharedArrayBuffer)
  })

  test.each([-1, Number.NaN, Infinity, '1' as unknown as number, undefined as unknown as number])(
    'a weight of %s is an error that names the row',
    wrong => {
      expect(() => aliasTables(5, row => (row === 3 ? wrong : 1))).toThrow(
        /order\.weights: the weight of row 3/,
      )
    },
  )

  test('weights that are all zero are an error', () => {
    expect(() => aliasTables(5, () => 0)).toThrow(/all 5 weights are 0/)
  })
})

describe('draws', () => {
  const order = (weights: number[], seed = 1, stream?: string) => {
    const count = weights.length
    return new WeightsOrder({
      ...aliasTables(count, row => weights[row]),
      count,
      samples: count,
      seed,
      stream,
    })
  }

  test('come as often as their weights say', () => {
    const weights = [1, 2, 0, 3, 4, 0, 10]
    const drawn = order(weights)
    const counts = weights.map(() => 0)
    const draws = 200_000
    for (let position = 0; position < draws; position++) counts[drawn.at(position % 7, position)]++
    weights.forEach((w, row) => {
      const p = w / 20
      // Five standard deviations of a binomial count.
      expect(Math.abs(counts[row] - draws * p)).toBeLessThanOrEqual(5 * Math.sqrt(draws * p * (1 - p)))
    })
  })

  test('are keyed by seed, epoch, position and stream alone', () => {
    const weights = Array.from({ length: 1000 }, (_, i) => i)
    const first = (o: WeightsOrder, epoch: number) =>
      Array.from({ length: 20 }, (_, p) => o.at(epoch, p)).join()
    const all = [
      first(order(weights), 0),
      first(order(weights), 1),
      first(order(weights, 2), 0),
      first(order(weights, 1, 'other'), 0),
    ]
    expect(new Set(all).size).toBe(4)
    const again = order(weights)
    expect(
      Array.from({ length: 20 }, (_, i) => again.at(0, 19 - i))
        .reverse()
        .join(),
    ).toBe(all[0])
  })

  test('golden values, the same in every version', () => {
    const drawn = order(Array.from({ length: 1000 }, (_, i) => i))
    expect([0, 1, 2 ** 40].map(p => drawn.at(5, p))).toMatchInlineSnapshot(`
      [
        668,
        451,
        278,
      ]
    `)
  })
})

test('balance makes every class equally likely', () => {
  const labels = ['cat', 'cat', 'cat', 'dog', 7, 7, 'cat', 'owl', 7]
  const p = probabilities(
    aliasTables(
      labels.length,
      balancedWeights(labels.length, row => labels[row]),
    ),
  )
  for (const name of ['cat', 'dog', 'owl', 7]) {
    const sum = labels.reduce((s: number, label, row) => (label === name ? s + p[row] : s), 0)
    expect(sum).toBeCloseTo(1 / 4, 12)
  }
})
