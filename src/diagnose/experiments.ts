/** Experiments on a run: each only where it decides something, in turns, and undone afterwards. */
import type { Accounting, Evidence, Probes, StepTimes } from '../observe/evidence.js'
import { STALL } from '../observe/stall.js'
import { type Bench, inTurns, type Length } from './bench.js'

/** Workers of a ring at most. */
const MOST_WORKERS = 256
/** Blocked for so much of their whole time, workers are looked at with twice as many reads in flight. */
const BLOCKED = 0.5
/** A part of a step that is smaller is not looked into. */
const LEAST = 0.03

/** One step alone tells little of what a step takes. */
const LEAST_HELD = 2

/** How long each turn of an experiment takes. */
export const TURN: Length = { steps: 25, seconds: 1.2, most: 6 }

/** Whether it has to be known what twice the reads in flight would do. */
export function needsDoubling({ facts }: Evidence, { parts, makers }: Accounting): boolean {
  const supply = parts.running + parts.queued + parts.blocked + parts.noSlot
  if (facts.workers === 0 || supply < LEAST) return false
  // A part that is worth a name, be it the second one, is told apart.
  return parts.blocked >= LEAST || makers.blocked >= BLOCKED
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

/**
 * Steps of a rest whose batch was at hand. Claims that were taken before the rest are finished first: the step in which that
 * happens is not counted where there are others. Those after the ring was empty never are: the rest was over by then.
 */
export function heldSteps(
  steps: readonly StepTimes[],
  depth: number,
): { ms: number; steps: number } | undefined {
  const held: StepTimes[] = []
  let count = 0
  for (const step of steps) {
    count += step.count
    if (count > depth + 1 || !isReady(step)) break
    held.push(step)
  }
  const found = readySteps(held.length > 1 ? held.slice(1) : held)
  return found !== undefined && found.steps >= LEAST_HELD ? found : undefined
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
