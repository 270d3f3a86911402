/**
 * The tuner at work, one in each engine's process: looks at its rings, sets what the tuner says, and writes every decision into
 * the notes. It does nothing while another process controls the engine, and never blocks: a look takes a millisecond or two.
 */

import { HostSampler } from '../observe/host/sampler.js'
import type { TunerDecision } from '../observe/live/decision.js'
import { monotonicMs } from '../spans/clock.js'
import { Notes } from '../spans/notes.js'
import { allowedCores, memoryLimit } from '../system/process/limits.js'
import type { Room, Seen, Setting } from './seen.js'
import { Tuner } from './tuner.js'
import { type RingSpans, Windows } from './windows.js'

/** What a worker takes of memory (bytes): its thread and its workspace. */
const WORKER_BYTES = 48 * 2 ** 20
/** So many workers at most for each core, and at least: those that wait for storage need no core. */
const PER_CORE = 8
const MOST_AT_LEAST = 32

/** A ring that is tuned. */
export interface TunedRing {
  id: number
  feed: string
  /** The process whose loop takes the batches. */
  trainer: number
  /** What may be set: what was not given. */
  may: { workers: boolean; depth: boolean; claim: boolean }
  slotBytes: number
  /** Where its spans are; undefined: not yet, or not to be had. */
  spans(): RingSpans | undefined
  mostDepth: number
  claim(): { rows: number; least: number; most: number } | null
  set(setting: Setting): void | Promise<void>
  /** Whether the tuner still tries things. */
  tuning(yes: boolean): void
}

export class EngineTuner {
  private static instance: EngineTuner | undefined

  /** That of this process. */
  static shared(): EngineTuner {
    EngineTuner.instance ??= new EngineTuner()
    return EngineTuner.instance
  }

  private readonly rings = new Map<number, TunedRing>()
  private tuner: Tuner | undefined
  private host: HostSampler | undefined
  private windows: Windows | undefined
  private timer: NodeJS.Timeout | undefined
  private busy = false
  /** Told of every decision, beside the notes. */
  readonly listeners = new Set<(decision: TunerDecision) => void>()
  /** Whether another process controls the engine. */
  isControlled: () => boolean = () => false
  private wasControlled = false

  get state(): string | undefined {
    return this.tuner?.state
  }

  /** From now on the ring is tuned. */
  add(ring: TunedRing): void {
    const now = monotonicMs()
    this.rings.set(ring.id, ring)
    ring.tuning(true)
    if (this.host === undefined) {
      this.host = new HostSampler({ trainer: ring.trainer, gpu: false })
      this.windows = new Windows(this.host)
    }
    // What other rings do changes with it.
    if (this.tuner === undefined) this.tuner = new Tuner(now)
    else this.setAll(this.tuner.reset(now))
    this.lookIn(1000)
  }

  remove(id: number): void {
    if (!this.rings.delete(id)) return
    if (this.rings.size > 0) {
      if (this.tuner) this.setAll(this.tuner.reset(monotonicMs()))
      return
    }
    clearTimeout(this.timer)
    this.timer = undefined
    this.tuner = undefined
    this.host?.close()
    this.host = undefined
    this.windows = undefined
  }

  /** The program has set something itself: that stays. */
  given(id: number, knob: 'workers' | 'depth'): void {
    const ring = this.rings.get(id)
    if (ring === undefined || this.tuner === undefined) return
    this.setAll(this.tuner.reset(monotonicMs()).filter(setting => setting.knob !== knob))
    if (knob === 'depth') ring.may.depth = false
    else for (const one of this.rings.values()) one.may.workers = false
  }

  private lookIn(ms: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.look(), Math.max(20, ms)).unref()
  }

  private async look(): Promise<void> {
    const { tuner, windows } = this
    if (this.busy || tuner === undefined || windows === undefined) return
    this.busy = true
    let wake = monotonicMs() + 2000
    try {
      const now = monotonicMs()
      const rings = [...this.rings.values()].flatMap(ring => {
        const spans = ring.spans()
        return spans === undefined ? [] : [{ ring, spans }]
      })
      if (rings.length === 0) return
      windows.mark(
        now,
        rings.map(({ spans }) => spans),
      )
      if (this.leaveAlone(now)) return
      const step = tuner.look(now, (from, full) =>
        rings.flatMap(({ ring, spans }) => seenOf(ring, spans, windows, from, full)),
      )
      wake = step.wake
      await this.apply(step.set)
      for (const decision of step.decisions) this.tell(decision)
      for (const { ring } of rings) ring.tuning(!tuner.settled(now))
    } finally {
      this.busy = false
      if (this.tuner === tuner) this.lookIn(wake - monotonicMs())
    }
  }

  /** While another process makes experiments; when it is done, all is looked at anew. */
  private leaveAlone(now: number): boolean {
    const controlled = this.isControlled()
    // What the tuner was about to check is left as the other process found it.
    if (controlled !== this.wasControlled) this.tuner?.reset(now)
    this.wasControlled = controlled
    return controlled
  }

  private setAll(settings: Setting[]): void {
    void this.apply(settings)
  }

  private async apply(settings: Setting[]): Promise<void> {
    for (const setting of settings) {
      try {
        await this.rings.get(setting.ring)?.set(setting)
      } catch {
        // No memory for more slots: the check finds no gain, and the setting goes back.
      }
    }
  }

  private tell(decision: TunerDecision): void {
    Notes.shared()?.write({ kind: 'tuner', decision })
    for (const listener of this.listeners) listener(decision)
  }
}

function seenOf(ring: TunedRing, spans: RingSpans, windows: Windows, from: number, full: boolean): Seen[] {
  const room = roomOf(ring)
  const evidence = windows.see(spans, from, full, { freeBytes: room.freeBytes })
  return evidence === undefined ? [] : [{ ring: ring.id, feed: ring.feed, evidence, room }]
}

function roomOf(ring: TunedRing): Room {
  return {
    workers: ring.may.workers ? Math.max(MOST_AT_LEAST, Math.ceil(PER_CORE * allowedCores())) : 0,
    depth: ring.may.depth ? ring.mostDepth : 0,
    claim: ring.may.claim ? ring.claim() : null,
    freeBytes: memoryLimit().bytes,
    workerBytes: WORKER_BYTES,
  }
}
