/**
 * What a client may know of its run: where the time of its steps went, and why. The engine's own spans and the trainer's are
 * read here, so that every client is told by the same accounting (docs/measure.md) and the same verdicts.
 */
import { freemem } from 'node:os'
import type { ClientObserver, ServedRing } from '../../core/deliver/observer.js'
import {
  type AccountRequest,
  type LoopRecord,
  type LoopStep,
  type LoopSums,
  StepMarks,
} from '../../core/deliver/serve/request.js'
import { monotonicMs } from '../../core/spans/clock.js'
import { SpanFile } from '../../core/spans/file.js'
import type { LaneInfo, SpanRecord } from '../../core/spans/reader.js'
import type { SpanName } from '../../core/spans/span-words.js'
import type { Accounting, Diagnosis, Evidence, Facts, HostSignals, StepTimes } from '../evidence.js'
import type { HostLook } from '../host/look.js'
import { HostSampler } from '../host/sampler.js'
import { prometheus } from '../metrics/prometheus.js'
import { flatMetrics } from '../metrics/table.js'
import { conclude } from '../verdict/judge.js'
import { epochLine, explain, progressLine, sentence } from '../verdict/words.js'
import { account } from './account.js'
import { collect, evidenceOfRun, lookAtMakers, type MakersLook } from './collect.js'
import { SpanFinder, type SpanReading, type SpanSource, spansOfLoader } from './source.js'

/** The machine is looked at so often (ms), and so many looks are kept: those of five minutes. */
const LOOK_EVERY_MS = 10_000
const KEPT_LOOKS = 30
/** Looks at the makers that are kept: that of the run's beginning, and those of its latest epochs. */
const KEPT_BEGINNINGS = 4

/** What was seen when a run or an epoch began. */
interface Beginning {
  makers: MakersLook
  host: HostLook
}

export interface Known {
  account: Accounting
  diagnosis: Diagnosis
  /** In one line, and as `millrace diagnose` prints it. */
  sentence: string
  text: string
  /** What lines on a run say: at the end of an epoch, and while it goes on. */
  lines: { epoch: ReturnType<typeof epochLine>; progress: string | null }
  metrics: Record<string, number>
  prometheus: string
  evidence?: Evidence
}

/** Why the trainer's spans could not be read. */
export interface Unknown {
  unknown: string
}

export class ClientAccount implements ClientObserver {
  private readonly host: HostSampler
  private readonly looks: HostLook[] = []
  private readonly spans: SpanFinder
  private readonly beginnings = new Map<number, Beginning>()
  private readonly opened: Beginning

  /** `trainer`: the client's process. */
  constructor(trainer: number) {
    this.spans = new SpanFinder(trainer)
    this.host = new HostSampler({ engine: process.pid, trainer })
    this.opened = this.beginning(this.look())
  }

  /** A run or an epoch begins: its sums refer to this look by the number. */
  lookAt(number: number): void {
    this.beginnings.set(number, this.beginning(this.host.look()))
    const [, second] = this.beginnings.keys()
    if (this.beginnings.size > KEPT_BEGINNINGS) this.beginnings.delete(second)
  }

  private beginning(host: HostLook): Beginning {
    return { makers: this.lookAtMakers(0), host }
  }

  /** Looks at the makers of all rings. */
  private lookAtMakers(ring: number): MakersLook {
    return lookAtMakers(this.ofEngine(ring), monotonicMs())
  }

  /** Called a few times a second. */
  watch(): void {
    const last = this.looks.at(-1)
    if (last !== undefined && monotonicMs() - last.at >= LOOK_EVERY_MS) this.look()
  }

  close(): void {
    this.host.close()
    this.spans.close()
  }

  /** The account of a window, and what it means. */
  tell(serving: ServedRing, request: AccountRequest): Known | Unknown {
    let evidence: Evidence
    if (request.sums) evidence = this.summed(serving, request.sums, request)
    else {
      const source = this.source(serving, request.records)
      if ('unknown' in source) return source
      evidence = this.evidence(source, serving, request)
    }
    const accounting = account(evidence)
    const diagnosis = conclude(evidence, accounting)
    const { name = 'feed', rank } = serving.options
    return {
      account: accounting,
      diagnosis,
      sentence: sentence(diagnosis),
      text: explain(diagnosis),
      lines: { epoch: epochLine(accounting, diagnosis), progress: progressLine(accounting, diagnosis) },
      metrics: flatMetrics(accounting),
      prometheus: prometheus({ feed: name, rank, account: accounting }),
      ...(request.evidence && { evidence }),
    }
  }

  /** All that the loop has kept, and what the counters of the makers say since then. */
  private summed({ feeding, opened }: ServedRing, sums: LoopSums, { device }: AccountRequest): Evidence {
    const { makers: before, host } = this.beginnings.get(sums.look) ?? this.opened
    const source = this.ofEngine(feeding.id)
    const { cacheStats: cache } = feeding
    const now = this.lookAtMakers(feeding.id)
    const facts = { ...factsOf(opened, device), begun: sums.begun }
    return evidenceOfRun(source, {
      from: sums.from,
      to: now.at,
      before,
      now,
      facts,
      ...(cache && { cache }),
      times: { steps: sentSteps(sums.steps), waits: sums.waits },
      host: this.hostSince(host),
    })
  }

  private evidence(source: SpanSource, { feeding, opened }: ServedRing, request: AccountRequest): Evidence {
    const now = monotonicMs()
    const { seconds, since, idealMs, device } = request
    const from = since ?? (seconds === undefined ? undefined : now - seconds * 1000)
    const facts = factsOf(opened, device)
    const { cacheStats: cache } = feeding
    const found = collect(source, { ...(from !== undefined && { from }), facts, ...(cache && { cache }) })
    const steps = found.steps.reduce((sum, { count }) => sum + count, 0)
    if (idealMs !== undefined) found.probes.ideal = { ms: idealMs, from: 'given', steps }
    found.host = this.signals(found.from)
    return found
  }

  /** The engine's spans alone. Undefined: they are turned off. */
  private ofEngine(ring: number): SpanSource | undefined {
    const own = SpanFile.shared()
    return own && spansOfLoader(own.reader, ring)
  }

  /** Where spans are: the engine's here, the trainer's in its process. */
  private source({ feeding }: ServedRing, records: LoopRecord[] | undefined): SpanSource | Unknown {
    const own = records && this.ofEngine(feeding.id)
    if (records === undefined || own === undefined) return this.spans.find(feeding.id)
    return { ...own, trainer: { reader: sentSpans(records), ring: 1 } }
  }

  private look(): HostLook {
    const look = this.host.look()
    this.looks.push(look)
    if (this.looks.length > KEPT_LOOKS) this.looks.splice(1, 1) // the first stays: it is that of the beginning
    return look
  }

  /** What the machine did since a point in time, or a little longer. */
  private signals(from: number): HostSignals | null {
    const before = this.looks.findLast(({ at }) => at <= from) ?? this.looks[0]
    return before === undefined ? null : this.hostSince(before)
  }

  private hostSince(before: HostLook): HostSignals | null {
    const now = this.host.look()
    return now.at - before.at < 1 ? null : this.host.between(before, now)
  }
}

/** What spans don't say of a run. */
function factsOf({ plan }: ServedRing['opened'], device: Facts['device']): Partial<Facts> {
  const sourceBytes = plan.parts?.reduce((sum, { bytes }) => sum + bytes, 0)
  return { ...(device && { device }), ...(sourceBytes && { sourceBytes, freeBytes: freemem() }) }
}

/** Steps as accounts have them. */
function sentSteps(told: readonly LoopStep[]): StepTimes[] {
  return told.map(([asked, supply, handOver, transfer, compute, samples, count, gc, mark]) => ({
    asked,
    supply,
    handOver,
    transfer,
    compute,
    samples,
    count,
    ...(gc > 0 && { gc }),
    ...(mark === StepMarks.first && { first: true }),
    ...(mark === StepMarks.epochStart && { epochStart: true }),
  }))
}

/** Reads what a client has sent. */
function sentSpans(told: readonly LoopRecord[]): SpanReading {
  const lane: LaneInfo = {
    lane: 0,
    kind: 'consumer',
    number: 0,
    name: 'trainer 0',
    open: true,
    written: told.length,
  }
  const records = told.map(([kind, start, duration, batch, firstRow, rows, joined], number): SpanRecord => {
    const times = { start, duration, bytes: 0, cpu: Number.NaN, delay: Number.NaN }
    return { lane, kind: kind as SpanName, ring: 1, ...times, batch, firstRow, rows, joined, number }
  })
  const read = { records, cursor: [told.length], lost: 0 }
  return { readSince: () => read, rings: () => [], counters: () => [] }
}
