/** Utilisation, against the formula of DLIO's utils/statscounter.py written out for one rank and its blocks. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RankStep, utilisation } from '../../../src/bench/workloads/au.js'

const COMPUTE = 10

/** Steps of a rank that waited and computed so long, in epochs of `inEpoch`; a little passes between two of them. */
function steps(
  times: readonly (readonly [wait: number, compute: number])[],
  inEpoch: number,
  gap = 0,
): RankStep[] {
  let now = 1000
  return times.map(([wait, compute], i) => {
    const asked = now
    const got = asked + wait
    now = got + compute + gap
    return { epoch: Math.floor(i / inEpoch), asked, got, done: now, compute }
  })
}

/** compute_metrics_train, with metric_exclude_start_steps = 1 and metric_exclude_end_steps = 0; then end_train, end_run. */
function dlio(ranks: readonly RankStep[][]): number {
  const each = ranks.map(rank => {
    const epochs = [...new Set(rank.map(({ epoch }) => epoch))].map(epoch => {
      const block = rank.filter(step => step.epoch === epoch)
      const proc = block.map(({ asked, done }) => done - asked)
      const compute = block.map(step => step.compute)
      const startTimestamp = block[0].asked
      const endTimestamp = block[block.length - 1].done
      const sum = (of: number[]) => of.reduce((a, b) => a + b, 0)
      return sum(compute.slice(1)) / (endTimestamp - startTimestamp - sum(proc.slice(0, 1)))
    })
    return epochs.reduce((a, b) => a + b, 0) / epochs.length
  })
  return each.reduce((a, b) => a + b, 0) / each.length
}

describe('utilisation', () => {
  test('leaves the first step of an epoch out', () => {
    const one = steps(
      [
        [500, 10],
        [0, 10],
        [10, 10],
        [700, 10],
        [0, 10],
        [0, 10],
      ],
      3,
    )
    expect(utilisation([one], COMPUTE).dlio).toBeCloseTo((20 / 30 + 1) / 2)
  })

  test('counts the given time by the rules, and the measured one as DLIO does', () => {
    const slow = steps(
      [
        [0, 12],
        [0, 12],
        [0, 12],
      ],
      3,
    )
    expect(utilisation([slow], COMPUTE)).toEqual({ dlio: 1, nominal: 20 / 24 })
  })

  test('an epoch of one step says nothing', () => {
    expect(
      utilisation(
        [
          steps(
            [
              [0, 10],
              [5, 10],
              [90, 10],
            ],
            2,
          ),
        ],
        COMPUTE,
      ).dlio,
    ).toBeCloseTo(10 / 15)
    expect(utilisation([steps([[0, 10]], 2)], COMPUTE).dlio).toBeNaN()
  })

  test('is what DLIO computes', () => {
    const time = fc.double({ min: 0, max: 50, noNaN: true })
    const rank = fc.array(fc.tuple(time, fc.double({ min: 1, max: 50, noNaN: true })), {
      minLength: 12,
      maxLength: 12,
    })
    const property = fc.property(fc.array(rank, { minLength: 1, maxLength: 3 }), time, (ranks, gap) => {
      const all = ranks.map(times => steps(times, 4, gap))
      expect(utilisation(all, COMPUTE).dlio).toBeCloseTo(dlio(all))
    })
    fc.assert(property)
  })
})
