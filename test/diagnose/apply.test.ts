/** `--apply` on a run that is made up: what gains is kept, what loses is undone. */
import { expect, test } from 'vitest'
import { applyBest } from '../../src/diagnose/apply.js'
import type { Bench, Setting } from '../../src/diagnose/bench.js'
import type { Diagnosis } from '../../src/observe/evidence.js'

const remedy = (set?: Setting, predictedGain: number | null = 0.5) => ({
  ...{ action: 'more', predictedGain, interval: null },
  ...(set && { set }),
})
const diagnosis = (...remedies: object[]) => ({ remedies }) as unknown as Diagnosis

/** `rate` is samples/s by the number of workers; 0: no step was seen. */
function bench(rate: (workers: number) => number): Bench & { now: Required<Setting> } {
  const now = { workers: 1, depth: 4 }
  return {
    now,
    setting: () => ({ ...now }),
    set: async setting => void Object.assign(now, setting),
    measure: async () => {
      const samples = rate(now.workers)
      return { steps: samples, samples, seconds: samples > 0 ? 1 : 0, bytes: 0 }
    },
  }
}

test('the best setting is kept where it gains, and undone where it loses', async () => {
  const gains = bench(workers => 100 * workers)
  const best = diagnosis(remedy({ workers: 2 }, 0.3), remedy({ workers: 4 }, 2), remedy(undefined, 9))
  expect(await applyBest(gains, best)).toMatchObject({ set: { workers: 4 }, measuredGain: 3, kept: true })
  expect(gains.now).toEqual({ workers: 4, depth: 4 })
  const loses = bench(workers => 100 / workers)
  expect(await applyBest(loses, best)).toMatchObject({ measuredGain: -0.75, kept: false })
  expect(loses.now).toEqual({ workers: 1, depth: 4 })
})

test('what could not be measured is not kept', async () => {
  for (const rate of [() => 0, (workers: number) => (workers > 1 ? 0 : 100)]) {
    const still = bench(rate)
    expect(await applyBest(still, diagnosis(remedy({ workers: 4 })))).toMatchObject({
      ...{ measuredGain: null, kept: false },
    })
    expect(still.now.workers).toBe(1)
  }
  expect(
    await applyBest(
      bench(() => 1),
      diagnosis(remedy()),
    ),
  ).toMatchObject({ action: null, kept: false })
})
