/**
 * A run that is computed from its first step to its last, with one setting. It gives the same evidence as a real one, so that
 * fit, prediction and verdicts are tried where the truth is known.
 */
import type { Evidence } from '../../../packages/observe/evidence.js'
import { Plant, type PlantWorkload } from './plant.js'

export interface Workload
  extends Pick<
    PlantWorkload,
    | 'rows'
    | 'cores'
    | 'cpu'
    | 'blocked'
    | 'step'
    | 'stepCpu'
    | 'handOver'
    | 'hogs'
    | 'spread'
    | 'slowShare'
    | 'slowBy'
  > {
  workers: number
  depth: number
  claims: number
  steps?: number
  seed?: number
}

export function simulate({ workers, depth, claims, steps = 200, seed = 1, ...workload }: Workload): Evidence {
  const setting = { workers, depth, claimRows: workload.rows / claims, ahead: 0 }
  const plant = new Plant(workload, setting, seed, Infinity)
  plant.advanceTo(steps)
  const { silentMs: _, ...evidence } = plant.evidence(0, plant.now)
  return { ...evidence, probes: { ideal: { ms: workload.step, from: 'given', steps: 0 } } }
}
