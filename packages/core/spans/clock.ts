/**
 * The clock of a claim. Workers book their time by kind of work, row by row; only the sums become spans, so that measuring
 * costs one reading of the clock for each change of work.
 */
import { SPAN_NAMES, SpanKind } from './span-words.js'

/** What of its time a claim has spent on which kind of work (ms). */
export class SpanClock {
  readonly sums = new Float64Array(SPAN_NAMES.length)
  /** The last mark, on the clock of `performance.now()`. */
  last = 0
  /** Reads of a store, and files that were opened or looked up. */
  reads = 0
  opens = 0
  private begun = false

  /** A claim begins: now, or at the end of the one before it, where the thread has gone straight on. */
  begin(at = performance.now()): void {
    this.sums.fill(0)
    this.reads = this.opens = 0
    this.last = at
    this.begun = true
    current = this
  }

  /** A claim begins of which no spans are written. */
  skip(): void {
    current = undefined
  }

  /** The claim goes on after it has waited: another one may have been at work in this thread meanwhile. */
  resume(): void {
    current = this.begun ? this : undefined
  }
}

/** The clock of the claim that this thread is at. Undefined: no spans are written. */
let current: SpanClock | undefined

/** Books the time since the last mark under `kind`. */
export function markSpan(kind: SpanKind): void {
  if (current === undefined) return
  const now = performance.now()
  current.sums[kind] += now - current.last
  current.last = now
}

/** A file was opened or looked up since `begun`, within other work, whose time it is not. */
export function countOpen(begun: number): void {
  if (current === undefined) return
  const ms = performance.now() - begun
  current.sums[SpanKind.Open] += ms
  current.last += ms
  current.opens++
}

/** Calls a function of the user's, and books its time. */
export function asMap<T>(call: () => T): T {
  const clock = current
  if (clock === undefined) return call()
  markSpan(SpanKind.Transform)
  const result = call()
  if (!(result instanceof Promise)) {
    markSpan(SpanKind.Map)
    return result
  }
  return result.finally(() => {
    clock.resume()
    markSpan(SpanKind.Map)
  }) as T
}

/** What `performance.now()` of this thread lacks to CLOCK_MONOTONIC, in ms. */
const OFFSET = offset()

/** The thread may be held up between two readings: of several tries the one counts that took least. */
function offset(): number {
  let least = Number.POSITIVE_INFINITY
  let found = 0
  for (let i = 0; i < 5; i++) {
    const before = performance.now()
    const monotonic = Number(process.hrtime.bigint()) / 1e6
    const after = performance.now()
    if (after - before >= least) continue
    least = after - before
    found = monotonic - (before + after) / 2
  }
  return found
}

/** ms of CLOCK_MONOTONIC at a reading of this thread's `performance.now()`. Python's `time.monotonic` is the same clock. */
export function monotonicMs(now = performance.now()): number {
  return now + OFFSET
}

/** The reading of this thread's `performance.now()` at a time of CLOCK_MONOTONIC (ms). */
export function onThisClock(monotonic: number): number {
  return monotonic - OFFSET
}
