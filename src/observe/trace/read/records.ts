/** The records of spans that a trace of ours was made of, as far as it still tells them: what accounting is made of. */
import type { LaneInfo, SpanRead, SpanRecord } from '../../../spans/reader.js'
import type { LaneName } from '../../../spans/span-words.js'
import { type RingFacts, type SpanReading, type SpanSource, spansOfLoader } from '../../account/source.js'
import { FEED, kindOf } from '../vocabulary.js'
import type { ReadEvent } from './events.js'

/** So many are kept at the most: memory for them is some hundred megabytes. */
const MOST = 1_000_000

/** Batches made ahead, where a trace does not say. */
const DEPTH = 4

/** A loop of a trainer over one feed, and the workers that made its batches. */
export interface TracedLoop {
  pid: number
  thread: string
  feed: string
  /** The ring's number in the process that fills it. Null: the trace does not say, feeds of one name are one. */
  ring: number | null
  source: SpanSource
  /** Cores of the machine. Null: the trace does not say. */
  cores: number | null
}

interface Lane extends LaneInfo {
  pid: number
}

interface Ring {
  /** Its number here, from 1 on. */
  id: number
  feed: string
  /** Its number in the trace. */
  number: number | null
}

type Slice = Extract<ReadEvent, { type: 'slice' }>
type Facts = RingFacts & { cores: number | null }

export class TraceRecords {
  /** Whether there were more records than are kept. */
  full = false
  private readonly lanes = new Map<string, Lane>()
  private readonly threads = new Map<string, string>()
  /** By process and number; in old traces, which don't have these, by the feed's name and rank. */
  private readonly rings = new Map<string, Ring>()
  private readonly facts = new Map<string, Facts>()
  private readonly records: SpanRecord[] = []

  readonly take = (event: ReadEvent): void => {
    if (event.type === 'thread') this.threads.set(`${event.pid}/${event.tid}`, event.name)
    else if (event.type === 'slice') this.slice(event)
    else if (event.type === 'instant' && event.cat === FEED.cat && event.name === FEED.name)
      this.tell(event.pid, event.ts / 1000, event.args)
  }

  /** The loops that took batches. */
  loops(): TracedLoop[] {
    const loops: TracedLoop[] = []
    for (const lane of this.lanes.values()) {
      if (lane.kind !== 'consumer') continue
      const own = this.records.filter(record => record.lane === lane)
      const stepped = new Set(own.filter(({ kind }) => kind === 'step').map(({ ring }) => ring))
      for (const ring of this.rings.values()) if (stepped.has(ring.id)) loops.push(this.loop(lane, ring, own))
    }
    return loops
  }

  private loop(
    { pid, name }: Lane,
    { id: ring, feed, number }: Ring,
    own: readonly SpanRecord[],
  ): TracedLoop {
    // The workers of all processes that made batches of the feed, also while they had nothing to do.
    const made = this.records.filter(({ lane }) => lane.kind === 'worker')
    const engines = new Set(made.filter(record => record.ring === ring).map(({ lane }) => (lane as Lane).pid))
    const all = [...own, ...made.filter(({ lane }) => engines.has((lane as Lane).pid))]
    const told = [...engines, pid].map(one => this.facts.get(`${one}/${ring}`)).find(Boolean)
    const workers = new Set(made.filter(record => record.ring === ring).map(({ lane }) => lane.lane)).size
    const facts = told ?? { ring, rank: 0, world: 1, begun: Number.NaN, workers, depth: DEPTH, cores: null }
    const source = spansOfLoader(new TraceReading(all, { ...facts, ring }), ring)
    return { pid, thread: name, feed, ring: number, source, cores: facts.cores }
  }

  private slice({ pid, tid, cat, name, ts, dur, args }: Slice): void {
    const kind = kindOf({ cat, name })
    const lane = kind && this.lane(pid, tid)
    if (kind === undefined || lane === undefined) return
    if (this.records.length === MOST) {
      this.full = true
      return
    }
    this.records.push({
      ...{ lane, kind, ring: this.ring(pid, args)?.id ?? 0 },
      ...{ start: ts / 1000, duration: dur / 1000, number: this.records.length },
      ...{ bytes: number(args.bytes, 0), batch: number(args.batch, -1) },
      ...{ firstRow: number(args.firstRow, 0), rows: number(args.rows, 0), joined: number(args.joined, 1) },
      ...{ cpu: number(args.cpuMs, Number.NaN), delay: number(args.delayMs, Number.NaN) },
    })
  }

  /**
   * The lane of a thread: a worker's tracks beside each other, and that of its garbage, are one. Without workers, batches are
   * made by the calling thread.
   */
  private lane(pid: number, tid: number): Lane | undefined {
    const match = /^(worker|caller|trainer) (\d+)/.exec(this.threads.get(`${pid}/${tid}`) ?? '')
    if (match === null) return undefined
    const [name, word, digits] = match
    const key = `${pid}/${name}`
    const known = this.lanes.get(key)
    if (known !== undefined) return known
    const kind: LaneName = word === 'trainer' ? 'consumer' : 'worker'
    const lane = { pid, lane: this.lanes.size, kind, number: Number(digits), name, open: false, written: 0 }
    this.lanes.set(key, lane)
    return lane
  }

  /** The ring that arguments name; undefined: none. */
  private ring(pid: number, args: Record<string, unknown>): Ring | undefined {
    if (typeof args.feed !== 'string') return undefined
    const told = typeof args.ring === 'number' ? args.ring : null
    const key = told === null ? `of ${args.feed}` : `${number(args.engine, pid)}/${told}`
    const known = this.rings.get(key)
    if (known !== undefined) return known
    const ring = { id: this.rings.size + 1, feed: args.feed, number: told }
    this.rings.set(key, ring)
    return ring
  }

  /** What a mark says of a feed. It was opened at the first one; how it is filled, the last one says. */
  private tell(pid: number, at: number, args: Record<string, unknown>): void {
    const ring = this.ring(pid, args)
    if (ring === undefined) return
    const key = `${pid}/${ring.id}`
    this.facts.set(key, {
      ...{ ring: 0, begun: this.facts.get(key)?.begun ?? at },
      ...{ rank: number(args.rank, 0), world: number(args.world, 1), workers: number(args.workers, 0) },
      ...{ depth: number(args.depth, DEPTH), claims: number(args.claims, 1), rows: number(args.rows, 0) },
      ...{ slotBytes: number(args.slotBytes, 0), stepsInEpoch: number(args.stepsInEpoch, 0) },
      cores: typeof args.cores === 'number' && args.cores > 0 ? args.cores : null,
    })
  }
}

/** Records of a trace, as a reader of spans gives them. */
class TraceReading implements SpanReading {
  private readonly records: SpanRecord[]

  constructor(
    records: readonly SpanRecord[],
    private readonly ring: RingFacts,
  ) {
    this.records = [...records].sort((a, b) => a.lane.lane - b.lane.lane || a.start - b.start)
  }

  readSince(): SpanRead {
    return { records: this.records, cursor: [], lost: 0 }
  }

  rings(): RingFacts[] {
    return [this.ring]
  }

  /** A trace has no sums. */
  counters(): [] {
    return []
  }
}

function number(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}
