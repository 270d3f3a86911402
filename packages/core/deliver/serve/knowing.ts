/**
 * What a client may know of its run: where the time of its steps went, and why. The engine's own spans and the trainer's are
 * read here, so that every client is told by the same accounting (docs/measure.md) and the same verdicts.
 */
import { freemem } from 'node:os'
import { account } from '../../../observe/account/account.js'
import { collect, type MakersLook } from '../../../observe/account/collect.js'
import { evidenceOfRun, lookAtMakers } from '../../../observe/account/of-run.js'
import { type SpanSource, spansOfLoader } from '../../../observe/account/source.js'
import type { Accounting, Diagnosis, Evidence, Facts, HostSignals } from '../../../observe/evidence.js'
import type { HostLook } from '../../../observe/host/look.js'
import { HostSampler } from '../../../observe/host/sampler.js'
import { flatMetrics } from '../../../observe/metrics/flat.js'
import { prometheus } from '../../../observe/metrics/prometheus.js'
import { conclude } from '../../../observe/verdict/judge.js'
import { explain, sentence } from '../../../observe/verdict/words.js'
import { type AttachedSpans, attachSpans } from '../../spans/attach.js'
import { monotonicMs } from '../../spans/clock.js'
import { SpanFile } from '../../spans/file.js'
import type { AccountRequest, LoopRecord, LoopSums } from './request.js'
import type { Serving } from './serving.js'
import { stepsTold, toldReader } from './told.js'

/** The machine is looked at so often (ms), and so many looks are kept: those of five minutes. */
const LOOKS = 10_000
const KEPT = 30
/** Looks at the makers that are kept: that of the run's beginning, and those of its latest epochs. */
const BEGINNINGS = 4

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
  metrics: Record<string, number>
  prometheus: string
  evidence?: Evidence
}

/** Why the trainer's spans could not be read. */
export interface Unknown {
  unknown: string
}

export class Knowing {
  private readonly host: HostSampler
  private readonly looks: HostLook[] = []
  private spans: AttachedSpans | undefined
  private readonly beginnings = new Map<number, Beginning>()
  private readonly opened: Beginning

  /** `trainer`: the client's process. */
  constructor(private readonly trainer: number) {
    this.host = new HostSampler({ engine: process.pid, trainer })
    this.opened = this.beginning(this.look())
  }

  /** A run or an epoch begins: its sums refer to this look by the number. */
  lookAt(number: number): void {
    this.beginnings.set(number, this.beginning(this.host.look()))
    const [, second] = this.beginnings.keys()
    if (this.beginnings.size > BEGINNINGS) this.beginnings.delete(second)
  }

  private beginning(host: HostLook): Beginning {
    return { makers: this.lookAtMakers(0), host }
  }

  /** At the makers of all rings. */
  private lookAtMakers(ring: number): MakersLook {
    return lookAtMakers(this.ofEngine(ring), monotonicMs())
  }

  /** Called a few times a second. */
  watch(): void {
    const last = this.looks.at(-1)
    if (last !== undefined && monotonicMs() - last.at >= LOOKS) this.look()
  }

  close(): void {
    this.host.close()
    this.spans?.close()
    this.spans = undefined
  }

  /** The account of a window, and what it means. */
  tell(serving: Serving, request: AccountRequest): Known | Unknown {
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
      metrics: flatMetrics(accounting),
      prometheus: prometheus({ feed: name, rank, account: accounting }),
      ...(request.evidence && { evidence }),
    }
  }

  /** All that the loop has kept, and what the counters of the makers say since then. */
  private summed({ feeding, opened }: Serving, sums: LoopSums, { device }: AccountRequest): Evidence {
    const { makers: before, host } = this.beginnings.get(sums.look) ?? this.opened
    const source = this.ofEngine(feeding.id)
    const { cacheStats: cache } = feeding
    const now = this.lookAtMakers(feeding.id)
    const facts = { ...factsOf(opened, device), begun: sums.begun }
    return evidenceOfRun(source, {
      ...{ from: sums.from, to: now.at, before, now, facts, ...(cache && { cache }) },
      times: { steps: stepsTold(sums.steps), waits: sums.waits },
      host: this.hostSince(host),
    })
  }

  private evidence(source: SpanSource, { feeding, opened }: Serving, request: AccountRequest): Evidence {
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
  private source({ feeding }: Serving, records: LoopRecord[] | undefined): SpanSource | Unknown {
    const own = SpanFile.shared()
    if (own === undefined) return { unknown: 'the engine writes no spans: MILLRACE_SPANS=0 turns them off' }
    const engine = { reader: own.reader, ring: feeding.id }
    if (records !== undefined) return { trainer: { reader: toldReader(records), ring: 1 }, engine }
    try {
      this.spans ??= attachSpans(this.trainer)
      const rings = this.spans.rings().filter(({ engine }) => engine === process.pid)
      const ring = rings.findLast(({ engineRing }) => engineRing === feeding.id)
      if (ring === undefined) return { unknown: `process ${this.trainer} has no spans of this feed` }
      return { trainer: { reader: this.spans, ring: ring.ring }, engine }
    } catch (error) {
      return { unknown: (error as Error).message }
    }
  }

  private look(): HostLook {
    const look = this.host.look()
    this.looks.push(look)
    if (this.looks.length > KEPT) this.looks.splice(1, 1) // the first stays: it is that of the beginning
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
function factsOf({ plan }: Serving['opened'], device: Facts['device']): Partial<Facts> {
  const sourceBytes = plan.parts?.reduce((sum, { bytes }) => sum + bytes, 0)
  return { ...(device && { device }), ...(sourceBytes && { sourceBytes, freeBytes: freemem() }) }
}
