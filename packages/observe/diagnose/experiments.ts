/** Experiments on a run: each only where it decides something, in turns, and undone afterwards. */

import { STALL } from '../../core/deliver/protocol-facts.js'
import type { Accounting, Evidence, Probes, StepTimes } from '../evidence.js'
import type { FeedRun, Length } from './feed-run.js'

/** Workers of a ring at most. */
const MOST_WORKERS = 256
/** Blocked for so much of their whole time, workers are looked at with twice as many reads in flight. */
const BLOCKED = 0.5
/** A part of a step that is smaller is not looked into. */
const LEAST = 0.03

/** How long each turn of an experiment takes, and how many there are of each. */
const TURN: Length = { steps: 25, seconds: 1.2, most: 6 }
const ROUNDS = 2
/** A change is given so long to show: new workers start, and what was made before is used up. */
const SETTLE: Length = { steps: 8, seconds: 0.5, most: 4 }

/** Whether it has to be known what twice the reads in flight would do. */
export function needsDoubling({ facts }: Evidence, { parts, makers }: Accounting): boolean {
  const supply = parts.running + parts.queued + parts.blocked + parts.noSlot
  if (facts.workers === 0 || supply < LEAST) return false
  // A part that is worth a name, be it the second one, is told apart.
  return parts.blocked >= LEAST || makers.blocked >= BLOCKED
}

/**
 * Samples/s with twice the workers: as many more reads are in flight. Measured in turns, so that what drifts meanwhile falls on
 * both; undone at the end.
 */
export async function double(run: FeedRun): Promise<Pick<Probes, 'doubled' | 'bytesPerSecond'>> {
  const { workers } = run
  const doubledWorkers = Math.min(MOST_WORKERS, 2 * workers)
  if (doubledWorkers === workers) return {}
  const doubled = { workers, doubledWorkers, before: [] as number[], after: [] as number[] }
  let bytesPerSecond = 0
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [setting, rates] of [
        [workers, doubled.before],
        [doubledWorkers, doubled.after],
      ] as const) {
        await run.setWorkers(setting)
        await run.measure(SETTLE)
        const { samples, seconds, bytes } = await run.measure(TURN)
        if (seconds <= 0) continue
        rates.push(samples / seconds)
        bytesPerSecond = Math.max(bytesPerSecond, bytes / seconds)
      }
    }
  } finally {
    await run.setWorkers(workers)
  }
  return { doubled, bytesPerSecond }
}

/** Steps whose batch was at hand while makers were at work. */
export function atWork({ steps }: Evidence): Probes['atWork'] {
  return readySteps(steps.filter(step => !step.first))
}

/** How long steps took whose batch was at hand (ms), and how many there were. Undefined: none. */
function readySteps(steps: readonly StepTimes[]): { ms: number; steps: number } | undefined {
  const ready = steps.filter(isReady)
  const count = ready.reduce((sum, step) => sum + step.count, 0)
  if (count === 0) return undefined
  return { ms: ready.reduce((sum, step) => sum + step.compute, 0) / count, steps: count }
}

function isReady({ supply, count }: StepTimes): boolean {
  return supply <= STALL * count
}
