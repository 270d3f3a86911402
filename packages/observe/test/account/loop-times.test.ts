/** The steps of a long loop in little memory: sums and percentiles are those of the steps. */
import { describe, expect, test } from 'vitest'
import { account } from '../../account/account.js'
import { LoopTimes } from '../../account/loop-times.js'
import type { StepTimes } from '../../evidence.js'
import { evidenceOf, stepsLike } from './evidence.js'

/** Steps whose waits vary by a generator. */
function loop(count: number): StepTimes[] {
  let seed = 7
  const next = () => (seed = (seed * 16807) % 2147483647) / 2147483647
  let asked = 0
  return Array.from({ length: count }, () => {
    const [step] = stepsLike(1, { supply: 10 * next() ** 4, handOver: 0.02, transfer: 1, compute: 20 }, asked)
    asked += step.supply + 21.02
    return step
  })
}

describe('the steps of a loop', () => {
  test.each([1, 63, 64, 65, 1000, 12345])('%i of them: the sums are exact, in few blocks', count => {
    const steps = loop(count)
    const times = new LoopTimes()
    for (const step of steps) times.add(step, undefined)
    expect(times.steps.length).toBeLessThanOrEqual(64)
    expect(times.steps.length).toBeGreaterThan(Math.min(count, 32) - 1)
    const [exact, kept] = [account(evidenceOf(steps, [])), account(evidenceOf(times.steps, []))]
    expect(kept.steps).toBe(count)
    expect(kept.samples).toBe(exact.samples)
    expect(kept.stepMs).toBeCloseTo(exact.stepMs, 9)
    for (const part of ['ideal', 'noSlot', 'handOver', 'transfer'] as const)
      expect(kept.parts[part]).toBeCloseTo(exact.parts[part], 9)
    expect(times.steps.map(step => step.asked)).toEqual(
      times.steps.map(step => step.asked).sort((a, b) => a - b),
    )
  })

  test('percentiles are those of the steps, as near as the histogram is fine', () => {
    const steps = loop(5000)
    const times = new LoopTimes()
    for (const step of steps) times.add(step, undefined)
    const exact = account(evidenceOf(steps, [])).wait
    const kept = account(evidenceOf(times.steps, [], { waits: times.waits })).wait
    for (const name of ['p50', 'p95', 'p99'] as const) {
      expect(kept[name]).toBeGreaterThan(exact[name] * 0.98)
      expect(kept[name]).toBeLessThan(exact[name] * 1.02)
    }
    expect(kept.max).toBe(exact.max)
    expect(kept.mean).toBeCloseTo(exact.mean, 9)
    expect(kept.over50us).toBeCloseTo(exact.over50us, 2)
  })

  test('the first step and those that begin an epoch are kept apart', () => {
    const times = new LoopTimes()
    const [a, b, c, d] = loop(4)
    times.add({ ...a, supply: 500 }, 'first')
    times.add({ ...b, supply: 40 }, 'epochStart')
    times.add(c, undefined)
    times.add({ ...d, supply: 60 }, 'epochStart')
    const found = account(evidenceOf(times.steps, [], { waits: times.waits }))
    expect([found.steps, found.firstBatchMs, found.epochGapMs]).toEqual([3, 501.02, 51.02])
    expect(found.wait.max).toBeCloseTo(60.02)
  })

  test('waits of no time and of days have their place', () => {
    const times = new LoopTimes()
    for (const supply of [0, 1e9]) times.add(stepsLike(1, { supply })[0], undefined)
    expect(times.waits).toEqual([
      [0, 1],
      [1e9, 1],
    ])
  })
})
