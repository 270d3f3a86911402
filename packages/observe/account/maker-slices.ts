/** From the records of a maker to slices of its time, each from one look at its CPU time to the next. */
import type { SpanRecord } from '../../core/spans/reader.js'
import { SPAN_NAMES } from '../../core/spans/span-words.js'
import type { MakerSlice, MakerWork } from '../evidence.js'
import { overlap } from './numbers.js'
import { isWork, WORK_KINDS, workOf } from './slices.js'
import type { Counters } from './source.js'

/** Where the system does not say CPU time, slices are so long (ms). */
const UNTIMED = 50

/** What lies between records, or slices, further apart than this (ms) is not known: a worker that the feed did not have writes none. */
export const APART = 100

/** The slices of one maker. `records` are all of its lane, in the order in which they were written. */
export function slicesOf(records: readonly SpanRecord[], ring: number): MakerSlice[] {
  const stream = new SliceStream(ring)
  return [...stream.add(records), ...stream.end()]
}

/** The same, while records come. */
export class SliceStream {
  private open: OpenSlice | undefined
  private timed = false

  constructor(private readonly ring: number) {}

  /** Gives the slices that are over. */
  add(records: readonly SpanRecord[]): MakerSlice[] {
    const slices: MakerSlice[] = []
    this.timed ||= records.some(({ cpu }) => !Number.isNaN(cpu))
    for (const record of records) {
      const { open } = this
      // CPU time stands in the first record that was written after the look; others of the same writing follow it.
      const over = this.timed ? open?.looked && !open.sameWriting(record) : open && open.length >= UNTIMED
      if (open && (over || record.start - open.to > APART)) {
        slices.push(open.close())
        this.open = undefined
      }
      this.open ??= new OpenSlice(record, this.ring)
      this.open.add(record)
    }
    return slices
  }

  /** What came after the last look has no CPU time yet: it is left out. */
  end(): MakerSlice[] {
    return this.open && (this.open.looked || !this.timed) ? [this.open.close()] : []
  }
}

class OpenSlice {
  looked = false
  private last: SpanRecord
  to: number
  private readonly work: MakerWork = noWork()
  /** Work for all rings. */
  private all = 0
  private wait = 0
  private idle = 0
  private gc = 0
  private bytes = 0
  private cpu = Number.NaN
  private delay = Number.NaN
  /** Rings with records of the present writing, which begins with a look at the CPU time. */
  private readonly written = new Set<number>()
  private readonly rows = new Map<string, number>()
  private readonly claims = new Map<string, number>()

  constructor(
    private readonly first: SpanRecord,
    private readonly ring: number,
  ) {
    this.last = first
    this.to = first.start
  }

  get length(): number {
    return this.to - this.first.start
  }

  /** Records of one writing are in the order of their kinds, ring by ring. */
  sameWriting({ kind, ring }: SpanRecord): boolean {
    if (ring !== this.last.ring) return !this.written.has(ring)
    return SPAN_NAMES.indexOf(kind) > SPAN_NAMES.indexOf(this.last.kind)
  }

  add(record: SpanRecord): void {
    const { ring, duration, start, rows, joined, bytes, cpu, delay } = record
    const { kind } = record
    this.last = record
    this.to = Math.max(this.to, start + duration)
    if (!Number.isNaN(cpu)) {
      this.looked = true
      this.cpu = cpu
      this.delay = delay
      this.written.clear()
    }
    this.written.add(ring)
    if (kind === 'gc') this.gc += duration
    else if (kind === 'idle') this.idle += duration
    else if (kind === 'wait') this.wait += ring === 0 || ring === this.ring ? duration : 0
    else if (isWork(kind)) {
      this.all += duration
      if (ring !== this.ring) return
      this.work[kind] += duration
      this.bytes += bytes
      this.rows.set(kind, (this.rows.get(kind) ?? 0) + rows)
      this.claims.set(kind, (this.claims.get(kind) ?? 0) + joined)
    }
  }

  close(): MakerSlice {
    const { work, wait, idle, gc, bytes, all } = this
    // CPU time is the thread's: of it, this ring has the share that it has of the work.
    const share = all > 0 ? workOf(work) / all : 1
    const known = !Number.isNaN(this.cpu)
    return {
      maker: this.first.lane.number,
      from: this.first.start,
      to: this.to,
      work,
      wait,
      idle,
      gc,
      bytes,
      cpu: known ? this.cpu * share : null,
      delay: known && !Number.isNaN(this.delay) ? this.delay * share : null,
      // A claim has one span of each kind of its work.
      rows: Math.max(0, ...this.rows.values()),
      claims: Math.max(0, ...this.claims.values()),
      reads: 0,
      opens: 0,
    }
  }
}

function noWork(): MakerWork {
  return { open: 0, read: 0, decode: 0, transform: 0, map: 0, close: 0 }
}

/** The part of a slice that lies in the window; undefined where none does. */
export function clipSlice(slice: MakerSlice, from: number, to: number): MakerSlice | undefined {
  const length = slice.to - slice.from
  const inside = overlap(slice.from, slice.to, from, to)
  if (!(inside > 0)) return undefined
  if (inside >= length) return slice
  const share = inside / length
  const part = { ...slice, from: Math.max(from, slice.from), to: Math.min(to, slice.to) }
  part.work = { ...slice.work }
  for (const kind of WORK_KINDS) part.work[kind] *= share
  for (const name of ['wait', 'idle', 'gc', 'bytes', 'rows', 'claims', 'reads', 'opens'] as const)
    part[name] *= share
  if (part.cpu !== null) part.cpu *= share
  if (part.delay !== null) part.delay *= share
  return part
}

/** Records don't say how many reads and opens they were: in proportion to what the maker's counters say. */
export function addReads(slice: MakerSlice, counters: Counters | undefined, ring: number): void {
  const sums = counters?.rings.find(one => one.ring === ring)
  if (sums === undefined) return
  if (sums.bytes > 0) slice.reads = (slice.bytes * sums.reads) / sums.bytes
  if (sums.claims > 0) slice.opens = (slice.claims * sums.opens) / sums.claims
}

/** What a maker did between two looks at its counters, as one slice: of counters alone, without records. */
export function sliceOfCounters(
  now: Counters,
  before: Counters | undefined,
  ring: number,
  from: number,
): MakerSlice {
  const mine = now.rings.find(one => one.ring === ring)
  const mineBefore = before?.rings.find(one => one.ring === ring)
  const ms = (kind: string) => Math.max(0, (mine?.ms[kind] ?? 0) - (mineBefore?.ms[kind] ?? 0))
  const of = (name: 'bytes' | 'rows' | 'claims' | 'reads' | 'opens') =>
    Math.max(0, (mine?.[name] ?? 0) - (mineBefore?.[name] ?? 0))
  const work = noWork()
  for (const kind of WORK_KINDS) work[kind] = ms(kind)
  const none = now.rings.find(one => one.ring === 0)
  const noneBefore = before?.rings.find(one => one.ring === 0)
  const unbound = (kind: string) => Math.max(0, (none?.ms[kind] ?? 0) - (noneBefore?.ms[kind] ?? 0))
  const to = Math.max(from, now.at, ...now.rings.map(one => one.at))
  // CPU time is looked up less often than sums are written: of a short time it is not known.
  const known = before === undefined || now.at - before.at >= ((mine?.at ?? 0) - before.at) / 2
  const cpu = known ? now.cpu - (before?.cpu ?? 0) : Number.NaN
  const delay = now.delay - (before?.delay ?? 0)
  const share = shareOfWork(now, before, ring)
  return {
    maker: now.lane.number,
    from,
    to,
    work,
    wait: ms('wait') + unbound('wait'),
    idle: ms('idle') + unbound('idle'),
    cpu: Number.isNaN(cpu) ? null : Math.max(0, cpu) * share,
    delay: Number.isNaN(cpu) || Number.isNaN(delay) ? null : Math.max(0, delay) * share,
    gc: Math.max(0, now.gc - (before?.gc ?? 0)),
    bytes: of('bytes'),
    rows: of('rows'),
    claims: of('claims'),
    reads: of('reads'),
    opens: of('opens'),
  }
}

function shareOfWork(now: Counters, before: Counters | undefined, ring: number): number {
  let all = 0
  let mine = 0
  for (const one of now.rings) {
    const was = before?.rings.find(({ ring }) => ring === one.ring)
    for (const kind of WORK_KINDS) {
      const ms = Math.max(0, (one.ms[kind] ?? 0) - (was?.ms[kind] ?? 0))
      all += ms
      if (one.ring === ring) mine += ms
    }
  }
  return all > 0 ? mine / all : 1
}
