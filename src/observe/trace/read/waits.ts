/**
 * How long a trainer waited for its batches, step by step. In our traces the waits and hand-overs of several steps may be
 * joined, each kind for itself: then only their number and their mean are known.
 */
import { FEED, kindOf } from '../vocabulary.js'
import type { ReadEvent } from './events.js'

type Slice = Extract<ReadEvent, { type: 'slice' }>

/** The waits of one step, or of several that were joined (µs). */
export interface Wait {
  /** The track. */
  key: string
  batch: number | null
  ts: number
  /** Of all of them. */
  dur: number
  count: number
}

export interface WaitFigures {
  /** Waits: at most one for each step. */
  count: number
  totalMs: number
  /** Where waits were joined, of their means. */
  p50: number
  p95: number
  p99: number
  max: number
  /** Each wait by itself; some are joined, and percentiles approximate; sums of a second, which have no percentiles. */
  from: 'each' | 'joined' | 'sums'
}

/** Which slices of a trace are waits of a trainer: in ours and DFTracer's, and of a PyTorch DataLoader in torch.profiler's. */
export function isWait({ cat, name }: { cat: string; name: string }): boolean {
  return (cat === 'dataloader' && name === 'fetch') || /^enumerate\(DataLoader\)#.*__next__$/.test(name)
}

interface Part extends Wait {
  /** Steps: of a wait, 0. */
  steps: number
}

/** A loop over one ring, on one track. */
interface Loop {
  steps: Part[]
  /** Waits and hand-overs whose step has not come yet. */
  waiting: Part[]
}

export class Waits {
  private readonly loops = new Map<string, Loop>()
  /** By track: slices that are waits as a whole, of traces that don't divide them. */
  private readonly whole = new Map<string, Wait[]>()
  /** Tracks whose waits are divided. */
  private readonly divided = new Set<string>()
  private sums = false

  readonly take = (event: ReadEvent): void => {
    if (event.type === 'instant' && event.cat === FEED.cat && event.name === FEED.name)
      this.sums ||= event.args.level === 'counters'
    if (event.type !== 'slice') return
    const key = `${event.pid}/${event.tid}`
    if (isWait(event)) {
      if (!this.divided.has(key)) this.add(key, event)
    } else this.part(key, event)
  }

  /** Of all steps. Null: no step waited. */
  figures(): WaitFigures | null {
    const waits = this.found().filter(({ count }) => count > 0)
    if (waits.length === 0) return null
    const means = waits.map(({ dur, count }) => ({ ms: dur / 1000 / count, count }))
    means.sort((a, b) => a.ms - b.ms)
    const count = means.reduce((sum, one) => sum + one.count, 0)
    const joined = means.some(one => one.count > 1)
    return {
      count,
      totalMs: round(waits.reduce((sum, { dur }) => sum + dur, 0) / 1000),
      ...{ p50: at(means, 0.5 * count), p95: at(means, 0.95 * count), p99: at(means, 0.99 * count) },
      max: at(means, count),
      from: this.sums ? 'sums' : joined ? 'joined' : 'each',
    }
  }

  /** The longest, also those whose step never came. Of joined ones their mean counts. */
  longest(most: number): Wait[] {
    const each = ({ dur, count }: Wait) => dur / Math.max(1, count)
    const left = [...this.loops.values()].flatMap(({ waiting }) => waiting)
    return [...this.found(), ...left].sort((a, b) => each(b) - each(a)).slice(0, most)
  }

  private found(): Wait[] {
    const whole = [...this.whole].filter(([key]) => !this.divided.has(key)).flatMap(([, waits]) => waits)
    return [...whole, ...[...this.loops.values()].flatMap(({ steps }) => steps.filter(({ dur }) => dur > 0))]
  }

  private add(key: string, { ts, dur, args }: Slice): void {
    const waits = this.whole.get(key) ?? []
    this.whole.set(key, waits)
    waits.push({ key, ts, dur, batch: typeof args.batch === 'number' ? args.batch : null, count: 1 })
  }

  /** A part of a step in our traces: they come as the trainer wrote them. */
  private part(key: string, { cat, name, ts, dur, args }: Slice): void {
    const kind = cat === 'dataloader' || cat === 'compute' ? kindOf({ cat, name }) : undefined
    if (kind === undefined || typeof args.batch !== 'number') return
    const { batch } = args
    const joined = typeof args.joined === 'number' && args.joined >= 1 ? args.joined : 1
    const loop = this.loop(`${key}/${args.engine ?? ''}/${args.ring ?? args.feed}`)
    if (kind === 'step') {
      const step: Part = { key, batch, ts, dur: 0, count: 0, steps: joined }
      for (const one of loop.waiting) if (one.batch! < batch + joined) join(step, one)
      loop.waiting = loop.waiting.filter(one => one.batch! >= batch + joined)
      loop.steps.push(step)
      return
    }
    this.divided.add(key)
    const one: Part = { key, batch, ts, dur, count: joined, steps: 0 }
    // Batches are counted from 0 again: what still waits is about a step that was left by `break`.
    if (batch === 0) loop.waiting = loop.waiting.filter(other => other.batch === 0)
    const last = loop.steps.at(-1)
    const same = loop.waiting.find(other => other.batch === batch)
    // What is written together is in the order of the kinds: the hand-over of a step after its compute.
    if (kind === 'hand' && last !== undefined && has(last, batch)) join(last, one)
    else if (same !== undefined) join(same, one)
    else loop.waiting.push(one)
  }

  private loop(key: string): Loop {
    let loop = this.loops.get(key)
    if (loop === undefined) {
      loop = { steps: [], waiting: [] }
      this.loops.set(key, loop)
    }
    return loop
  }
}

function has({ batch, steps }: Part, other: number): boolean {
  return other >= batch! && other < batch! + steps
}

/** Adds a part that is about the same batches: a wait and its hand-over are one wait. */
function join(into: Part, { ts, dur, count }: Part): void {
  into.ts = into.dur === 0 ? ts : Math.min(into.ts, ts)
  into.dur += dur
  into.count = Math.max(into.count, count)
  if (into.steps > 0) into.count = Math.min(into.count, into.steps)
}

/** The mean at a place among all waits, in the order of their lengths. */
function at(means: readonly { ms: number; count: number }[], place: number): number {
  let before = 0
  for (const { ms, count } of means) {
    before += count
    if (place < before) return round(ms)
  }
  return round(means[means.length - 1].ms)
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
