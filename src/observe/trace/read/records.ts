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
  source: SpanSource
  /** Cores of the machine. Null: the trace does not say. */
  cores: number | null
}

interface Lane extends LaneInfo {
  pid: number
}

type Slice = Extract<ReadEvent, { type: 'slice' }>
type Facts = RingFacts & { cores: number | null }

export class TraceRecords {
  /** Whether there were more records than are kept. */
  full = false
  private readonly lanes = new Map<string, Lane>()
  private readonly threads = new Map<string, string>()
  /** A ring for each feed, by its name and rank. */
  private readonly rings = new Map<string, number>()
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
      for (const [feed, ring] of this.rings)
        if (own.some(record => record.ring === ring && record.kind === 'step'))
          loops.push(this.loop(lane, feed, ring, own))
    }
    return loops
  }

  private loop({ pid, name }: Lane, feed: string, ring: number, own: readonly SpanRecord[]): TracedLoop {
    // The workers of all processes that made batches of the feed, also while they had nothing to do.
    const made = this.records.filter(({ lane }) => lane.kind === 'worker')
    const engines = new Set(made.filter(record => record.ring === ring).map(({ lane }) => (lane as Lane).pid))
    const all = [...own, ...made.filter(({ lane }) => engines.has((lane as Lane).pid))]
    const told = [...engines, pid].map(one => this.facts.get(`${one}/${feed}`)).find(Boolean)
    const workers = new Set(made.filter(record => record.ring === ring).map(({ lane }) => lane.lane)).size
    const facts = told ?? { ring, rank: 0, world: 1, begun: Number.NaN, workers, depth: DEPTH, cores: null }
    const source = spansOfLoader(new TraceReading(all, { ...facts, ring }), ring)
    return { pid, thread: name, feed, source, cores: facts.cores }
  }

  private slice({ pid, tid, cat, name, ts, dur, args }: Slice): void {
    const kind = kindOf({ cat, name })
    const lane = kind && this.lane(pid, tid)
    if (kind === undefined || lane === undefined) return
    if (this.records.length === MOST) {
      this.full = true
      return
    }
    const feed = args.feed
    this.records.push({
      ...{ lane, kind, ring: typeof feed === 'string' ? this.ring(feed) : 0 },
      ...{ start: ts / 1000, duration: dur / 1000, number: this.records.length },
      ...{ bytes: number(args.bytes, 0), batch: number(args.batch, -1) },
      ...{ firstRow: number(args.firstRow, 0), rows: number(args.rows, 0), joined: number(args.joined, 1) },
      ...{ cpu: number(args.cpuMs, Number.NaN), delay: number(args.delayMs, Number.NaN) },
    })
  }

  /** The lane of a thread: a worker's tracks beside each other, and that of its garbage, are one. */
  private lane(pid: number, tid: number): Lane | undefined {
    const match = /^(worker|trainer) (\d+)/.exec(this.threads.get(`${pid}/${tid}`) ?? '')
    if (match === null) return undefined
    const [name, word, digits] = match
    const key = `${pid}/${name}`
    const known = this.lanes.get(key)
    if (known !== undefined) return known
    const kind: LaneName = word === 'worker' ? 'worker' : 'consumer'
    const lane = { pid, lane: this.lanes.size, kind, number: Number(digits), name, open: false, written: 0 }
    this.lanes.set(key, lane)
    return lane
  }

  private ring(feed: string): number {
    const known = this.rings.get(feed)
    if (known !== undefined) return known
    this.rings.set(feed, this.rings.size + 1)
    return this.rings.size
  }

  /** What a mark says of a feed. It was opened at the first one; how it is filled, the last one says. */
  private tell(pid: number, at: number, args: Record<string, unknown>): void {
    if (typeof args.feed !== 'string') return
    const key = `${pid}/${args.feed}`
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
