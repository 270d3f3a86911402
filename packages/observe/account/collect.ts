/**
 * Collects the evidence of a window, out of spans: of records, which say when things happened, or of counters, which have only
 * sums but those of the whole run.
 */
import type { SpanRecord } from '../../core/spans/reader.js'
import { SPAN_NAMES } from '../../core/spans/span-words.js'
import { allowedCores } from '../../core/system/process/limits.js'
import type { ClaimTimes, Evidence, Facts, HostSignals, MakerSlice, Probes, StepTimes } from '../evidence.js'
import type { LoopTimes } from './loop-times.js'
import { addReads, clipSlice, sliceOfCounters, slicesOf } from './maker-slices.js'
import { isWork } from './slices.js'
import type { Counters, SpanSource } from './source.js'
import { endOf, noteGc, stepsOf } from './steps.js'

export interface CollectOptions {
  /** The window (ms of CLOCK_MONOTONIC): by default all that records are still there of. */
  from?: number
  to?: number
  host?: HostSignals | null
  probes?: Probes
  /** What spans don't say: device, cores of another process, bytes of the source, … */
  facts?: Partial<Facts>
  cache?: Evidence['cache']
}

/** The evidence of a window, from records. */
export function collect(source: SpanSource, options: CollectOptions = {}): Evidence {
  const { trainer, engine } = source
  const facts = factsOf(source, { ...(options.host && { cores: options.host.allowed }), ...options.facts })
  const made = engine.reader.readSince()
  const taken = trainer.reader === engine.reader ? made : trainer.reader.readSince()
  const own = taken.records.filter(({ lane }) => lane.kind === 'consumer')
  const lanes = new Set(own.filter(record => record.ring === trainer.ring).map(({ lane }) => lane.lane))
  const all = stepsOf(
    own.filter(record => record.ring === trainer.ring),
    stepsInEpochOf(source),
  )
  noteGc(
    all,
    own.filter(({ kind, lane }) => kind === 'gc' && lanes.has(lane.lane)),
  )
  const [from, to] = windowOf(all, made.records, options)
  // A step is in the window if it ended there: the last one of a window is not cut.
  const steps = all.filter(step => step.asked >= from && endOf(step) <= to)
  return {
    version: 1,
    from,
    to,
    facts,
    steps,
    makers: makersIn(made.records, source, facts.workers, from, to),
    claims: claimsIn(made.records, engine.ring, from, to),
    host: options.host ?? null,
    probes: options.probes ?? {},
    lost: made.lost + (taken === made ? 0 : taken.lost),
    ...(options.cache && { cache: options.cache }),
  }
}

/** The facts of a ring: the engine's table has them. */
export function factsOf(source: SpanSource | undefined, more: Partial<Facts> = {}): Facts {
  const ring = source?.engine.reader.rings().find(one => one.ring === source?.engine.ring)
  return {
    workers: ring?.workers ?? 0,
    depth: ring?.depth ?? 0,
    claims: ring?.claims ?? 1,
    rows: ring?.rows ?? 0,
    slotBytes: ring?.slotBytes ?? 0,
    rank: ring?.rank ?? 0,
    world: ring?.world ?? 1,
    cores: more.cores ?? allowedCores(),
    ...(ring && { begun: ring.begun }),
    ...more,
  }
}

function stepsInEpochOf({ engine }: SpanSource): number {
  return engine.reader.rings().find(one => one.ring === engine.ring)?.stepsInEpoch ?? 0
}

function windowOf(
  steps: readonly StepTimes[],
  made: readonly SpanRecord[],
  { from, to }: CollectOptions,
): [number, number] {
  const last = steps.at(-1)
  const begun = from ?? steps[0]?.asked ?? made.reduce((least, { start }) => Math.min(least, start), Infinity)
  const end = to ?? (last ? endOf(last) : begun)
  return Number.isFinite(begun) ? [begun, Math.max(begun, end)] : [0, 0]
}

/** The slices of all makers that work for the ring. */
function makersIn(
  records: readonly SpanRecord[],
  { engine: { reader, ring } }: SpanSource,
  workers: number,
  from: number,
  to: number,
): MakerSlice[] {
  const lanes = new Map<number, SpanRecord[]>()
  for (const record of records) {
    if (record.lane.kind !== 'worker') continue
    const list = lanes.get(record.lane.lane)
    if (list) list.push(record)
    else lanes.set(record.lane.lane, [record])
  }
  const counters = new Map(reader.counters(ring).map(one => [one.lane.lane, one]))
  const slices: MakerSlice[] = []
  for (const [lane, list] of lanes) {
    const [{ lane: info }] = list
    // One that never worked for the ring may have waited for it all the time.
    if (info.number >= workers && !list.some(record => record.ring === ring)) continue
    for (const whole of slicesOf(list, ring)) {
      const slice = clipSlice(whole, from, to)
      if (slice === undefined) continue
      addReads(slice, counters.get(lane), ring)
      slices.push(slice)
    }
  }
  return slices
}

/** A look at the counters of makers. */
export interface MakersLook {
  at: number
  counters: Counters[]
}

/** Looks at all makers: one that begins to work for a ring later has idled, or worked for others, until then. */
export function lookAtMakers(source: SpanSource | undefined, at: number): MakersLook {
  const counters = source?.engine.reader.counters() ?? []
  return { at, counters: counters.filter(({ lane }) => lane.kind === 'worker') }
}

/** What the makers of a ring did between two looks, one slice each. One that wrote nothing has none: a surplus one sleeps. */
export function makersBetween(ring: number, before: MakersLook, now: MakersLook): MakerSlice[] {
  const were = new Map(before.counters.map(one => [one.lane.lane, one]))
  const own = now.counters.filter(({ rings }) => rings.some(one => one.ring === ring))
  return own
    .map(one => sliceOfCounters(one, were.get(one.lane.lane), ring, before.at))
    .filter(({ from, to }) => to > from)
}

/** Claims at most: the latest are kept. */
const MOST = 4000

interface Group {
  start: number
  ms: number
  rows: number
  joined: number
}

/**
 * A maker writes the kinds of work of a claim one after the other, in the order of the kinds. Claims that take less than a
 * moment are written together: then each has its share of them.
 */
export function claimsIn(
  records: readonly SpanRecord[],
  ring: number,
  from: number,
  to: number,
): ClaimTimes[] {
  const groups: Group[] = []
  const open = new Map<number, { kind: number; group: Group }>()
  for (const record of records) {
    const { lane, start, duration, rows, joined } = record
    if (lane.kind !== 'worker' || record.ring !== ring || !isWork(record.kind)) continue
    if (start < from || start + duration > to) continue
    const kind = SPAN_NAMES.indexOf(record.kind)
    const last = open.get(lane.lane)
    if (last !== undefined && kind > last.kind) {
      last.kind = kind
      last.group.ms += duration
      last.group.rows = Math.max(last.group.rows, rows)
      last.group.joined = Math.max(last.group.joined, joined)
      continue
    }
    const group = { start, ms: duration, rows, joined: Math.max(1, joined) }
    open.set(lane.lane, { kind, group })
    groups.push(group)
  }
  const claims: ClaimTimes[] = []
  for (const { ms, rows, joined } of groups.sort((a, b) => a.start - b.start))
    for (let i = 0; i < Math.min(joined, MOST); i++) claims.push({ ms: ms / joined, rows: rows / joined })
  return claims.slice(-MOST)
}

interface RunOf {
  from: number
  to: number
  times: Pick<LoopTimes, 'steps' | 'waits'>
  /** Looks at the counters of the makers. */
  before: MakersLook
  now: MakersLook
  facts: Partial<Facts>
  cache?: Evidence['cache']
  host?: HostSignals | null
}

export function evidenceOfRun(
  source: SpanSource | undefined,
  { from, to, times, before, now, facts, cache, host = null }: RunOf,
): Evidence {
  return {
    version: 1,
    from,
    to,
    facts: factsOf(source, { ...(host && { cores: host.allowed }), ...facts }),
    steps: times.steps,
    waits: times.waits,
    makers: source ? makersBetween(source.engine.ring, before, now) : [],
    host,
    probes: {},
    lost: 0,
    ...(cache && { cache }),
  }
}
