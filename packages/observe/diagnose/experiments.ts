/** Experiments on a run: each only where it decides something, in turns, and undone afterwards. */

import { STALL } from '../../core/deliver/protocol-facts.js'
import { monotonicMs } from '../../core/spans/clock.js'
import { account } from '../account/account.js'
import { collect } from '../account/collect.js'
import type { SpanSource } from '../account/source.js'
import type { Accounting, Evidence, Probes, StepTimes } from '../evidence.js'
import { Check } from '../tune/check.js'
import type { Room, Seen } from '../tune/seen.js'
import type { FeedRun } from './feed-run.js'

/** Workers of a ring at most. */
const MOST_WORKERS = 256
/** Blocked for so much of their whole time, workers are looked at with twice as many reads in flight. */
const BLOCKED = 0.5
/** A part of a step that is smaller is not looked into. */
const LEAST = 0.03

/** What the tuner may set: a check of one change does not ask. */
const ROOM: Room = { workers: MOST_WORKERS, depth: 0, claim: null, freeBytes: 0, workerBytes: 0 }

/** Whether it has to be known what twice the reads in flight would do. */
export function needsDoubling({ facts }: Evidence, { parts, makers }: Accounting): boolean {
  const supply = parts.running + parts.queued + parts.blocked + parts.noSlot
  if (facts.workers === 0 || supply < LEAST) return false
  // A part that is worth a name, be it the second one, is told apart.
  return parts.blocked >= LEAST || makers.blocked >= BLOCKED
}

/** Samples/s with twice the workers: as many more reads are in flight. The tuner's check of that change; undone at the end. */
export async function double(
  run: FeedRun,
  source: SpanSource,
  evidence: Evidence,
): Promise<Pick<Probes, 'doubled' | 'bytesPerSecond'>> {
  const { workers } = run
  const doubledWorkers = Math.min(MOST_WORKERS, 2 * workers)
  if (doubledWorkers === workers) return {}
  // The machine is not looked at for each turn: rates are compared as they are.
  const seen = (window: Evidence): Seen => ({
    ring: 0,
    feed: '',
    room: ROOM,
    evidence: { ...window, host: null },
  })
  const change = { ring: 0, knob: 'workers' as const, from: workers, to: doubledWorkers, predicted: null }
  const check = new Check(change, { ...seen(evidence), accounting: account(evidence) }, monotonicMs())
  let { settings } = check.begin(monotonicMs())
  let bytesPerSecond = 0
  try {
    for (let over = false; !over; settings = check.take()) {
      for (const { value } of settings) await run.setWorkers(value)
      await run.goOn((check.until - monotonicMs()) / 1000)
      const now = monotonicMs()
      const windows = check.measures ? [collect(source, { from: check.from, to: now })] : []
      for (const window of windows)
        bytesPerSecond = Math.max(bytesPerSecond, account(window).io.bytesPerSecond)
      over = check.goOn(now, windows.map(seen)) !== undefined
    }
  } finally {
    await run.setWorkers(workers)
  }
  return { doubled: { workers, doubledWorkers, ...check.rates }, bytesPerSecond }
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
