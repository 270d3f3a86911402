/** The best settings of a scenario, out of a grid: each point is run, and the best are run again, longer and with another seed. */
import { createHash } from 'node:crypto'
import type { PlantSetting } from '../../../../test/support/simulated/plant.js'
import { closedLoop, rateOf, type Scenario } from './closed-loop.js'

const WORKERS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]
const DEPTHS = [2, 4, 8, 32]
/** Points that are run again, and that are kept. */
const AGAIN = 6
const KEPT = 3
/** Seconds of a run, and from when on it counts: long, where something happens meanwhile. */
const TIMES = { quiet: { from: 3, to: 20 }, busy: { from: 60, to: 120 }, again: { from: 60, to: 180 } }

export interface Best {
  /** Of the scenario: when that is another one, the grid is to be run again. */
  key: string
  /** The best settings with their rates (samples/s), the best first. */
  best: (PlantSetting & { rate: number })[]
}

export function keyOf({ workload, claim, events, mostWorkers }: Scenario): string {
  return createHash('sha256')
    .update(JSON.stringify({ workload, claim, events, mostWorkers }))
    .digest('hex')
    .slice(0, 16)
}

export function bestOf(scenario: Scenario): Best {
  const times = scenario.events ? TIMES.busy : TIMES.quiet
  const first = ranked([...points(scenario)], setting => measure(scenario, setting, times, 11))
  const again = ranked(first.slice(0, AGAIN), setting => measure(scenario, setting, TIMES.again, 12))
  return { key: keyOf(scenario), best: again.slice(0, KEPT) }
}

function* points({ workload: { cores, rows }, claim, mostWorkers }: Scenario): Generator<PlantSetting> {
  const claims = new Set([claim.rows, Math.max(1, rows >> 5), rows])
  for (const workers of WORKERS.filter(number => number <= (mostWorkers ?? Math.max(32, 2 * cores))))
    for (const depth of DEPTHS) for (const claimRows of claims) yield { workers, depth, claimRows, ahead: 0 }
}

function measure(
  scenario: Scenario,
  { workers, depth, claimRows, ahead }: PlantSetting,
  { from, to }: { from: number; to: number },
  seed: number,
): number {
  return rateOf(closedLoop(scenario, { workers, depth, claimRows, ahead }, to, seed), from, to)
}

function ranked<T extends PlantSetting>(settings: T[], rate: (setting: T) => number): Best['best'] {
  const all = settings.map(setting => ({ ...setting, rate: Math.round(10 * rate(setting)) / 10 }))
  return all.sort((a, b) => b.rate - a.rate)
}
