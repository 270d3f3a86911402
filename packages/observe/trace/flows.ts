/**
 * Arrows from the claims of a batch over its close to the step that used it. All parts of an arrow are given out at once, when
 * its end is known: none is left without the others, whenever the run ends and whatever records are missing.
 */
import { TICKS_PER_US, type TraceEvent } from './events.js'

/** A moment within a slice. */
export interface FlowPoint {
  pid: number
  tid: number
  ts: number
}

/** A step, or several that were joined: batches from `first`, `count` of them. */
export interface FlowStep {
  pid: number
  tid: number
  start: number
  end: number
  first: number
  count: number
}

/** Batches that a ring remembers without seeing them used, beside those that came a moment ago. */
const MOST_BATCHES = 1024
/** For so many calls of `settle` a batch is remembered in any case: its step may be read after the next call. */
const RECENT = 3
/** Claims that a batch remembers. */
const MOST_CLAIMS = 256

interface Batch {
  /** By how many calls of `settle` it was seen. */
  settled: number
  claims: FlowPoint[]
  close?: FlowPoint
}

interface Ring {
  batches: Map<number, Batch>
  /** Steps that wait for records of workers, which come a little later; `seen`: since the last call of `settle`. */
  steps: { step: FlowStep; seen: boolean }[]
  lastStep: number
  /** The batch behind those of the last step. */
  next: number
  lastStart: number
}

export class Flows {
  private readonly rings = new Map<string, Ring>()
  private last = 0

  constructor(private readonly out: (event: TraceEvent) => void) {}

  claimed(ring: string, batch: number, point: FlowPoint): void {
    const { claims } = this.batch(ring, batch)
    if (claims.length < MOST_CLAIMS) claims.push(point)
  }

  closed(ring: string, batch: number, point: FlowPoint): void {
    this.batch(ring, batch).close = point
  }

  stepped(ring: string, step: FlowStep): void {
    this.ring(ring).steps.push({ step, seen: false })
  }

  /** Draws the arrows to steps that have waited since the last call; or to all. */
  settle(all: boolean): void {
    for (const ring of this.rings.values()) {
      let drawn = 0
      for (const waiting of ring.steps) {
        if (!all && !waiting.seen) break
        this.draw(ring, waiting.step)
        drawn++
      }
      ring.steps.splice(0, drawn)
      for (const waiting of ring.steps) waiting.seen = true
      forget(ring)
    }
  }

  private draw(ring: Ring, step: FlowStep): void {
    const { batches } = ring
    if (step.first < ring.lastStep) {
      // The feed was moved, and batches are counted anew: claims of the old ones don't count any more.
      for (const batch of batches.values()) {
        batch.claims = batch.claims.filter(({ ts }) => ts >= ring.lastStart)
        if (batch.close !== undefined && batch.close.ts < ring.lastStart) batch.close = undefined
      }
    }
    ring.lastStep = step.first
    ring.next = step.first + step.count
    ring.lastStart = step.start
    const end = step.start + Math.min(TICKS_PER_US, (step.end - step.start) >> 1)
    for (let number = step.first; number < step.first + step.count; number++) {
      const batch = batches.get(number)
      if (batch === undefined) continue
      batches.delete(number)
      for (const claim of batch.claims) {
        // Joined records have the number of their first batch: what lies behind the step's beginning was for another one.
        if (claim.ts >= step.start) continue
        const id = ++this.last
        const { close } = batch
        this.out({ type: 'flow', at: 'start', id, ...claim })
        if (close !== undefined && close.ts > claim.ts && close.ts < step.start)
          this.out({ type: 'flow', at: 'step', id, ...close })
        this.out({ type: 'flow', at: 'end', id, pid: step.pid, tid: step.tid, ts: end })
      }
    }
  }

  private batch(key: string, number: number): Batch {
    const { batches } = this.ring(key)
    let batch = batches.get(number)
    if (batch === undefined) {
      batch = { settled: 0, claims: [] }
      batches.set(number, batch)
    }
    return batch
  }

  private ring(key: string): Ring {
    let ring = this.rings.get(key)
    if (ring === undefined) {
      ring = { batches: new Map(), steps: [], lastStep: -1, next: 0, lastStart: 0 }
      this.rings.set(key, ring)
    }
    return ring
  }
}

/**
 * Forgets what was made for batches before the last step, and the oldest of those that no step uses. What was made after that
 * step began, of a smaller number, is of a feed that was moved: its steps are still to come.
 */
function forget({ batches, next, lastStart }: Ring): void {
  for (const [number, batch] of batches) {
    const used = number < next && batch.claims.every(({ ts }) => ts < lastStart)
    if (used || (batches.size > MOST_BATCHES && batch.settled >= RECENT)) batches.delete(number)
    batch.settled++
  }
}
