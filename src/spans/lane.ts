/**
 * One thread's lane of spans: the only writer of its records. Spans that follow each other within a few milliseconds are
 * joined by ring and kind, so that a lane gets at most about 1,000 records a second, however small its work is.
 */
import { crc32 } from 'node:zlib'
import { monotonicMs, type SpanClock } from './clock.js'
import {
  JOIN_MS,
  LAST_WORK,
  LaneAt,
  RECORD_BYTES,
  RECORDS,
  RecordAt,
  SPAN_NAMES,
  SpanKind,
} from './span-words.js'
import { ThreadTimes } from './thread-times.js'

/** CPU time is looked up at most this often (ms): it costs some µs. */
const TIMES = 50

/** What a span was about, where that is known. */
export interface Work {
  bytes?: number
  batch?: number
  firstRow?: number
  rows?: number
}

/** Spans of one ring and kind that wait to be written. */
interface Joined extends Required<Work> {
  start: number
  duration: number
  count: number
}

/** Memory of a lane: its entry in the table of lanes, and its records. */
export interface LaneMemory {
  entry: ArrayBufferLike
  entryAt: number
  records: ArrayBufferLike
  recordsAt: number
}

export class SpanLane {
  private readonly written: BigInt64Array
  private readonly u8: Uint8Array
  private readonly u32: Uint32Array
  private readonly f32: Float32Array
  private readonly f64: Float64Array
  private count: number
  private readonly rings = new Map<number, RingSpans>()
  /** Rings with spans that wait to be written. */
  private waiting: RingSpans[] = []
  /** Start of the first of them, and whether any were joined. */
  private since = 0
  private joined = false
  private readonly times = new ThreadTimes()
  private timed = -Infinity

  /** Goes on after the records that are there. Made by the thread that writes: its CPU time is looked up. */
  constructor({ entry, entryAt, records, recordsAt }: LaneMemory) {
    const bytes = RECORDS * RECORD_BYTES
    this.written = new BigInt64Array(entry, entryAt + LaneAt.Written, 1)
    this.u8 = new Uint8Array(records, recordsAt, bytes)
    this.u32 = new Uint32Array(records, recordsAt, bytes / 4)
    this.f32 = new Float32Array(records, recordsAt, bytes / 4)
    this.f64 = new Float64Array(records, recordsAt, bytes / 8)
    this.count = Number(Atomics.load(this.written, 0))
  }

  /** Where spans of a ring are put; 0: those that are about none. */
  of(ring: number): RingSpans {
    let spans = this.rings.get(ring)
    if (spans === undefined) {
      spans = new RingSpans(this, ring)
      this.rings.set(ring, spans)
    }
    return spans
  }

  /** The ring is closed: nothing more will be put there. */
  forget(ring: number): void {
    this.flush()
    this.rings.delete(ring)
  }

  /** Called before a ring's first span of a window is put. */
  begin(spans: RingSpans, start: number): void {
    if (this.waiting.length === 0) this.since = start
    this.waiting.push(spans)
  }

  join(): void {
    this.joined = true
  }

  /** Writes what waits, if it has waited long enough at `now`. */
  settle(now: number): void {
    if (now - this.since >= JOIN_MS * this.waiting.length) this.flush(now)
  }

  /** Whether spans wait to be written. */
  get pending(): boolean {
    return this.waiting.length > 0
  }

  /** Writes what waits. Joined spans are written one after the other: when each was, is not known any more. */
  flush(now = performance.now()): void {
    if (this.waiting.length === 0) return
    let cpu = Number.NaN
    let delay = Number.NaN
    if (now - this.timed >= TIMES) {
      this.timed = now
      ;[cpu, delay] = this.times.since()
    }
    let at = this.since
    for (const spans of this.waiting) {
      const { ring, kinds } = spans
      spans.waits = false
      for (let kind = 1; kind < kinds.length; kind++) {
        const span = kinds[kind]
        if (span.count === 0) continue
        this.write(this.joined ? at : span.start, kind, ring, span, cpu, delay)
        cpu = delay = Number.NaN
        at += span.duration
        span.count = 0
      }
    }
    this.waiting.length = 0
    this.joined = false
  }

  private write(start: number, kind: number, ring: number, span: Joined, cpu: number, delay: number): void {
    const at = (this.count % RECORDS) * RECORD_BYTES
    const d = at / 8
    const w = at / 4
    this.f64[d + RecordAt.Start / 8] = monotonicMs(start)
    this.f64[d + RecordAt.Duration / 8] = span.duration
    this.f64[d + RecordAt.Bytes / 8] = span.bytes
    this.f64[d + RecordAt.Batch / 8] = span.batch
    this.f32[w + RecordAt.Cpu / 4] = cpu
    this.f32[w + RecordAt.Delay / 4] = delay
    this.u32[w + RecordAt.FirstRow / 4] = span.firstRow
    this.u32[w + RecordAt.Rows / 4] = span.rows
    this.u32[w + RecordAt.KindRing / 4] = kind | (ring << 8)
    this.u32[w + RecordAt.Joined / 4] = span.count
    this.u32[w + RecordAt.Number / 4] = this.count + 1
    this.u32[w + RecordAt.Check / 4] = crc32(this.u8.subarray(at, at + RecordAt.Check))
    this.count++
    Atomics.store(this.written, 0, BigInt(this.count))
  }
}

/** A lane's spans of one ring. */
export class RingSpans {
  readonly kinds: Joined[] = SPAN_NAMES.map(() => ({
    start: 0,
    duration: 0,
    bytes: 0,
    batch: -1,
    firstRow: 0,
    rows: 0,
    count: 0,
  }))
  /** Whether any of them wait to be written. */
  waits = false

  constructor(
    private readonly lane: SpanLane,
    readonly ring: number,
  ) {}

  /** A span that has just ended. Times are those of this thread's `performance.now()`. */
  add(kind: SpanKind, start: number, duration: number, work?: Work): void {
    if (duration > 0) this.put(kind, start, duration, work)
    if (this.lane.pending) this.lane.settle(start + duration)
  }

  /** The work of a claim that has just ended: one span a kind, one after the other. */
  addClaim({ sums, last }: SpanClock, work: Work): void {
    let start = last
    for (let kind = 1; kind <= LAST_WORK; kind++) start -= sums[kind]
    for (let kind = 1; kind <= LAST_WORK; kind++) {
      if (sums[kind] > 0) this.put(kind, start, sums[kind], work)
      start += sums[kind]
    }
    if (this.lane.pending) this.lane.settle(last)
  }

  private put(kind: number, start: number, duration: number, work: Work = {}): void {
    if (!this.waits) this.lane.begin(this, start)
    this.waits = true
    const span = this.kinds[kind]
    // Only reading brings bytes in; of the other kinds of a claim they are not known.
    const bytes = kind === SpanKind.Read || kind > LAST_WORK ? (work.bytes ?? 0) : 0
    if (span.count++ > 0) {
      span.duration += duration
      span.bytes += bytes
      span.rows += work.rows ?? 0
      this.lane.join()
      return
    }
    span.start = start
    span.duration = duration
    span.bytes = bytes
    span.batch = work.batch ?? -1
    span.firstRow = work.firstRow ?? 0
    span.rows = work.rows ?? 0
  }
}
