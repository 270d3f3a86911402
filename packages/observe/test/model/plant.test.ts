/** The computed run beside what is known of it: laws of queues, limits that can be worked out, and what a change does. */
import { describe, expect, test } from 'vitest'
import { Plant, type PlantSetting, type PlantWorkload } from '../../../../test/support/simulated/plant.js'
import { account } from '../../account/account.js'
import { fitModel, workOf } from '../../model/fit.js'

const WORK: PlantWorkload = { cores: 4, rows: 16, cpu: 1, blocked: 0.5, step: 3 }
const SETTING: PlantSetting = { workers: 2, depth: 4, claimRows: 4, ahead: 0 }

/** Samples/s after the first 2 s. */
function rateOf(work: Partial<PlantWorkload>, setting: Partial<PlantSetting> = {}, seed = 1): number {
  const plant = new Plant({ ...WORK, ...work }, { ...SETTING, ...setting }, seed)
  plant.advance(12_000)
  return plant.rate(2000, 12_000)
}

function near(value: number, expected: number, share = 0.03): void {
  expect(Math.abs(value / expected - 1), `${value} beside ${expected}`).toBeLessThan(share)
}

describe('what limits a run', () => {
  test('makers: each carries a claim from reading to closing', () => {
    near(rateOf({ step: 0.1 }), 2000 / 1.5)
    near(rateOf({ step: 0.1 }, { workers: 4 }), 4000 / 1.5)
  })

  test('cores, shared evenly with neighbours', () => {
    near(rateOf({ step: 0.1, blocked: 0 }, { workers: 8, depth: 8 }), 4000)
    near(rateOf({ step: 0.1, blocked: 0, hogs: 4 }, { workers: 4, depth: 8 }), 2000)
    near(rateOf({ step: 0.1, blocked: 0, hogs: 4 }, { workers: 12, depth: 8 }), 3000)
  })

  test('the trainer', () => near(rateOf({ step: 20 }), 800))

  test('the trainer and its makers one after the other, with depth 1 or without workers', () => {
    near(rateOf({ step: 20 }, { depth: 1 }), 16_000 / (20 + 12))
    near(rateOf({ step: 20 }, { workers: 0 }), 16_000 / (20 + 24))
  })

  test('the bytes that the storage gives to all', () => {
    const storage = { step: 0.1, cpu: 0.1, blocked: 0.1, bytes: 1e5, bytesPerMs: 1e5, spread: 0.2 }
    near(rateOf(storage, { workers: 8 }), 1000)
    near(rateOf(storage, { workers: 16, depth: 8 }), 1000)
  })

  test('claims, where rows cost little', () => {
    const tiny = { step: 0.1, cpu: 0.01, blocked: 0, claimCpu: 0.2 }
    near(rateOf(tiny, { workers: 1, claimRows: 1 }), 1000 / 0.21)
    near(rateOf(tiny, { workers: 1, claimRows: 16 }), 16_000 / 0.36)
  })

  test('makers beyond the cores, which are in the way', () => {
    const work = { step: 0.1, blocked: 0, overhead: 0.02 }
    near(rateOf(work, { workers: 4, depth: 8 }), 4000)
    near(rateOf(work, { workers: 24, depth: 8 }), 4000 / 1.4)
  })

  test('makers that take cores from a step that is CPU', () => {
    const work = { step: 10, stepCpu: 0.5, cores: 2, cpu: 0.3, blocked: 0 }
    expect(rateOf(work, { workers: 1 })).toBeGreaterThan(1.05 * rateOf(work, { workers: 8 }))
  })

  test('memory: slots beyond it make all slower', () => {
    const work = { step: 0.1, slotBytes: 1e9, memoryBytes: 6e9 }
    expect(rateOf(work, { depth: 12 })).toBeLessThan(0.5 * rateOf(work, { depth: 6 }))
  })

  test('hints hide waiting', () => {
    const work = { step: 0.1, hintGain: 0.8, hintReach: 4 }
    near(rateOf(work, { ahead: 4 }), 2000 / 1.1)
    near(rateOf(work, { ahead: 2 }), 2000 / 1.3)
  })

  test('the slowest of ranks that go in step', () => {
    near(rateOf({ step: 10, ranks: 4, rankSteps: [1, 2, 0.5, 1] }, { workers: 8 }), 4 * 800)
    near(rateOf({ step: 1, ranks: 2, blocked: 0, cores: 8 }, { workers: 4 }), 4000)
  })
})

describe('evidence', () => {
  test("obeys Little's law: claims that are open are their rate × their time", () => {
    for (const workers of [2, 4, 8]) {
      const plant = new Plant({ ...WORK, spread: 0.3, noise: 0.05 }, { ...SETTING, workers, depth: 8 })
      plant.advance(6000)
      const { claims = [], makers } = plant.evidence(1000, 6000)
      const time = claims.reduce((sum, { ms }) => sum + ms, 0)
      const open = makers.reduce((sum, { work }) => sum + workOf(work), 0)
      near(open, time, 0.02)
      const whole = makers.reduce((sum, { work, wait, idle }) => sum + workOf(work) + wait + idle, 0)
      near(whole, 5000 * workers, 0.001)
    }
  })

  test('of CPU and cores is what the machine gave', () => {
    const plant = new Plant({ ...WORK, hogs: 2, stepCpu: 0.5, noise: 0.07 }, { ...SETTING, workers: 4 })
    plant.advance(8000)
    const { host, makers } = plant.evidence(2000, 8000)
    near(makers.reduce((sum, { cpu }) => sum + (cpu ?? 0), 0) / 6000, host!.engineCores)
    const { engineCores, trainerCores, otherCores, idleCores } = host!
    near(engineCores + trainerCores + otherCores + idleCores, 4, 0.001)
  })

  test('of two windows beside each other is that of both', () => {
    const plant = new Plant({ ...WORK, spread: 0.2 }, { ...SETTING, workers: 3 })
    plant.advance(4000)
    const rows = (from: number, to: number) =>
      plant.evidence(from, to).makers.reduce((sum, slice) => sum + slice.rows, 0)
    expect(rows(500, 1700) + rows(1700, 3500)).toBeCloseTo(rows(500, 3500), 6)
  })

  test('is wrong as it is told to be', () => {
    const truth = new Plant(WORK, SETTING)
    const wrong = new Plant({ ...WORK, told: { cpu: 0.7, cores: 1.3 } }, SETTING)
    for (const plant of [truth, wrong]) plant.advance(5000)
    const [right, off] = [truth, wrong].map(plant => plant.evidence(1000, 5000))
    expect(off.facts.cores).toBeCloseTo(1.3 * right.facts.cores)
    expect(off.host!.engineCores).toBeCloseTo(0.7 * right.host!.engineCores)
    near(fitModel(off, account(off)).cpu.value, 0.7 * fitModel(right, account(right)).cpu.value, 0.01)
    expect(off.steps).toEqual(right.steps)
  })

  test('is the same from the same seed, however often it is asked for', () => {
    const work = { ...WORK, noise: 0.07, spread: 0.3, slowShare: 0.01, slowBy: 20, told: { noise: 0.05 } }
    const [one, other] = [3, 3].map(seed => new Plant(work, SETTING, seed))
    one.advance(5000)
    for (let i = 0; i < 50; i++) {
      other.advance(100)
      other.evidence(0, other.now)
    }
    const [a, b] = [one, other].map(plant => plant.evidence(1000, 5000))
    expect(a.steps.length).toBe(b.steps.length)
    near(a.steps.at(-1)!.asked, b.steps.at(-1)!.asked, 1e-6)
    expect(one.evidence(1000, 5000)).toEqual(a)
  })

  test('forgets what is older than a minute', () => {
    const plant = new Plant({ ...WORK, step: 1 }, SETTING)
    plant.advance(200_000)
    const { steps, makers, claims } = plant.evidence(0, plant.now)
    expect(steps[0].asked).toBeGreaterThan(130_000)
    expect(makers[0].from).toBeGreaterThan(130_000)
    expect(claims!.length).toBeLessThan(10_000)
  })

  test('has the ranks', () => {
    const plant = new Plant(
      { ...WORK, ranks: 3, rankSteps: [1, 3, 1], noise: 0.07 },
      { ...SETTING, workers: 6 },
    )
    plant.advance(10_000)
    const { ranks, facts } = plant.evidence(2000, 10_000, 1)
    expect(facts).toMatchObject({ rank: 1, world: 3 })
    expect(ranks).toHaveLength(3)
  })
})

test('the speed of the machine varies as it is told to', () => {
  const plant = new Plant({ ...WORK, step: 0.01, blocked: 0, noise: 0.07 }, SETTING)
  const logs: number[] = []
  for (let i = 0; i < 600; i++) {
    plant.advance(1000)
    logs.push(Math.log(plant.rate(plant.now - 1000, plant.now)))
  }
  const mean = logs.reduce((sum, one) => sum + one, 0) / logs.length
  const moment = (lag: number) =>
    logs.slice(lag).reduce((sum, one, i) => sum + (one - mean) * (logs[i] - mean), 0) / (logs.length - lag)
  expect(Math.sqrt(moment(0))).toBeGreaterThan(0.05)
  expect(Math.sqrt(moment(0))).toBeLessThan(0.08)
  expect(moment(1) / moment(0)).toBeGreaterThan(0.4)
  expect(moment(8) / moment(0)).toBeLessThan(0.25)
})

describe('a change', () => {
  test('of workers: more start after some time, fewer leave after their claims', () => {
    const plant = new Plant(WORK, SETTING)
    plant.advance(1000)
    plant.set({ workers: 6 })
    plant.advance(200)
    expect(plant.alive).toBe(2)
    plant.advance(100)
    expect(plant.alive).toBe(6)
    plant.set({ workers: 1 })
    expect(plant.alive).toBeGreaterThan(1)
    plant.advance(50)
    expect(plant.alive).toBe(1)
    plant.set({ workers: 3 })
    plant.set({ workers: 2 })
    plant.advance(1000)
    expect(plant.alive).toBe(2)
    plant.advance(4000)
    near(plant.rate(3000, 6300), 2000 / 1.5)
  })

  test('of the work shows in its rate', () => {
    const plant = new Plant({ ...WORK, step: 10 }, { ...SETTING, workers: 4 })
    plant.advance(5000)
    plant.disturb({ step: 20 })
    plant.advance(5000)
    near(plant.rate(1000, 5000), 1600)
    near(plant.rate(6000, 10_000), 800)
    plant.disturb({ step: 0.1, hogs: 12, blocked: 0 })
    plant.advance(5000)
    near(plant.rate(11_000, 15_000), 1000)
  })

  test('of depth and claims holds from the next batch on', () => {
    const plant = new Plant({ ...WORK, step: 20 }, { ...SETTING, depth: 8 })
    plant.advance(3000)
    plant.set({ depth: 1, claimRows: 16 })
    plant.advance(3000)
    near(plant.rate(4000, 6000), 16_000 / (20 + 24), 0.05)
    expect(plant.evidence(0, 2000).facts).toMatchObject({ depth: 8, claims: 4 })
    expect(plant.evidence(4000, 6000).facts).toMatchObject({ depth: 1, claims: 1 })
  })
})
