/** Ranks, epochs and tails: exactly once, equal steps, and no endless loop. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { DefinitionError, StateError } from '../../basics/errors.js'
import { batchSize, type Place, type StepShare, stepPlan } from '../../order/steps.js'

const lasts = ['drop', 'keep', 'pad'] as const
const share = (length: number, world: number, batch: number, last: StepShare['last'], rank = 0) => ({
  length,
  world,
  rank,
  batch,
  last,
})

/** Every rank's real positions of one step, in the order of the ranks, and where the run goes on. */
function together(setup: Omit<StepShare, 'rank'>, start: Place, step: number, epochs: number | null = null) {
  const positions: number[] = []
  const shares = Array.from({ length: setup.world }, (_, rank) =>
    stepPlan({ ...setup, rank, start, epochs }).at(step),
  )
  for (const rank of shares) {
    expect(rank.epoch).toBe(shares[0].epoch)
    expect(rank.position).toBe(shares[0].position)
    expect(rank.nextState).toEqual(shares[0].nextState)
    for (let row = 0; row < rank.valid; row++) positions.push(rank.first + row)
  }
  return { positions, shares, epoch: shares[0].epoch, next: shares[0].nextState }
}

const sizes = { world: fc.integer({ min: 1, max: 5 }), batch: fc.integer({ min: 1, max: 7 }) }

describe('any chain of ranks and batch sizes', () => {
  const chain = fc.array(fc.record({ ...sizes, steps: fc.integer({ min: 1, max: 6 }) }), { minLength: 1 })

  test.each(['keep', 'pad'] as const)('%s: every position exactly once', last => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 120 }), chain, (length, parts) => {
        let place: Place = { epoch: 0, position: 0 }
        const seen: number[] = []
        for (let i = 0; place.epoch === 0; i++) {
          const { world, batch, steps } = parts[i % parts.length]
          const start = place
          for (let step = 0; step < steps && place.epoch === 0; step++) {
            const got = together({ length, world, batch, last }, start, step)
            seen.push(...got.positions)
            place = got.next
          }
        }
        expect(place).toEqual({ epoch: 1, position: 0 })
        expect(seen).toEqual(Array.from({ length }, (_, i) => i))
      }),
      { seed: 1 },
    )
  })

  test('drop: an exact prefix, of which less than a step is missing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 160 }), chain, (length, parts) => {
        let place: Place = { epoch: 0, position: 0 }
        const seen: number[] = []
        let size = 0
        for (let i = 0; place.epoch === 0; i++) {
          const { world, batch, steps } = parts[i % parts.length]
          const start = place
          for (let step = 0; step < steps && place.epoch === 0; step++) {
            size = world * batch
            const got = together({ length, world, batch, last: 'drop' }, start, step)
            if (got.epoch === 0) seen.push(...got.positions)
            place = got.next
          }
        }
        expect(seen).toEqual(seen.map((_, i) => i))
        expect(length - seen.length).toBeLessThan(size)
      }),
      { seed: 2 },
    )
  })
})

describe('a step', () => {
  test('at(s) for any s is what walking from state to state gives', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 36, max: 90 }),
        sizes.world,
        sizes.batch,
        fc.constantFrom(...lasts),
        fc.nat(35),
        (length, world, batch, last, position) => {
          const start = { epoch: 4, position }
          const plan = stepPlan({ ...share(length, world, batch, last, world - 1), start })
          let place: Place = start
          for (let step = 0; step < 100; step++) {
            const walked = stepPlan({ ...share(length, world, batch, last, world - 1), start: place }).at(0)
            const { epoch, position, first, count, valid, nextState } = plan.at(step)
            expect({ epoch, position, first, count, valid, nextState }).toEqual({
              epoch: walked.epoch,
              position: walked.position,
              first: walked.first,
              count: walked.count,
              valid: walked.valid,
              nextState: walked.nextState,
            })
            place = nextState
          }
        },
      ),
      { seed: 3, numRuns: runs(60) },
    )
  })

  test('every rank makes the same number of steps', () => {
    for (const last of lasts)
      for (let length = 20; length < 60; length++) {
        const totals = [0, 1, 2, 3].map(
          rank =>
            stepPlan({ ...share(length, 4, 5, last, rank), start: { epoch: 0, position: 7 }, epochs: 3 })
              .total,
        )
        expect(new Set(totals).size).toBe(1)
      }
  })

  test('keep divides the tail into runs that differ by at most one', () => {
    const { shares } = together(
      { length: 21, world: 4, batch: 5, last: 'keep' },
      { epoch: 0, position: 0 },
      1,
    )
    expect(shares.map(s => s.count)).toEqual([1, 0, 0, 0])
    const wide = together({ length: 11, world: 4, batch: 5, last: 'keep' }, { epoch: 0, position: 0 }, 0)
    expect(wide.shares.map(s => [s.first, s.count])).toEqual([
      [0, 3],
      [3, 3],
      [6, 3],
      [9, 2],
    ])
  })

  test('pad fills from the start of the epoch, as often as needed', () => {
    const { shares } = together({ length: 3, world: 2, batch: 5, last: 'pad' }, { epoch: 0, position: 0 }, 0)
    expect(shares.map(s => [s.count, s.valid])).toEqual([
      [5, 3],
      [5, 0],
    ])
    expect([3, 4].map(row => shares[0].filler(row))).toEqual([0, 1])
    expect([0, 1, 2, 3, 4].map(row => shares[1].filler(row))).toEqual([2, 0, 1, 2, 0])
  })
})

describe('limits', () => {
  const start = { epoch: 2, position: 30 }
  test('epochs count the one begun; steps cut it shorter; without either it never ends', () => {
    const plan = (limits: { epochs?: number | null; steps?: number }) =>
      stepPlan({ ...share(100, 2, 5, 'keep'), start, ...limits })
    expect(plan({ epochs: 1 })).toMatchObject({ total: 7, end: { epoch: 3, position: 0 } })
    expect(plan({ epochs: 3 })).toMatchObject({ total: 27, end: { epoch: 5, position: 0 } })
    expect(plan({ epochs: 3, steps: 9 })).toMatchObject({ total: 9, end: { epoch: 3, position: 20 } })
    expect(plan({ steps: 2 })).toMatchObject({ total: 2, end: { epoch: 2, position: 50 } })
    expect(plan({ epochs: null })).toMatchObject({ total: Infinity, end: undefined })
    expect(plan({ epochs: 0 })).toMatchObject({ total: 0, end: start })
    expect(plan({}).at(1e9).epoch).toBe(2 + 1 + Math.floor((1e9 - 7) / 10))
    expect(() => plan({ epochs: 1 }).at(7)).toThrow(RangeError)
  })

  test('a state at the end of an epoch is the start of the next', () => {
    const plan = stepPlan({ ...share(100, 2, 5, 'keep'), start: { epoch: 2, position: 100 }, epochs: 1 })
    expect(plan.total).toBe(10)
    expect(plan.at(0)).toMatchObject({ epoch: 3, position: 0 })
  })

  test('drop with a rest that is too short for a step: it is the next epoch', () => {
    const rest = { ...share(100, 2, 10, 'drop'), start: { epoch: 0, position: 90 } }
    const next = { epoch: 1, position: 0 }
    expect(stepPlan(rest)).toMatchObject({ start: next, stepsInFirstEpoch: 5 })
    expect(stepPlan(rest).at(0)).toMatchObject(next)
    expect(stepPlan({ ...rest, epochs: 1 })).toMatchObject({ total: 5, end: { epoch: 2, position: 0 } })
    expect(stepPlan({ ...rest, epochs: 2 })).toMatchObject({ total: 10, end: { epoch: 3, position: 0 } })
    expect(stepPlan({ ...rest, epochs: 0 })).toMatchObject({ total: 0, end: next })
  })

  test('steps are counted from the beginning of the epoch, wherever the plan begins', () => {
    for (const last of ['drop', 'keep', 'pad'] as const)
      for (let position = 0; position < 18; position++) {
        const plan = stepPlan({ ...share(23, 2, 3, last), start: { epoch: 4, position } })
        for (let step = 0; step < plan.stepsInFirstEpoch + 2; step++) {
          const { stepInEpoch, position } = plan.at(step)
          expect(stepInEpoch).toBe(Math.floor(position / 6))
        }
      }
  })

  test('a place with a step left is where it is, all others are the next epoch', () => {
    for (const last of ['drop', 'keep', 'pad'] as const)
      for (let position = 0; position <= 23; position++) {
        const { start, total } = stepPlan({
          ...share(23, 2, 3, last),
          start: { epoch: 4, position },
          epochs: 1,
        })
        const left = last === 'drop' ? 23 - position >= 6 : position < 23
        expect(start).toEqual(left ? { epoch: 4, position } : { epoch: 5, position: 0 })
        expect(total).toBeGreaterThan(0)
      }
  })

  test('drop of an epoch smaller than a step is an error, never an endless loop', () => {
    const plan = () => stepPlan({ ...share(9, 2, 5, 'drop'), start: { epoch: 0, position: 0 } })
    expect(plan).toThrow(DefinitionError)
    expect(plan).toThrow(/epoch of 9 samples is smaller than one step of 2·5 = 10/)
  })

  test('an empty epoch makes no step', () => {
    for (const last of ['keep', 'pad'] as const)
      expect(stepPlan({ ...share(0, 1, 5, last), start: { epoch: 0, position: 0 } }).total).toBe(0)
    expect(() => stepPlan({ ...share(0, 1, 5, 'drop'), start: { epoch: 0, position: 0 } })).toThrow(
      /epoch of 0/,
    )
  })

  test('states and ranks that can not be are refused', () => {
    expect(() => stepPlan({ ...share(10, 1, 5, 'keep'), start: { epoch: 0, position: 11 } })).toThrow(
      StateError,
    )
    expect(() => stepPlan({ ...share(10, 1, 5, 'keep'), start: { epoch: -1, position: 0 } })).toThrow(
      StateError,
    )
    expect(() => stepPlan({ ...share(10, 2, 5, 'keep', 2), start: { epoch: 0, position: 0 } })).toThrow(
      /rank 2/,
    )
    expect(() => stepPlan({ ...share(10, 1, 0, 'keep'), start: { epoch: 0, position: 0 } })).toThrow(/batch/)
  })
})

test('batchSize divides a global batch among the ranks', () => {
  expect(batchSize({ size: 32 }, 7)).toBe(32)
  expect(batchSize({ global: 256 }, 8)).toBe(32)
  expect(() => batchSize({ global: 256 }, 3)).toThrow(/256 rows can't be divided equally among 3 ranks/)
})
