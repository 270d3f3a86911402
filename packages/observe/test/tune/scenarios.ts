/** Runs that a tuner must do well in: the work, the machine, and what happens on it. */
import type { PlantSetting, PlantWorkload } from '../../../../test/support/simulated/plant.js'
import type { Scenario } from './closed-loop.js'

/** Noise that all have, but those that are about another one: the machine's speed, its signals. */
const NOISE = { noise: 0.07, told: { noise: 0.03 } }
const SMALL_NOISE = { noise: 0.02, told: { noise: 0.02 } }
/** A JPEG of ImageNet: decode and crop (ms), its bytes. */
const JPEG = { cpu: 5, blocked: 0.3, bytes: 1.1e5, spread: 0.25, overhead: 0.002, ...NOISE }

function scenario(
  name: string,
  workload: PlantWorkload,
  more: Omit<Partial<Scenario>, 'name' | 'workload'> = {},
): Scenario {
  const rows = Math.max(1, Math.floor(workload.rows / 8))
  return { name, workload, claim: { rows, least: 1, most: workload.rows }, ...more }
}

/** Something that comes and goes: `there` for `every` ms, away for `every` ms. */
function turns(
  every: number,
  there: Partial<PlantWorkload>,
  away: Partial<PlantWorkload>,
): NonNullable<Scenario['events']> {
  return Array.from({ length: 40 }, (_, i) => ({ at: (i + 1) * every, change: i % 2 === 0 ? there : away }))
}

const jpeg = { ...JPEG, cores: 8, rows: 64, step: 100 }
const latency = { ...NOISE, cores: 8, rows: 64, cpu: 0.2, blocked: 12, step: 40, spread: 0.3 }
const bandwidth = {
  ...NOISE,
  cores: 8,
  rows: 32,
  cpu: 0.5,
  blocked: 0.5,
  bytes: 4e5,
  bytesPerMs: 8e5,
  step: 10,
  spread: 0.2,
}

export const SCENARIOS: Scenario[] = [
  scenario('jpeg, 2 cores', { ...JPEG, cores: 2, rows: 32, step: 50 }),
  scenario('jpeg, 8 cores', { ...JPEG, cores: 8, rows: 64, step: 30 }),
  scenario('jpeg, 16 cores, the trainer nearly limits', { ...JPEG, cores: 16, rows: 128, step: 45 }),
  scenario('jpeg, 64 cores', { ...JPEG, cores: 64, rows: 256, step: 40 }),
  scenario('jpeg, 64 cores, too many makers harm', {
    ...JPEG,
    cores: 64,
    rows: 256,
    step: 15,
    overhead: 0.01,
  }),
  scenario('jpeg, steps of 20 ms', { ...JPEG, cores: 8, rows: 16, step: 20 }),
  scenario('large pictures, few rows', { ...JPEG, cores: 8, rows: 8, cpu: 60, blocked: 5, step: 90 }),
  scenario('storage with latency', latency),
  scenario('storage with latency, steps of 10 ms', { ...latency, rows: 16, blocked: 8, step: 10 }),
  scenario('storage with much latency, 2 cores', { ...latency, cores: 2, rows: 32, blocked: 40, step: 60 }),
  scenario('storage with bandwidth', bandwidth),
  scenario('storage with bandwidth, that is enough', { ...bandwidth, bytesPerMs: 2e6 }),
  scenario('slow samples: variance', {
    ...SMALL_NOISE,
    cores: 8,
    rows: 16,
    cpu: 1.2,
    blocked: 0,
    step: 6,
    spread: 0.2,
    slowShare: 0.003,
    slowBy: 60,
  }),
  scenario('slow reads, few and far between', {
    ...SMALL_NOISE,
    cores: 4,
    rows: 32,
    cpu: 0.1,
    blocked: 0.6,
    step: 12,
    spread: 0.2,
    slowShare: 0.001,
    slowBy: 200,
  }),
  scenario(
    'small rows: one claim holds the batch',
    { ...NOISE, cores: 8, rows: 32, cpu: 1.5, blocked: 0, claimCpu: 0.02, step: 8 },
    { claim: { rows: 32, least: 1, most: 32 } },
  ),
  scenario(
    'functions in processes: claims cost more than rows',
    { ...NOISE, cores: 4, rows: 64, cpu: 0.1, blocked: 0, claimCpu: 1.5, step: 10 },
    { claim: { rows: 2, least: 1, most: 64 } },
  ),
  scenario('tiny rows, a quick step', {
    ...NOISE,
    cores: 8,
    rows: 256,
    cpu: 0.05,
    blocked: 0,
    claimCpu: 0.05,
    step: 9,
  }),
  scenario('the GPU limits: one worker is enough', {
    ...NOISE,
    cores: 16,
    rows: 64,
    cpu: 0.5,
    blocked: 0.1,
    step: 120,
    spread: 0.2,
  }),
  scenario('the GPU limits, with slow steps', {
    ...NOISE,
    cores: 8,
    rows: 32,
    cpu: 4,
    blocked: 0.5,
    step: 900,
    stepSpread: 0.05,
    spread: 0.2,
  }),
  scenario('the step is CPU: workers crowd it', {
    ...NOISE,
    cores: 4,
    rows: 32,
    cpu: 1,
    blocked: 0.1,
    step: 40,
    stepCpu: 1,
    stepThreads: 2,
    spread: 0.2,
  }),
  scenario('half of the step is CPU, 2 cores', {
    ...NOISE,
    cores: 2,
    rows: 32,
    cpu: 1.2,
    blocked: 0.2,
    step: 50,
    stepCpu: 0.5,
    spread: 0.2,
  }),
  scenario('neighbours come and go every 20 s', jpeg, { events: turns(20_000, { hogs: 4 }, { hogs: 0 }) }),
  scenario(
    'neighbours come and go every 20 s, CPU-bound',
    { ...jpeg, step: 30 },
    { events: turns(20_000, { hogs: 6 }, { hogs: 0 }), mostWorkers: 12 },
  ),
  scenario(
    'neighbours come and go every 7 s',
    { ...jpeg, step: 45 },
    { events: turns(7_000, { hogs: 3 }, { hogs: 0 }), mostWorkers: 12 },
  ),
  scenario('neighbours stay', { ...jpeg, step: 60, hogs: 4 }),
  scenario('the step doubles', { ...jpeg, step: 30 }, { events: [{ at: 45_000, change: { step: 60 } }] }),
  scenario('the step halves', { ...latency, step: 80 }, { events: [{ at: 30_000, change: { step: 40 } }] }),
  scenario(
    'a cold epoch, then warm ones',
    { ...latency, cpu: 2 },
    { events: [{ at: 40_000, change: { blocked: 0.3 } }] },
  ),
  scenario(
    'the storage gets slow',
    { ...latency, blocked: 3 },
    { events: [{ at: 25_000, change: { blocked: 12 } }] },
  ),
  scenario('4 ranks, unequal steps', {
    ...jpeg,
    cores: 16,
    rows: 32,
    step: 60,
    ranks: 4,
    rankSteps: [1, 0.9, 1.1, 0.8],
  }),
  scenario('4 ranks wait for storage', { ...latency, cores: 16, rows: 32, blocked: 10, step: 40, ranks: 4 }),
  scenario('8 ranks share 16 cores', { ...jpeg, cores: 16, rows: 16, cpu: 4.5, step: 60, ranks: 8 }),
  scenario('without noise', { ...jpeg, noise: 0, told: { noise: 0 } }),
  scenario('noise of 7 %, latency', { ...latency, blocked: 6, noise: 0.07 }),
  scenario('CPU told 30 % too low', { ...jpeg, step: 60, told: { noise: 0.03, cpu: 0.7 } }),
  scenario('CPU told 30 % too high', { ...jpeg, step: 60, told: { noise: 0.03, cpu: 1.3 } }),
  scenario('cores told 30 % too few', { ...jpeg, step: 60, told: { noise: 0.03, cores: 0.7 } }),
  scenario('cores told 30 % too many', { ...jpeg, step: 30, told: { noise: 0.03, cores: 1.3 } }),
  scenario(
    'latency, CPU told 30 % too high, neighbours',
    { ...latency, cpu: 1, told: { noise: 0.03, cpu: 1.3 } },
    { events: turns(20_000, { hogs: 5 }, { hogs: 0 }) },
  ),
  scenario('memory for few slots', {
    ...latency,
    cores: 4,
    rows: 32,
    step: 50,
    slotBytes: 5e8,
    memoryBytes: 6e9,
  }),
]

/** As an engine starts. */
export function defaultStart({ workload, claim }: Scenario): PlantSetting {
  const { cores, ranks = 1 } = workload
  return { workers: Math.max(1, cores - Math.max(1, 2 * ranks)), depth: 4, claimRows: claim.rows, ahead: 0 }
}

/** Starts that are bad, each by its name. `best` is the best setting of the grid. */
export function badStarts(scenario: Scenario, best: PlantSetting): Record<string, PlantSetting> {
  const start = defaultStart(scenario)
  return {
    'one worker': { ...start, workers: 1 },
    'twice the cores': { ...start, workers: 2 * scenario.workload.cores },
    'depth 1': { ...start, depth: 1 },
    'depth 32': { ...start, depth: 32 },
    'half of the best': {
      ...best,
      workers: Math.max(1, best.workers >> 1),
      depth: Math.max(1, best.depth >> 1),
    },
  }
}
