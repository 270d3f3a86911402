/** The model beside runs that are computed with known costs: what it finds back, and what it predicts. */
import { describe, expect, test } from 'vitest'
import { simulate, type Workload } from '../../../../test/support/simulated/simulate.js'
import { account } from '../../account/account.js'
import type { Evidence } from '../../evidence.js'
import { fitModel } from '../../model/fit.js'
import { predict } from '../../model/predict.js'
import { replay } from '../../model/replay.js'

const BASE: Workload = {
  workers: 2,
  depth: 4,
  claims: 4,
  rows: 16,
  cores: 4,
  cpu: 1,
  blocked: 0.5,
  step: 6,
  steps: 150,
}

/** Runs from a seed: workers, depth, cores, latency and step all differ. */
function* grid(count: number): Generator<{ w: Workload; change: { workers?: number; depth?: number } }> {
  let state = 7
  const pick = <T>(of: readonly T[]): T => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return of[(state >>> 8) % of.length]
  }
  for (let i = 0; i < count; i++) {
    const w = {
      ...BASE,
      workers: pick([1, 2, 3, 4]),
      depth: pick([1, 2, 4]),
      cores: pick([1, 2, 4, 8]),
      cpu: pick([0.3, 1, 2]),
      blocked: pick([0, 0.3, 2]),
      step: pick([3, 8, 20]),
      spread: pick([0, 0.1, 0.2]),
      hogs: pick([0, 0, 1]),
      seed: i + 1,
    }
    const change = pick([
      { workers: w.workers * 2 },
      { workers: w.workers + 1 },
      { depth: w.depth * 2 },
      { workers: 1 },
    ])
    yield { w, change }
  }
}

/** Predictions beside the truth: another run, with the change made. Others' use of the cores is known in both. */
const predictions = [...grid(60)].map(({ w, change }) => {
  const e = simulate(w)
  const a = account(e)
  const after = simulate({ ...w, ...change, seed: 99 })
  const truth = account(after).stepMs
  const known = { ...change, cores: w.cores - after.host!.otherCores }
  const formula = predict(fitted(e), known)
  const gain = a.stepMs / truth - 1
  return {
    w,
    change,
    formula: Math.abs(formula.stepMs / truth - 1),
    replayed: Math.abs(replay(e, known, a).stepMs / truth - 1),
    covered: formula.interval[0] <= gain && gain <= formula.interval[1],
  }
})

function fitted(e: Evidence) {
  return fitModel(e, account(e))
}

function within(limit: number, of: (p: (typeof predictions)[number]) => number): number {
  return predictions.filter(p => of(p) <= limit).length / predictions.length
}

describe('fit', () => {
  test('finds the costs back that a run was computed with', () => {
    for (const { w } of grid(12)) {
      const f = fitted(simulate({ ...w, spread: 0.1, steps: 300 }))
      expect(Math.abs(f.cpu.value / w.cpu - 1)).toBeLessThan(0.1)
      expect(f.blocked.value).toBeGreaterThan(0.9 * w.blocked - 0.05)
      expect(f.blocked.value).toBeLessThan(1.1 * w.blocked + 0.05)
      expect(f.step.value).toBeGreaterThan(w.step - 0.01)
      expect(f.step.value).toBeLessThan(1.02 * w.step + 0.3)
    }
  })

  test('is less certain of what varies more', () => {
    const [even, uneven] = [0.02, 0.4].map(spread => fitted(simulate({ ...BASE, spread })).cpu.sigma)
    expect(uneven).toBeGreaterThan(2 * even)
  })

  test("leaves others' and the trainer's cores to them", () => {
    const free = fitted(simulate(BASE)).cores.value
    const shared = fitted(simulate({ ...BASE, hogs: 1, stepCpu: 1 })).cores.value
    expect(free).toBeCloseTo(4, 1)
    expect(shared).toBeGreaterThan(2)
    expect(shared).toBeLessThan(2.7)
  })

  test('without CPU times takes reading for waiting, and says so', () => {
    const e = simulate(BASE)
    const f = fitted({ ...e, makers: e.makers.map(slice => ({ ...slice, cpu: null, delay: null })) })
    expect(f.timed).toBe(false)
    expect(f.cpu.value).toBeCloseTo(1, 1)
    expect(f.blocked.value).toBeCloseTo(0.5, 1)
  })

  test('knows a limit of the storage only where twice the reads gained nothing', () => {
    const e = simulate({ ...BASE, cpu: 0.1, blocked: 3 })
    const doubled = { workers: 2, doubledWorkers: 4, before: [600, 610], after: [615, 600] }
    expect(fitted(e).bytesPerMs).toBeNull()
    expect(
      fitted({ ...e, probes: { ...e.probes, doubled: { ...doubled, after: [900, 950] } } }).bytesPerMs,
    ).toBeNull()
    const limited = fitted({ ...e, probes: { ...e.probes, doubled } })
    expect(limited.bytesPerMs).toBeGreaterThan(0)
    expect(predict(limited, { workers: 8 }).gain).toBeLessThan(0.03)
    expect(predict(limited, { workers: 8, bytesPerSecond: 2 }).gain).toBeGreaterThan(0.5)
  })
})

describe('predict', () => {
  test('agrees with runs that were changed', () => {
    expect(within(0.15, p => p.formula)).toBeGreaterThanOrEqual(0.93)
    expect(within(0.25, p => p.formula)).toBeGreaterThanOrEqual(0.98)
  })

  test('has the truth in its intervals', () => {
    expect(predictions.filter(p => p.covered).length / predictions.length).toBeGreaterThanOrEqual(0.92)
  })

  test('predicts nothing of no change', () => {
    for (const { w } of grid(10)) expect(Math.abs(predict(fitted(simulate(w)), {}).gain)).toBeLessThan(0.001)
  })

  test('sees no gain of more workers where cores are full', () => {
    const f = fitted(simulate({ ...BASE, workers: 2, cores: 2, blocked: 0, step: 2 }))
    expect(Math.abs(predict(f, { workers: 4 }).gain)).toBeLessThan(0.02)
    expect(predict(f, { workers: 4 }).bound).toBe('cores')
    expect(predict(f, { workers: 4, cores: 4 }).gain).toBeGreaterThan(0.8)
  })

  test('knows that more makers get a larger share of cores that others want, too', () => {
    const w = { ...BASE, workers: 2, cores: 2, blocked: 0, step: 2, hogs: 2 }
    const f = fitted(simulate(w))
    expect(f.crowd).toBeCloseTo(2, 0)
    const truth = account(simulate(w)).stepMs / account(simulate({ ...w, workers: 4 })).stepMs - 1
    expect(Math.abs(predict(f, { workers: 4 }).gain - truth)).toBeLessThan(0.1)
    expect(fitted(simulate({ ...w, hogs: 0, workers: 4 })).crowd).toBeLessThan(0.3)
  })

  test('knows that makers make batches ahead, where there were none', () => {
    const w = { ...BASE, workers: 0, claims: 1, blocked: 0, step: 20 }
    const e = simulate(w)
    const truth = account(e).stepMs / account(simulate({ ...w, workers: 2 })).stepMs - 1
    expect(truth).toBeGreaterThan(0.5)
    expect(predict(fitted(e), { workers: 2 }).gain).toBeCloseTo(truth, 1)
    expect(replay(e, { workers: 2 }).gain).toBeCloseTo(truth, 1)
    expect(predict(fitted(e), { workers: 2 }).bound).toBe('trainer')
  })

  test('knows that workers of a loader of others bring slots of their own', () => {
    const w = { ...BASE, workers: 2, depth: 4, claims: 1, cores: 16, step: 4 }
    const e = simulate(w)
    e.facts.foreign = 'torch.utils.data.DataLoader'
    const truth = account(e).stepMs / account(simulate({ ...w, workers: 6, depth: 12 })).stepMs - 1
    expect(truth).toBeGreaterThan(1.5)
    expect(predict(fitted(e), { workers: 6 }).gain / truth).toBeCloseTo(1, 1)
  })

  test('sees what a longer step hides', () => {
    const f = fitted(simulate({ ...BASE, cpu: 1, blocked: 0, step: 6 }))
    expect(predict(f, { stepMs: 20 })).toMatchObject({ bound: 'trainer' })
    expect(predict(f, { stepMs: 20 }).lost).toBeLessThan(0.02)
  })
})

describe('replay', () => {
  test('agrees with runs that were changed', () => {
    expect(within(0.1, p => p.replayed)).toBeGreaterThanOrEqual(0.98)
    expect(within(0.35, p => p.replayed)).toBe(1)
  })

  test('sees slow samples, and what more depth does for them', () => {
    const w: Workload = {
      ...BASE,
      workers: 3,
      depth: 2,
      cpu: 0.5,
      blocked: 0,
      step: 5,
      slowShare: 0.01,
      slowBy: 30,
      steps: 500,
    }
    const e = simulate(w)
    const a = account(e)
    const truth = a.stepMs / account(simulate({ ...w, depth: 8 })).stepMs - 1
    expect(truth).toBeGreaterThan(0.05)
    expect(replay(e, { depth: 8 }, a).gain).toBeGreaterThan(truth / 2)
    expect(replay(e, { depth: 8 }, a).gain).toBeLessThan(truth * 2)
  })

  test('gives the same twice', () => {
    const e = simulate({ ...BASE, spread: 0.3 })
    expect(replay(e, { workers: 3 })).toEqual(replay(e, { workers: 3 }))
  })
})
