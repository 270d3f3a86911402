/**
 * Watches a run while it goes on: `look()`, once a second, says what happened in that second and why the trainer waits. The
 * run may be in this process or in others; it is only read. A look takes some ms, most of them for the machine (HostSampler);
 * the diagnosis is made less often where it takes long.
 *
 *     const watcher = new RunWatcher(source, { trainer: pid, engine: pid })
 *     setInterval(() => show(watcher.look()), 1000).unref()
 */
import { hostname } from 'node:os'
import { monotonicMs } from '../../core/spans/clock.js'
import { NotesReader, type WrittenNote } from '../../core/spans/notes.js'
import { account } from '../account/account.js'
import { ratio } from '../account/numbers.js'
import { WORK_KINDS } from '../account/slices.js'
import type { RingFacts, SpanSource } from '../account/source.js'
import type { Accounting, Diagnosis, Evidence, Facts, HostSignals, MakerSlice, Probes } from '../evidence.js'
import type { HostLook } from '../host/look.js'
import { HostSampler } from '../host/sampler.js'
import { isDecision } from '../log/check.js'
import { conclude } from '../verdict/judge.js'
import { sentence } from '../verdict/words.js'
import { Life } from './life.js'
import { RecentSpans, type Seen } from './recent.js'
import type { RunRecord, TunerDecision } from './record.js'

/** The diagnosis may take this share of a core: one that takes 10 ms is made every 7 s. How often at most, and at least (ms). */
const DIAGNOSIS_SHARE = 0.0015
const DIAGNOSE_EVERY_MS = 4000
const OLDEST_DIAGNOSIS_MS = 8000
/** Looks come a little early or late (ms). */
const HALF_LOOK_MS = 500
/** No diagnosis is made before so much was seen (ms). */
const LEAST_SEEN_MS = 3000

export interface WatcherOptions {
  /** Processes of the trainer and the engine. */
  trainer: number
  engine: number
  /** NVML's index of the trainer's GPU; false: it has none. The first that CUDA sees unless told otherwise. */
  gpu?: number | false
  /** How long a step takes with its batch at hand (ms), where that is known. */
  idealMs?: number
  /** What spans don't say: device, bytes of the source, … */
  facts?: Partial<Facts>
  cache?: () => Evidence['cache']
  /** Batches by where they are, where the ring can be seen. */
  slots?: () => RunRecord['slots']
  /** Bad samples since the run was opened, where that is known better than by notes. */
  bad?: () => number
  /** Begins with what was written before now, as far as it is still there: so that much is known at once. */
  past?: boolean
  /** ms of CLOCK_MONOTONIC, in tests. */
  now?: () => number
}

/** What is known after a look. */
export interface Watched {
  record: RunRecord
  /** The last 15 s or so. Null while too little was seen. It may be some seconds old. */
  window: { accounting: Accounting; diagnosis: Diagnosis; evidence: Evidence } | null
  /** What each worker did since the last look. */
  makers: MakerShares[]
}

export class RunWatcher {
  private readonly now: () => number
  private readonly spans: RecentSpans
  private readonly host: HostSampler
  private readonly notes: EngineNotes
  private readonly life: Life
  private readonly looks: HostLook[] = []
  private looked: number
  private begun: number
  private name: string
  private step = 0
  /** How long a step takes with its batch at hand (ms), where that is known. */
  idealMs: number | undefined
  /** Steps that were made in rings before this one. */
  private former = 0
  private window: Watched['window'] = null
  private why: RunRecord['why'] = null
  /** When the diagnosis was last made, and how long that took (ms). */
  private diagnosed = Number.NEGATIVE_INFINITY
  private took = 0

  constructor(
    private source: SpanSource,
    private readonly options: WatcherOptions,
  ) {
    const { trainer, engine, gpu, past, now = monotonicMs } = options
    this.now = now
    this.host = new HostSampler({ engine, trainer, now, ...(gpu !== undefined && { gpu }) })
    this.looks.push(this.host.look())
    this.looked = now()
    this.spans = new RecentSpans(source, this.looked, past)
    this.begun = this.spans.windowFrom(this.looked)
    this.notes = new EngineNotes(engine, () => this.source.engine.ring)
    this.idealMs = options.idealMs
    this.life = new Life(source, { trainer, engine })
    this.name = this.nameOf()
  }

  /** Why there is nothing to be seen any more; undefined while the run goes on. */
  get ended(): string | undefined {
    return this.life.ended
  }

  /** What happened since the last look. Where the run has ended, this is the rest of it. */
  look(): Watched {
    this.followRing()
    const seen = this.spans.look(this.now())
    const now = this.now()
    const seconds = (now - this.looked) / 1000
    const before = this.looks.at(-1) as HostLook
    const look = this.host.look()
    const host = look.at > before.at ? this.host.between(before, look) : null
    this.looks.push(look)
    const record = this.record(seen, now, seconds, host)
    this.looked = now
    this.diagnose(now)
    return { record: { ...record, why: this.why }, window: this.window, makers: sharesOf(seen.slices) }
  }

  close(): void {
    this.host.close()
    this.notes.close()
  }

  private record(seen: Seen, now: number, seconds: number, host: HostSignals | null): RunRecord {
    const { trainer, engine, slots, bad } = this.options
    const { ring } = this.source.engine
    const evidence = this.spans.of(seen.steps, this.looked, now, this.beside(host, seen.steps.length))
    const a = account(evidence)
    const known = a.steps > 0
    const steps = seen.steps.reduce((sum, { count }) => sum + count, 0)
    this.step = Math.max(this.step, this.former + seen.counted)
    const { facts } = evidence
    const { decisions, bad: noted } = this.notes.look()
    return {
      version: 1,
      time: Date.now(),
      at: now,
      seconds,
      host: hostname(),
      trainer,
      engine,
      ring,
      feed: this.name,
      rank: facts.rank,
      world: facts.world,
      step: this.step,
      steps,
      samples: seen.steps.reduce((sum, { samples }) => sum + samples, 0),
      bytes: seen.bytes,
      stepMs: known ? a.stepMs : null,
      idealMs: known ? a.idealMs : null,
      idealFrom: a.idealFrom,
      lost: known ? a.lost : null,
      parts: known ? a.parts : null,
      wait: known ? { p50: a.wait.p50, p95: a.wait.p95, max: a.wait.max } : null,
      workers: facts.workers,
      depth: facts.depth,
      slots: slots?.() ?? null,
      cores: coresOf(host),
      memory: host && { bytes: host.rssBytes, limit: host.memoryLimitBytes },
      gpu: host?.gpu ?? null,
      bad: bad?.() ?? noted,
      why: null,
      decisions,
    }
  }

  private diagnose(now: number): void {
    const from = this.spans.windowFrom(now)
    while (this.looks.length > 2 && this.looks[1].at <= from) this.looks.shift()
    const pause =
      Math.min(OLDEST_DIAGNOSIS_MS, Math.max(DIAGNOSE_EVERY_MS, this.took / DIAGNOSIS_SHARE)) - HALF_LOOK_MS
    if (now - this.begun < LEAST_SEEN_MS || now - this.diagnosed < pause) return
    const [first, last] = [this.looks[0], this.looks.at(-1) as HostLook]
    const host = last.at > first.at ? this.host.between(first, last) : null
    const evidence = this.spans.window(now, this.beside(host, 1))
    const accounting = account(evidence)
    this.window = null
    this.why = null
    this.diagnosed = now
    if (accounting.steps > 0) {
      const diagnosis = conclude(evidence, accounting)
      this.window = { accounting, diagnosis, evidence }
      this.why = whyOf(diagnosis, (evidence.to - evidence.from) / 1000)
    }
    this.took = this.now() - now
  }

  private beside(host: HostSignals | null, steps: number) {
    const { facts = {}, cache } = this.options
    const { idealMs } = this
    const probes: Probes = idealMs === undefined ? {} : { ideal: { ms: idealMs, from: 'given', steps } }
    const found = cache?.()
    return { host, facts, probes, ...(found && { cache: found }) }
  }

  /** The ring may have been replaced: another decoder has rings of its own. */
  private followRing(): void {
    const next = this.life.look()
    if (next === undefined) return
    this.former += this.spans.counted
    this.source = next
    this.spans.follow(next)
    this.name = this.nameOf()
  }

  private nameOf(): string {
    const { trainer, engine } = this.source
    const of = (rings: readonly RingFacts[], ring: number) => rings.find(one => one.ring === ring)?.name
    return of(trainer.reader.rings(), trainer.ring) ?? of(engine.reader.rings(), engine.ring) ?? ''
  }
}

function coresOf(host: HostSignals | null): RunRecord['cores'] {
  if (host === null) return null
  const { allowed, engineCores: engine, trainerCores: trainer, otherCores: others } = host
  return { allowed, engine, trainer, others }
}

function whyOf(diagnosis: Diagnosis, seconds: number): RunRecord['why'] {
  const { verdict, second, remedies, lost } = diagnosis
  return { verdict, second, sentence: sentence(diagnosis), remedy: remedies[0] ?? null, lost, seconds }
}

interface MakerShares {
  number: number
  /** By kind of work; kinds that it did not do are left out. */
  work: Record<string, number>
  /** Waiting for a free slot, and having nothing to do. */
  wait: number
  idle: number
  /** CPU time. Null: the system does not say. */
  cpu: number | null
}

/** By the workers' numbers. One that has been at the same piece of work all the time is not among them: it tells when that is done. */
function sharesOf(slices: readonly MakerSlice[]): MakerShares[] {
  const makers = new Map<number, MakerSlice[]>()
  for (const slice of slices) {
    const list = makers.get(slice.maker)
    if (list) list.push(slice)
    else makers.set(slice.maker, [slice])
  }
  return [...makers].sort(([a], [b]) => a - b).map(([number, list]) => shares(number, list))
}

function shares(number: number, slices: readonly MakerSlice[]): MakerShares {
  const sum = (of: (slice: MakerSlice) => number) => slices.reduce((all, slice) => all + of(slice), 0)
  const length = sum(({ from, to }) => to - from)
  const share = (ms: number) => Math.min(1, ratio(ms, length))
  const work: Record<string, number> = {}
  for (const kind of WORK_KINDS) {
    const ms = sum(slice => slice.work[kind])
    if (ms > 0) work[kind] = share(ms)
  }
  const known = slices.every(({ cpu }) => cpu !== null)
  return {
    number,
    work,
    wait: share(sum(({ wait }) => wait)),
    idle: share(sum(({ idle }) => idle)),
    cpu: known ? share(sum(({ cpu }) => cpu ?? 0)) : null,
  }
}

/** An engine without notes is asked again after this time (looks): it may write some later. */
const AGAIN = 15

export class EngineNotes {
  private reader: NotesReader | undefined
  private asked = 0
  /** Rings that the run has had: another one takes over where another is to decode. */
  private readonly rings = new Set<number>()
  /** Bad samples by ring: a run may have several, one after the other. */
  private readonly bad = new Map<number, number>()

  /** Decisions are those that come from now on. */
  constructor(
    private readonly pid: number,
    private readonly ring: () => number,
  ) {
    this.rings.add(ring())
    this.reader = NotesReader.open(pid)
    this.count(this.read())
  }

  /** What was written since the last look; and all bad samples. */
  look(): { decisions: TunerDecision[]; bad: number } {
    if (this.reader === undefined && ++this.asked % AGAIN === 0) this.reader = NotesReader.open(this.pid)
    const notes = this.read()
    this.rings.add(this.ring())
    this.count(notes)
    const decisions = notes.flatMap(({ kind, decision }) =>
      kind === 'tuner' && isDecision(decision) && this.rings.has(decision.ring) ? [decision] : [],
    )
    return { decisions, bad: [...this.bad.values()].reduce((sum, count) => sum + count, 0) }
  }

  close(): void {
    this.reader?.close()
    this.reader = undefined
  }

  private read(): WrittenNote[] {
    try {
      return this.reader?.since() ?? []
    } catch {
      return [] // notes are no reason to stop watching
    }
  }

  private count(notes: readonly WrittenNote[]): void {
    for (const { kind, ring, count } of notes)
      if (kind === 'bad' && typeof count === 'number' && this.rings.has(Number(ring)))
        this.bad.set(Number(ring), Math.max(count, this.bad.get(Number(ring)) ?? 0))
  }
}
