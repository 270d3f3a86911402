/**
 * The tuner at work, one in each engine's process: looks at its rings, sets what the tuner says, and writes every decision into
 * the notes. It never blocks: a look takes a millisecond or two.
 */

import type { RingTuner, Setting, TunedRing } from '../../core/deliver/ring-tuner.js'
import { monotonicMs } from '../../core/spans/clock.js'
import { Notes } from '../../core/spans/notes.js'
import { allowedCores, memoryLimit, workersByFiles } from '../../core/system/process/limits.js'
import { type RingSpans, SpanFinder } from '../account/source.js'
import { HostSampler } from '../host/sampler.js'
import type { TunerDecision } from '../live/record.js'
import type { Room, Seen } from './seen.js'
import { Tuner } from './tuner.js'
import { Windows } from './windows.js'

/** What a worker takes of memory (bytes): its thread and its workspace. */
const WORKER_BYTES = 48 * 2 ** 20
/** Workers at most: so many for each core, and never fewer than the second: those that wait for storage need no core. */
const PER_CORE = 8
const MOST_AT_LEAST = 32

/** Rows that are hinted ahead at most. */
const MOST_AHEAD = 1024

/** A run, by the number of its first ring. */
interface TunedRun {
  ring: TunedRing
  spans: SpanFinder
  /** What was set when it was last looked at: its next ring begins so. */
  was?: { workers: number; depth: number }
  /** Who is to decode. */
  asked?: Setting
}

export class EngineTuner implements RingTuner {
  private static instance: EngineTuner | undefined

  /** That of this process. */
  static shared(): EngineTuner {
    EngineTuner.instance ??= new EngineTuner()
    return EngineTuner.instance
  }

  private readonly runs = new Map<number, TunedRun>()
  private tuner: Tuner | undefined
  private host: HostSampler | undefined
  private windows: Windows | undefined
  private timer: NodeJS.Timeout | undefined
  private busy = false
  /** Told of every decision, beside the notes. */
  readonly listeners = new Set<(decision: TunerDecision) => void>()
  /** Whether no open feed of this process fixes the number of workers. */
  mayTuneWorkers: () => boolean = () => true

  get state(): string | undefined {
    return this.tuner?.state
  }

  add(ring: TunedRing): void {
    const before = [...this.runs].find(([, { ring: of }]) => of.run === ring.run)
    if (before) this.succeed(...before, ring)
    else this.begin(ring)
  }

  private begin(ring: TunedRing): void {
    const now = monotonicMs()
    this.runs.set(ring.id, { ring, spans: new SpanFinder(ring.trainer) })
    if (this.host === undefined) {
      this.host = new HostSampler({ trainer: ring.trainer, gpu: false })
      this.windows = new Windows(this.host)
    }
    // What other rings do changes with it.
    if (this.tuner === undefined) this.tuner = new Tuner(now)
    else this.give(this.tuner.reset(now, 'another feed was opened'))
    this.lookIn(1000)
  }

  /** A run goes on with another ring: as it was set, and with what is being tried. */
  private succeed(number: number, run: TunedRun, ring: TunedRing): void {
    run.ring = ring
    const { was, asked } = run
    const settings: Setting[] = asked ? [asked] : []
    if (was && ring.may.workers) settings.push({ ring: number, knob: 'workers', value: was.workers })
    // What a GPU refuses is decoded again in its slot: the other slots are for the batches that follow.
    if (was && ring.may.depth) settings.push({ ring: number, knob: 'depth', value: Math.max(2, was.depth) })
    void this.apply(settings)
  }

  knows(id: number): boolean {
    return this.find(id) !== undefined
  }

  decides(id: number, open: boolean): boolean {
    const [, run] = this.find(id) ?? []
    if (run) run.ring.may.decoder = open
    return run !== undefined
  }

  whyDecoded(id: number): string | undefined {
    return this.find(id)?.[1].asked?.found
  }

  private find(id: number): [number, TunedRun] | undefined {
    return [...this.runs].find(([, { ring }]) => ring.id === id)
  }

  remove(id: number): void {
    const found = this.find(id)
    if (found === undefined) return // another ring goes on in its place
    const [number, { spans }] = found
    spans.close()
    this.runs.delete(number)
    const [other] = this.runs.keys()
    if (other !== undefined && this.tuner) {
      const { set, decisions } = this.tuner.reset(monotonicMs(), 'another feed was closed')
      this.tuner.forget(number)
      // Workers are those of all rings: what was tried of them for this one is taken back all the same.
      void this.give({
        set: set.map(setting => (setting.knob === 'workers' ? { ...setting, ring: other } : setting)),
        decisions,
      })
      return
    }
    this.tuner?.forget(number)
    clearTimeout(this.timer)
    this.timer = undefined
    this.tuner = undefined
    this.host?.close()
    this.host = undefined
    this.windows = undefined
  }

  given(id: number, knob: 'workers' | 'depth'): void {
    const found = this.find(id)
    if (found === undefined || this.tuner === undefined) return
    const { set, decisions } = this.tuner.reset(monotonicMs(), `the program has set the ${knob}`)
    this.give({ set: set.filter(setting => setting.knob !== knob), decisions })
    if (knob === 'depth') found[1].ring.may.depth = false
    else for (const { ring } of this.runs.values()) ring.may.workers = false
  }

  async leaveWorkers(): Promise<void> {
    if (this.tuner?.tries === 'workers')
      await this.give(this.tuner.reset(monotonicMs(), 'the workers of a feed are given'))
  }

  private lookIn(ms: number): void {
    clearTimeout(this.timer)
    const look = () => void this.look().catch(error => this.end(error as Error))
    this.timer = setTimeout(look, Math.max(20, ms)).unref()
  }

  /** A run is not to end because it can't be tuned. */
  private end({ message }: Error): void {
    clearTimeout(this.timer)
    process.emitWarning(`nothing is tuned any more: ${message}`, 'MillraceNotice')
  }

  private async look(): Promise<void> {
    const { tuner, windows } = this
    if (this.busy || tuner === undefined || windows === undefined) return
    this.busy = true
    let wake = monotonicMs() + 2000
    try {
      const now = monotonicMs()
      const rings = [...this.runs].flatMap(([number, run]) => {
        run.was = run.ring.now()
        const spans = run.spans.find(run.ring.id)
        return 'unknown' in spans ? [] : [{ number, ring: run.ring, spans }]
      })
      if (rings.length === 0) return
      windows.mark(
        now,
        rings.map(({ spans }) => spans),
      )
      const step = tuner.look(now, (from, full) =>
        rings.flatMap(({ number, ring, spans }) => {
          const seen = seenOf(ring, spans, windows, from, full, this.mayTuneWorkers())
          return seen === undefined ? [] : [{ ring: number, ...seen }]
        }),
      )
      wake = step.wake
      await this.apply(step.set)
      for (const decision of step.decisions) this.tell(decision)
    } finally {
      this.busy = false
      if (this.tuner === tuner) this.lookIn(wake - monotonicMs())
    }
  }

  private give({ set, decisions }: { set: Setting[]; decisions: TunerDecision[] }): Promise<void> {
    for (const decision of decisions) this.tell(decision)
    return this.apply(set)
  }

  private async apply(settings: Setting[]): Promise<void> {
    for (const setting of settings) {
      const run = this.runs.get(setting.ring)
      if (run === undefined) continue
      if (setting.knob === 'decode') run.asked = setting
      try {
        await run.ring.set(setting)
      } catch {
        // No memory for more slots: the check finds no gain, and the setting goes back.
      }
    }
  }

  private tell(decision: TunerDecision): void {
    const told = { ...decision, ring: this.runs.get(decision.ring)?.ring.id ?? decision.ring }
    Notes.shared()?.write({ kind: 'tuner', decision: told })
    for (const listener of this.listeners) listener(told)
  }
}

function seenOf(
  ring: TunedRing,
  spans: RingSpans,
  windows: Windows,
  from: number,
  full: boolean,
  tunesWorkers: boolean,
): Omit<Seen, 'ring'> | undefined {
  const room = roomOf(ring, tunesWorkers)
  const evidence = windows.see(spans, from, full, { freeBytes: room.freeBytes })
  return evidence && { feed: ring.feed, evidence, room }
}

function roomOf(ring: TunedRing, tunesWorkers: boolean): Room {
  const most = Math.min(workersByFiles(), Math.max(MOST_AT_LEAST, Math.ceil(PER_CORE * allowedCores())))
  const { ahead, decoder, claim } = ring.now()
  return {
    ...(ring.may.decoder && { decoder }),
    ...(ring.may.claim && { ahead: { rows: ahead, most: MOST_AHEAD } }),
    workers: ring.may.workers && tunesWorkers ? most : 0,
    depth: ring.may.depth ? ring.mostDepth : 0,
    claim: ring.may.claim ? claim : null,
    freeBytes: memoryLimit().bytes,
    workerBytes: WORKER_BYTES,
  }
}
