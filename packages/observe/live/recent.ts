/**
 * The spans of a run's last seconds, as evidence. They are read once, when they are new, and become steps and slices at once:
 * a look costs as much as was written since the last one, however long the window is.
 */
import type { SpanRecord } from '../../core/spans/reader.js'
import { type CollectOptions, claimsIn, factsOf } from '../account/collect.js'
import { APART, addReads, SliceStream } from '../account/maker-slices.js'
import { WORK_KINDS } from '../account/slices.js'
import type { Counters, SpanReading, SpanSource } from '../account/source.js'
import { endOf, noteGc, StepStream } from '../account/steps.js'
import type { ClaimTimes, Evidence, Facts, MakerSlice, StepTimes } from '../evidence.js'
import { LEAST_STEPS } from '../verdict/thresholds.js'

/** The window (ms). Where fewer steps ended in it than a verdict needs, it is longer: until they have, or so long. */
const WINDOW_MS = 15_000
const LONGEST_WINDOW_MS = 600_000
/** Claims at most: the latest are kept. */
const MOST_CLAIMS = 2000
/** Steps at most. The latest are kept. */
const MOST_STEPS = 20_000
/** Slices of one look end at most so long before others of it (ms): lanes are read at least that often. */
const LOOKS_APART_MS = 20_000

/** What has ended since the last look. */
export interface Seen {
  steps: StepTimes[]
  slices: MakerSlice[]
  /** Bytes that makers have read. */
  bytes: number
  /** Steps of the ring since it was opened. */
  counted: number
  /** Records that were written over before they could be read. */
  lost: number
}

interface Maker {
  stream: SliceStream
  number: number
  /** Whether it ever worked for the ring. */
  worked: boolean
}

export class RecentSpans {
  /** Steps of the window, oldest first, what makers did, and garbage collections of the loop's thread. */
  private steps: StepTimes[] = []
  private slices: MakerSlice[] = []
  private claims: { at: number; claims: ClaimTimes[] }[] = []
  private collections: SpanRecord[] = []
  private last: StepTimes | undefined
  private losses: { at: number; lost: number }[] = []
  private readonly cursors = new Map<SpanReading, number[]>()
  private stream: StepStream
  /** The ring before this one: its last steps may come with the first of this one. */
  private former: { ring: number; stream: StepStream } | undefined
  private makers = new Map<number, Maker>()
  /** The lanes of loops that took batches of the ring. */
  private readonly lanes = new Set<number>()
  private bytes = new Map<number, number>()
  private begun: number
  /** How the ring is set up, as it was at the last look. */
  facts: Facts

  /** `past`: begins with what was written before now, as far as it is still there. */
  constructor(
    private source: SpanSource,
    now: number,
    past = false,
  ) {
    this.facts = factsOf(source)
    this.stream = new StepStream(this.stepsInEpoch)
    this.begun = past ? Number.NEGATIVE_INFINITY : now
    this.countBytes(source.engine.reader.counters(source.engine.ring))
    if (past) {
      this.look(now)
      this.begun = Math.min(now, ...this.slices.map(({ from }) => from), this.steps[0]?.asked ?? now)
      return
    }
    for (const reader of this.readers) {
      const end = reader.end?.()
      if (end) this.cursors.set(reader, [...end])
    }
  }

  /** The run goes on in other rings. */
  follow(source: SpanSource): void {
    this.former = { ring: this.source.trainer.ring, stream: this.stream }
    this.source = source
    this.facts = factsOf(source, { cores: this.facts.cores })
    this.stream = new StepStream(this.stepsInEpoch, false)
    this.makers = new Map()
    this.bytes = new Map()
  }

  /** Steps of the ring since it was opened. */
  get counted(): number {
    const { reader, ring } = this.source.trainer
    return stepsIn(reader.counters(ring))
  }

  /** Reads what is new. */
  look(now: number): Seen {
    const { trainer, engine } = this.source
    const one = trainer.reader === engine.reader
    const counters = engine.reader.counters(engine.ring)
    this.facts = factsOf(this.source, { cores: this.facts.cores })
    const made = this.read(engine.reader)
    const taken = one ? made : this.read(trainer.reader)
    const lost = made.lost + (one ? 0 : taken.lost)
    const steps = this.addSteps(taken.records)
    const slices = this.addSlices(made.records, counters)
    const claims = claimsIn(made.records, engine.ring, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
    if (claims.length > 0) this.claims.push({ at: now, claims })
    if (lost > 0) this.losses.push({ at: now, lost })
    this.forget(now)
    const counted = stepsIn(one ? counters : trainer.reader.counters(trainer.ring))
    return { steps, slices, bytes: this.countBytes(counters), counted, lost }
  }

  /** The evidence of some of the steps: with what makers did from when the first of them was asked for. Without claims. */
  of(steps: StepTimes[], from: number, to: number, more: CollectOptions): Evidence {
    let begin = from
    for (const { asked } of steps) begin = Math.min(begin, asked)
    noteGc(steps, this.collections)
    return {
      version: 1,
      from: begin,
      to,
      facts: { ...this.facts, ...(more.host && { cores: more.host.allowed }), ...more.facts },
      steps,
      makers: this.slicesSince(begin),
      host: more.host ?? null,
      probes: more.probes ?? {},
      lost: this.losses.reduce((sum, { at, lost }) => sum + (at > begin ? lost : 0), 0),
      ...(more.cache && { cache: more.cache }),
    }
  }

  /** Slices are in the order in which they were read: those of one look lie together. */
  private slicesSince(from: number): MakerSlice[] {
    const { slices } = this
    let first = slices.length
    while (first > 0 && slices[first - 1].to > from - LOOKS_APART_MS) first--
    return slices.slice(first).filter(({ to }) => to > from)
  }

  /** The evidence of the window. */
  window(to: number, more: CollectOptions): Evidence {
    const evidence = this.of([...this.steps], this.windowFrom(to), to, more)
    if (this.last) evidence.silentMs = Math.max(0, to - endOf(this.last))
    const claims = this.claims.flatMap(({ at, claims }) => (at > evidence.from ? claims : []))
    evidence.claims = claims.slice(-MOST_CLAIMS)
    return evidence
  }

  /** When the window begins: where the run, or looking at it, has begun since, then. */
  windowFrom(now: number): number {
    return Math.max(this.begun, Math.min(now - WINDOW_MS, this.enough(now)))
  }

  /** When the last so many steps began that a verdict needs. */
  private enough(now: number): number {
    let count = 0
    for (let i = this.steps.length - 1; i >= 0; i--) {
      count += this.steps[i].count
      if (count >= LEAST_STEPS) return Math.max(now - LONGEST_WINDOW_MS, this.steps[i].asked)
    }
    return now - LONGEST_WINDOW_MS
  }

  private addSteps(records: readonly SpanRecord[]): StepTimes[] {
    const { ring } = this.source.trainer
    const { stream, former } = this
    for (const record of records) {
      if (record.lane.kind !== 'consumer') continue
      if (record.ring === ring) {
        this.lanes.add(record.lane.lane)
        stream.add(record)
      } else if (record.ring === former?.ring) former.stream.add(record)
      else if (record.kind === 'gc' && this.lanes.has(record.lane.lane)) this.collections.push(record)
    }
    const steps = [...(former?.stream.take() ?? []), ...stream.take()]
    for (const step of steps) this.steps.push(step)
    this.last = steps.at(-1) ?? this.last
    return steps
  }

  private addSlices(records: readonly SpanRecord[], counters: readonly Counters[]): MakerSlice[] {
    const { ring } = this.source.engine
    const { workers } = this.facts
    const lanes = new Map<number, SpanRecord[]>()
    for (const record of records) {
      const { kind, lane, number } = record.lane
      if (kind !== 'worker') continue
      let maker = this.makers.get(lane)
      if (maker === undefined) {
        maker = { stream: new SliceStream(ring), number, worked: false }
        this.makers.set(lane, maker)
      }
      maker.worked ||= record.ring === ring
      const list = lanes.get(lane)
      if (list) list.push(record)
      else lanes.set(lane, [record])
    }
    const sums = new Map(counters.map(one => [one.lane.lane, one]))
    const found: MakerSlice[] = []
    for (const [lane, list] of lanes) {
      const { stream, number, worked } = this.makers.get(lane)!
      for (const slice of stream.add(list)) {
        // One that never worked for the ring may have waited for it all the time.
        if (number >= workers && !worked) continue
        addReads(slice, sums.get(lane), ring)
        found.push(slice)
        this.slices.push(slice)
      }
    }
    return found
  }

  private forget(now: number): void {
    const from = this.windowFrom(now)
    let old = Math.max(0, this.steps.length - MOST_STEPS)
    while (old < this.steps.length && endOf(this.steps[old]) <= from) old++
    if (old > 0) this.steps = this.steps.slice(old)
    const begin = Math.min(from, this.steps[0]?.asked ?? from)
    const last = this.last
    const needed = Math.max(now - LONGEST_WINDOW_MS, Math.min(begin, last ? endOf(last) : begin))
    // The last step may be older than the window: a step that goes on has waited since then.
    this.slices = joinSlices(
      this.slices.filter(({ to }) => to > needed),
      now - WINDOW_MS,
    )
    this.claims = this.claims.filter(({ at }) => at > from)
    this.losses = this.losses.filter(({ at }) => at > from)
    this.collections = this.collections.filter(({ start }) => start > begin)
  }

  private read(reader: SpanReading): { records: SpanRecord[]; lost: number } {
    const before = this.cursors.get(reader)
    const { records, cursor, lost } = reader.readSince(before && [...before])
    this.cursors.set(reader, [...cursor])
    return { records, lost: before === undefined ? 0 : lost }
  }

  /** Bytes that makers have read for the ring since this was last called. */
  private countBytes(counters: readonly Counters[]): number {
    let more = 0
    for (const { lane, rings } of counters) {
      if (lane.kind !== 'worker') continue
      const bytes = rings.find(({ ring }) => ring === this.source.engine.ring)?.bytes ?? 0
      more += Math.max(0, bytes - (this.bytes.get(lane.lane) ?? 0))
      this.bytes.set(lane.lane, bytes)
    }
    return more
  }

  private get readers(): SpanReading[] {
    return [...new Set([this.source.trainer.reader, this.source.engine.reader])]
  }

  private get stepsInEpoch(): number {
    const { reader, ring } = this.source.engine
    return reader.rings().find(one => one.ring === ring)?.stepsInEpoch ?? 0
  }
}

function stepsIn(counters: readonly Counters[]): number {
  let steps = 0
  for (const { lane, rings } of counters)
    if (lane.kind === 'consumer') steps += rings.reduce((sum, { claims }) => sum + claims, 0)
  return steps
}

/** Joined slices are about so long (ms). */
const LENGTH = 2000
/** Slices are joined when so many have come together: joining costs as much as looking at all. */
const AT_ONCE = 64

/** The same slices, of which those that ended before a moment are joined. */
function joinSlices(slices: MakerSlice[], before: number): MakerSlice[] {
  const short = slices.reduce(
    (sum, { from, to }) => sum + (to <= before && to - from < LENGTH / 2 ? 1 : 0),
    0,
  )
  if (short < AT_ONCE) return slices
  const joined: MakerSlice[] = []
  const open = new Map<number, MakerSlice>()
  for (const slice of slices) {
    const last = open.get(slice.maker)
    const fits = last && slice.to <= before && slice.from - last.to < APART && slice.to - last.from <= LENGTH
    if (fits && (last.cpu === null) === (slice.cpu === null)) add(last, slice)
    else {
      const copy = { ...slice, work: { ...slice.work } }
      joined.push(copy)
      open.set(slice.maker, copy)
    }
  }
  return joined
}

function add(to: MakerSlice, more: MakerSlice): void {
  to.to = Math.max(to.to, more.to)
  for (const kind of WORK_KINDS) to.work[kind] += more.work[kind]
  for (const name of ['wait', 'idle', 'gc', 'bytes', 'rows', 'claims', 'reads', 'opens'] as const)
    to[name] += more[name]
  to.cpu = to.cpu === null || more.cpu === null ? null : to.cpu + more.cpu
  to.delay = to.delay === null || more.delay === null ? null : to.delay + more.delay
}
