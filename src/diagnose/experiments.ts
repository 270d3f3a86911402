/** Experiments on a run: each only where it decides something, in turns, and undone afterwards. */
import type { Accounting, Evidence, Probes, StepTimes } from '../observe/evidence.js'
import { STALL } from '../observe/stall.js'
import { type Bench, inTurns, type Length } from './bench.js'

/** Workers of a ring at most. */
const MOST_WORKERS = 256
/** Blocked for so much of their time in waits, workers are looked at with twice as many reads in flight. */
const BLOCKED = 0.5
/** A part of a step that is smaller is not looked into. */
const LEAST = 0.03

/** How long each turn of an experiment takes. */
export const TURN: Length = { steps: 25, seconds: 1.2, most: 6 }

/** Whether it has to be known what twice the reads in flight would do. */
export function needsDoubling({ facts }: Evidence, { parts, makers }: Accounting): boolean {
  const supply = parts.running + parts.queued + parts.blocked + parts.noSlot
  if (facts.workers === 0 || supply < LEAST) return false
  return parts.blocked >= BLOCKED * supply || makers.blocked >= BLOCKED
}

/** Samples/s with twice the workers: as many more reads are in flight. */
export async function double(bench: Bench): Promise<Pick<Probes, 'doubled' | 'bytesPerSecond'>> {
  const { workers } = bench.setting()
  const doubledWorkers = Math.min(MOST_WORKERS, 2 * workers)
  if (doubledWorkers === workers) return {}
  const { before, after, bytesPerSecond } = await inTurns(bench, { workers: doubledWorkers }, TURN)
  return { doubled: { workers, doubledWorkers, before, after }, bytesPerSecond }
}

/** Steps whose batch was at hand while makers were at work. */
export function atWork({ steps }: Evidence): Probes['atWork'] {
  return readySteps(steps.filter(step => !step.first))
}

/** How long steps took whose batch was at hand (ms), and how many there were. Undefined: none. */
export function readySteps(steps: readonly StepTimes[]): { ms: number; steps: number } | undefined {
  const ready = steps.filter(({ supply, count }) => supply <= STALL * count)
  const count = ready.reduce((sum, step) => sum + step.count, 0)
  if (count === 0) return undefined
  return { ms: ready.reduce((sum, step) => sum + step.compute, 0) / count, steps: count }
}
