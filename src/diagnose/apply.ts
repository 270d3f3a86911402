/** `--apply`: applies the best remedy that can be applied from here, measures in turns whether it gains, and keeps it if so. */
import type { Diagnosis, Remedy } from '../observe/evidence.js'
import { bestFirst } from '../observe/verdict/remedies.js'
import { type Bench, gainOf, inTurns, type Setting } from './bench.js'
import { TURN } from './experiments.js'

export interface Applied {
  /** Null: none of the remedies can be applied from here. */
  action: string | null
  set: Setting | null
  predictedGain: number | null
  interval: [number, number] | null
  measuredGain: number | null
  /** Samples/s of each turn. */
  before: number[]
  after: number[]
  kept: boolean
}

/** Rates of turns differ by so much anyway: less is no loss. */
const NOISE = 0.03

export async function applyBest(bench: Bench, diagnosis: Diagnosis): Promise<Applied> {
  const remedy = bestOf(diagnosis.remedies)
  if (remedy?.set === undefined)
    return {
      ...{ action: null, set: null, predictedGain: null, interval: null, measuredGain: null },
      ...{ before: [], after: [], kept: false },
    }
  const { action, set, predictedGain, interval } = remedy
  const { before, after } = await inTurns(bench, set, TURN)
  // A trainer that took no batch meanwhile says nothing: then all stays as it was.
  const measuredGain = before.length > 0 && after.length > 0 ? gainOf({ before, after }) : null
  const kept = measuredGain !== null && measuredGain > -NOISE
  if (kept) await bench.set(set)
  return { action, set, predictedGain, interval, measuredGain, before, after, kept }
}

/** The one that is expected to gain most, of those that can be set. */
function bestOf(remedies: readonly Remedy[]): Remedy | undefined {
  return remedies.filter(({ set }) => set !== undefined).sort(bestFirst)[0]
}
