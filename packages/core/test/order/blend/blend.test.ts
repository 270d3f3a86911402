/** Blends: exact proportions, every source in its own order without gap or repeat, random access. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../../test/support/runs.js'
import { BLOCK, BLOCKS, quantise, ROUND, scheduleExtras } from '../../../order/blend/apportion.js'
import { type BlendData, BlendOrder, planBlend } from '../../../order/blend/blend.js'
import { type BlendChange, neededChanges } from '../../../order/blend/changes.js'
import type { Draw } from '../../../order/order.js'
import type { SourceOrder } from '../../../order/single.js'

/** A source whose row at (epoch, position) tells both. */
const traced = (length: number): SourceOrder => ({
  length,
  at: (epoch, position) => epoch * length + position,
})

function blendOf(
  weights: number[],
  lengths: number[],
  more: { epoch?: number; group?: number; seed?: number; changes?: BlendChange[] } = {},
): { order: BlendOrder; data: BlendData } {
  const { changes, ...rest } = more
  const data = planBlend(
    { names: weights.map((_, i) => `s${i}`), weights, lengths, seed: 1, ...rest },
    changes,
  )
  return { order: new BlendOrder(data, lengths.map(traced)), data }
}

/** Draws q = from…count−1 through all epochs. */
function walk(order: BlendOrder, count: number, from = 0): Draw[] {
  return Array.from({ length: count - from }, (_, i) => {
    const q = from + i
    return order.draw(Math.floor(q / order.length), q % order.length, {
      source: -1,
      row: -1,
      drawn: -1,
      epoch: -1,
    })
  })
}

const someWeights = fc
  .array(fc.oneof(fc.constant(0), fc.double({ min: 1e-6, max: 10, noNaN: true })), {
    minLength: 1,
    maxLength: 12,
  })
  .filter(weights => weights.some(w => w > 0))

describe('apportioning', () => {
  test('weights become whole numbers that sum to 2^20, each within one of the ideal', () => {
    fc.assert(
      fc.property(someWeights, weights => {
        const shares = quantise(weights)
        const sum = weights.reduce((a, b) => a + b)
        expect(shares.reduce((a, b) => a + b)).toBe(ROUND)
        weights.forEach((weight, i) => {
          if (weight === 0) expect(shares[i]).toBe(0)
          else expect(shares[i]).toBeGreaterThanOrEqual(1)
          const ideal = (weight / sum) * ROUND
          // Weights that would get less than one are rounded up at the cost of the others, at most one each.
          expect(Math.abs(shares[i] - ideal)).toBeLessThanOrEqual(1 + weights.length)
        })
      }),
      { seed: 1 },
    )
    expect([...quantise([1, 1, 2])]).toEqual([ROUND / 4, ROUND / 4, ROUND / 2])
    expect([...quantise([1e-12, 1])]).toEqual([1, ROUND - 1])
    expect(() => quantise([1, -1])).toThrow(/entries\[1\]\.weight/)
    expect(() => quantise([0, 0])).toThrow(/above 0/)
  })

  test('after every block every source is less than one draw from its ideal', () => {
    const check = (shares: Uint32Array) => {
      const extras = scheduleExtras(shares)
      const n = shares.length
      for (let block = 0; block <= BLOCKS; block++) {
        let total = 0
        for (let i = 0; i < n; i++) {
          const before = Math.floor(shares[i] / BLOCKS) * block + extras[block * n + i]
          if (Math.abs(before - (shares[i] * block) / BLOCKS) >= 1)
            throw new Error(`source ${i} of ${shares}: ${before} before block ${block}`)
          if (block > 0 && extras[block * n + i] < extras[(block - 1) * n + i])
            throw new Error('negative count')
          total += before
        }
        if (total !== block * BLOCK) throw new Error(`${total} draws in ${block} blocks`)
      }
      for (let i = 0; i < n; i++) expect(extras[BLOCKS * n + i]).toBe(shares[i] % BLOCKS)
    }
    fc.assert(
      fc.property(someWeights, weights => check(quantise(weights))),
      { seed: 2, numRuns: runs(60) },
    )
    check(quantise(Array.from({ length: 200 }, (_, i) => (i % 17) + 1 / (i + 1))))
    check(quantise([511, 1, 512].map(x => x / 1024)))
    check(quantise([1e-9, 1e-9, 1e-9, 1]))
    check(quantise(Array.from({ length: 1024 }, () => 1)))
  })
})

describe('draws', () => {
  test('every source is drawn in its own order, with no gap and no repeat, through epochs and changes', () => {
    fc.assert(
      fc.property(
        someWeights.chain(weights =>
          fc.record({
            weights: fc.constant(weights),
            lengths: fc.array(fc.integer({ min: 1, max: 700 }), {
              minLength: weights.length,
              maxLength: weights.length,
            }),
            epoch: fc.integer({ min: 1, max: 3000 }),
            group: fc.constantFrom(1, 1, 3, 16),
            changes: fc.array(
              fc.record({
                at: fc.oneof(fc.nat(7000), fc.record({ epoch: fc.nat(2), position: fc.nat(500) })),
                weights: fc.array(fc.integer({ min: 0, max: 9 }), {
                  minLength: weights.length,
                  maxLength: weights.length,
                }),
              }),
              { maxLength: 3 },
            ),
          }),
        ),
        ({ weights, lengths, epoch, group, changes }) => {
          const kept = changes.filter(change => change.weights.some(w => w > 0))
          const { order } = blendOf(weights, lengths, { epoch, group, changes: kept })
          const drawn = lengths.map(() => 0)
          // `traced` rows count a source's draws from its first: the k-th draw must be row k.
          walk(order, 8000).forEach(({ source, row, drawn: reported }, q) => {
            if (reported !== drawn[source]) throw new Error(`draw ${q}: ${reported} draws before it`)
            if (row !== drawn[source]++) throw new Error(`draw ${q}: row ${row} of source ${source}`)
          })
        },
      ),
      { seed: 3, numRuns: runs(60) },
    )
  })

  test('a draw is the same whatever was drawn before it', () => {
    const changes = [{ at: 5000, weights: [5, 1, 0] }]
    const setup = () => blendOf([1, 2, 3], [100, 200, 300], { changes }).order
    const walked = walk(setup(), 12_000)
    const order = setup()
    for (let i = 0; i < 3000; i++) {
      const q = (i * 7919) % 12_000
      const got = order.draw(Math.floor(q / 600), q % 600, { source: -1, row: -1, drawn: -1, epoch: -1 })
      expect(got).toEqual(walked[q])
    }
  })

  test('proportions are exact over a round and nearly so over every block', () => {
    const weights = [0.7, 0.2, 0.0999, 0.0001]
    const shares = quantise(weights)
    const { order } = blendOf(weights, [1000, 1000, 1000, 1000])
    const counts = [0, 0, 0, 0]
    const out = { source: 0, row: 0, drawn: 0, epoch: 0 }
    for (let q = 0; q < 2 * ROUND; q++) {
      counts[order.draw(Math.floor(q / 4000), q % 4000, out).source]++
      if ((q + 1) % BLOCK === 0)
        counts.forEach((count, i) => {
          if (Math.abs(count - ((q + 1) * shares[i]) / ROUND) >= 1)
            throw new Error(`${count} of source ${i} at ${q}`)
        })
    }
    expect(counts).toEqual([...shares].map(share => 2 * share))
  })

  test('inside a block the sources are shuffled, by seed', () => {
    const labels = (seed: number) => walk(blendOf([1, 1], [50, 50], { seed }).order, BLOCK).map(d => d.source)
    expect(labels(1)).not.toEqual(labels(2))
    // Runs in a random sequence of 512 zeros and ones: mean 513, standard deviation 16.
    const changes = labels(1).filter((label, i, all) => i > 0 && label !== all[i - 1]).length
    expect(Math.abs(changes - 512)).toBeLessThan(5 * 16)
  })
})

describe('changes of weights', () => {
  test('take effect at their draw, and leave everything before as it was', () => {
    const plain = walk(blendOf([1, 1, 1], [100, 100, 100]).order, 4000)
    const { order } = blendOf([1, 1, 1], [100, 100, 100], { changes: [{ at: 1500, weights: [0, 0, 1] }] })
    const changed = walk(order, 4000)
    expect(changed.slice(0, 1500)).toEqual(plain.slice(0, 1500))
    expect(new Set(changed.slice(1500).map(d => d.source))).toEqual(new Set([2]))
  })

  test('are added by list or by name; other names keep their weights', () => {
    const { order } = blendOf([1, 2, 3], [10, 10, 10], { epoch: 100 })
    const first = order.changed([], { epoch: 2, position: 50 }, { s1: 7 })
    expect(first).toEqual([{ at: 250, weights: [1, 7, 3] }])
    expect(order.changed(first, 300, { s0: 9 })).toEqual([...first, { at: 300, weights: [9, 7, 3] }])
    expect(order.changed(first, 200, { s0: 9 })[1]).toEqual({ at: 200, weights: [9, 2, 3] })
    expect(order.changed(first, 300, [1, 1, 1])[1]).toEqual({ at: 300, weights: [1, 1, 1] })
    expect(() => order.changed([], 0, { s11: 1 })).toThrow(/no source "s11"; did you mean "s1"/)
  })

  test('equal weights are no change, and only the digits that count are kept', () => {
    const { order } = blendOf([1, 2, 3], [100, 100, 100])
    const none: BlendChange[] = []
    expect(order.changed(none, 40, [1, 2, 3])).toBe(none)
    expect(order.changed(none, 40, { s1: 2 })).toBe(none)
    const one = order.changed(none, 40, { s1: 1 / 3 })
    expect(one).toEqual([{ at: 40, weights: [1, 0.333333333, 3] }])
    expect(order.changed(one, 80, { s1: 1 / 3 })).toBe(one)
    expect(order.changed(one, 20, { s1: 1 / 3 })).not.toBe(one)
  })

  test('only the changes that matter from a place on are needed there, however many there were', () => {
    fc.assert(
      fc.property(
        fc.record({
          group: fc.constantFrom(1, 1, 5),
          steps: fc.array(
            fc.record({
              draws: fc.integer({ min: 0, max: 700 }),
              weights: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 3, maxLength: 3 }),
              resume: fc.boolean(),
            }),
            { minLength: 1, maxLength: 12 },
          ),
        }),
        ({ group, steps }) => {
          const lengths = [100, 37, 12]
          const blend = (changes: readonly BlendChange[]) =>
            blendOf([3, 1, 1], lengths, { group, epoch: 1000, changes: [...changes] }).order
          const plan = { length: 1000, feed: { batch: { last: 'keep' } } } as const
          let [long, short]: (readonly BlendChange[])[] = [[], []]
          let draw = 0
          for (const { draws, weights, resume } of steps) {
            draw += draws
            if (!weights.some(weight => weight > 0)) continue
            long = blend(long).changed(long, draw, weights)
            const changed = blend(short).changed(short, draw, weights)
            short = neededChanges(blend(changed).settled(), { epoch: 0, position: draw }, plan)
            // What is said in a state, and read from it.
            if (resume) short = JSON.parse(JSON.stringify(short))
            expect(short.length).toBeLessThanOrEqual(2)
          }
          expect(walk(blend(short), draw + 1500, draw)).toEqual(walk(blend(long), draw + 1500, draw))
        },
      ),
      { numRuns: runs(60) },
    )
  })

  test('a change put in before a known one counts anew what was drawn before that', () => {
    const { order } = blendOf([1, 1], [50, 50], { epoch: 1000 })
    const later = blendOf([1, 1], [50, 50], { epoch: 1000, changes: [{ at: 600, weights: [1, 3] }] }).order
    const both = order.changed(later.settled(), 200, [3, 1])
    const [got, expected] = [both, [...both].map(({ at, weights }) => ({ at, weights }))].map(changes =>
      walk(blendOf([1, 1], [50, 50], { epoch: 1000, changes: [...changes] }).order, 1500),
    )
    expect(got).toEqual(expected)
  })

  test('what was before is not known, and draws that do not add up are refused', () => {
    const change = { at: 100, weights: [1, 3], drawn: [60, 40] }
    const { order } = blendOf([1, 1], [50, 50], { changes: [change] })
    expect(order.settled()).toEqual([change])
    expect(() => walk(order, 1)).toThrow(/weights of the blend at draw 0 are no longer known/)
    for (const drawn of [[60, 41], [100], [60, 40, 0]])
      expect(() => blendOf([1, 1], [50, 50], { changes: [{ ...change, drawn }] })).toThrow(/don't add up/)
  })

  test('a later change at the same draw replaces the earlier', () => {
    const one = blendOf([1, 1], [9, 9], { changes: [{ at: 100, weights: [1, 3] }] }).order
    const two = blendOf([1, 1], [9, 9], {
      changes: [
        { at: 100, weights: [5, 1] },
        { at: 100, weights: [1, 3] },
      ],
    }).order
    expect(walk(two, 3000)).toEqual(walk(one, 3000))
  })
})

describe('per batch', () => {
  test('each group comes from one source, and epochs are whole groups', () => {
    const { order } = blendOf([1, 2], [100, 77], { group: 16 })
    expect(order.length).toBe(192)
    const draws = walk(order, 1920)
    for (let from = 0; from < draws.length; from += 16)
      expect(new Set(draws.slice(from, from + 16).map(d => d.source)).size).toBe(1)
  })

  test('a change waits for the next group', () => {
    const { order } = blendOf([1, 0], [100, 100], { group: 10, changes: [{ at: 35, weights: [0, 1] }] })
    expect(walk(order, 60).map(d => d.source)).toEqual([...Array(40).fill(0), ...Array(20).fill(1)])
  })
})

test('sources that are empty, or lists of another length, are refused', () => {
  expect(() => blendOf([1, 1], [10, 0])).toThrow(/entries\[1\].*empty/)
  expect(blendOf([1, 0], [10, 0]).order.length).toBe(10)
  expect(() => blendOf([1, 1], [10, 10], { changes: [{ at: 5, weights: [1] }] })).toThrow(
    /1 weights for 2 sources/,
  )
})
