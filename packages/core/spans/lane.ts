/**
 * One thread's lane of spans: the only writer of its records and counters. Spans that follow each other within a few
 * milliseconds are joined by ring and kind, so that a lane gets at most about 1,000 records a second, however small its work
 * is. With counters alone they are joined for a second.
 */

import { closeSync, openSync, readSync } from 'node:fs'
import { threadCpuMs } from '../system/process/thread.js'
import { monotonicMs, type SpanClock } from './clock.js'
import { BYTES, CLAIMS, CounterWriter, OPENS, READS, ROWS } from './counters.js'
import {
  COUNTERS_JOIN_MS,
  JOIN_MS,
  LAST_WORK,
  LaneAt,
  RECORD_BYTES,
  RECORDS,
  RecordAt,
  SPAN_NAMES,
  SpanKind,
  SpanLevel,
} from './span-words.js'

/** CPU time is looked up at most this often (ms): it costs some µs. */
const TIMES = 50
/** Counters are written out at most this often (ms). */
const COUNT_MS = JOIN_MS
/** For so long (ms) spans are joined, by level. */
const WINDOWS: Readonly<Record<SpanLevel, number>> = {
  [SpanLevel.Counters]: COUNTERS_JOIN_MS,
  [SpanLevel.Spans]: JOIN_MS,
}

/** What a span was about, where that is known. */
export interface Work {
  bytes?: number
  batch?: number
  firstRow?: number
  rows?: number
}

const NONE: Work = {}

/** Spans of one ring and kind that wait to be written. */
interface Joined extends Required<Work> {
  start: number
  duration: number
  count: number
}

/** Memory of a lane: its entry in the table of lanes, its counters, and its records. */
export interface LaneMemory {
  entry: ArrayBufferLike
  entryAt: number
  counters: ArrayBufferLike
  countersAt: number
  records: ArrayBufferLike
  recordsAt: number
}

export class SpanLane {
  private readonly written: BigInt64Array
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
  private readonly counters: CounterWriter
  /** Whether there are sums that are not written out, and when they last were. */
  private counted = false
  private published = Number.NEGATIVE_INFINITY
  private readonly times = new ThreadTimes()
  private timed = Number.NEGATIVE_INFINITY
  /** CPU time and delay that no record tells yet. */
  private cpu = Number.NaN
  private delay = Number.NaN
  /** The most that one of its rings asks for. */
  private level: SpanLevel = SpanLevel.Spans

  /** Goes on after the records that are there. Made by the thread that writes: its CPU time is looked up. */
  constructor({ entry, entryAt, counters, countersAt, records, recordsAt }: LaneMemory) {
    const bytes = RECORDS * RECORD_BYTES
    this.written = new BigInt64Array(entry, entryAt + LaneAt.Written, 1)
    this.counters = new CounterWriter(counters, countersAt)
    this.u32 = new Uint32Array(records, recordsAt, bytes / 4)
    this.f32 = new Float32Array(records, recordsAt, bytes / 4)
    this.f64 = new Float64Array(records, recordsAt, bytes / 8)
    this.count = Number(Atomics.load(this.written, 0))
    this.times.since() // from now on
  }

  /** Where spans of a ring are put; 0: those that are about none. The lane writes as much as the ring that wants most. */
  of(ring: number, level?: SpanLevel): RingSpans {
    let spans = this.rings.get(ring)
    if (spans === undefined) {
      spans = new RingSpans(this, ring, this.counters.sumsOf(ring))
      this.rings.set(ring, spans)
    }
    if (level !== undefined && level !== spans.level) {
      spans.level = level
      this.setLevel()
    }
    return spans
  }

  /** The ring is closed: nothing more will be put there. */
  forget(ring: number): void {
    this.flush()
    this.rings.delete(ring)
    this.counters.leave(ring)
    this.setLevel()
  }

  private setLevel(): void {
    const levels = [...this.rings.values()].flatMap(({ level }) => level ?? [])
    if (levels.length > 0) this.level = Math.max(...levels) as SpanLevel
  }

  /** Called before a ring's first span of a window is put. */
  begin(spans: RingSpans, start: number): void {
    if (this.waiting.length === 0) this.since = start
    this.waiting.push(spans)
  }

  join(): void {
    this.joined = true
  }

  /** The thread has collected garbage, within what else it did. */
  gc(start: number, duration: number): void {
    // It is told some time after it was: what waits, and what comes, must not be taken to begin with it.
    this.flush()
    this.counters.addGc(duration)
    this.of(0).add(SpanKind.Gc, start, duration)
    this.flush()
  }

  /** Sums have grown: writes what has waited long enough at `now`. */
  settle(now: number): void {
    this.counted = true
    const window = WINDOWS[this.level]
    if (this.waiting.length > 0 && now - this.since >= window * this.waiting.length) this.writeRecords(now)
    if (now - this.published >= COUNT_MS) this.publish(now)
  }

  /** Whether anything waits to be written that should not wait for long. */
  get pending(): boolean {
    return this.counted || (this.waiting.length > 0 && this.level !== SpanLevel.Counters)
  }

  /** Writes what waits. */
  flush(now = performance.now()): void {
    if (this.waiting.length > 0) this.writeRecords(now)
    if (this.counted) this.publish(now)
  }

  /** Writes the sums out. */
  private publish(now: number): void {
    this.counted = false
    this.published = now
    this.look(now)
    const at = monotonicMs(now)
    for (const spans of this.rings.values()) {
      if (spans.counted) this.counters.write(spans.ring, spans.sums, at)
      spans.counted = false
    }
  }

  /** What the thread does from here on is no work that spans tell of: its CPU time does not count until `resume`. */
  pause(now = performance.now()): void {
    this.timed = Number.NEGATIVE_INFINITY
    this.look(now)
  }

  resume(): void {
    this.times.since()
  }

  /** Looks CPU time up, if that is some time ago. */
  private look(now: number): void {
    if (now - this.timed < TIMES) return
    this.timed = now
    const [cpu, delay] = this.times.since()
    this.counters.addTimes(cpu, delay)
    this.counters.writeOwn(monotonicMs(now))
    this.cpu = Number.isNaN(this.cpu) ? cpu : this.cpu + cpu
    this.delay = Number.isNaN(this.delay) ? delay : this.delay + delay
  }

  /** Joined spans are written one after the other: when each was, is not known any more. */
  private writeRecords(now: number): void {
    this.look(now)
    let { cpu, delay } = this
    this.cpu = this.delay = Number.NaN
    let at = this.since
    for (const spans of this.waiting) {
      const { ring, kinds } = spans
      spans.waits = false
      for (let kind = 1; kind < kinds.length; kind++) {
        const span = kinds[kind]
        if (span.count === 0) continue
        const beside = kind === SpanKind.Gc
        this.write(this.joined && !beside ? at : span.start, kind, ring, span, cpu, delay)
        cpu = delay = Number.NaN
        if (!beside) at += span.duration
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
    this.u32[w + RecordAt.Check / 4] = crcOfWords(this.u32, w, w + RecordAt.Check / 4)
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
  /** Whether its sums have grown since they were written out. */
  counted = false
  level: SpanLevel | undefined

  constructor(
    private readonly lane: SpanLane,
    readonly ring: number,
    /** Since the beginning, as SumAt has them. */
    readonly sums: Float64Array,
  ) {}

  /** A span that has just ended. Times are those of this thread's `performance.now()`. */
  add(kind: SpanKind, start: number, duration: number, work?: Work): void {
    if (duration > 0) {
      this.put(kind, start, duration, work)
      if (kind === SpanKind.Step || kind === SpanKind.Stage) this.count(work?.rows ?? 0)
      this.sums[BYTES] += work?.bytes ?? 0
      this.counted = true
    }
    // A wait is written with its step: else the waits of some steps would be joined with those of one more.
    const among = kind > LAST_WORK && kind !== SpanKind.Step && this.kinds[SpanKind.Step].count > 0
    if (!among && (this.counted || this.lane.pending)) this.lane.settle(start + duration)
  }

  /** The work of a claim that has just ended: one span a kind, one after the other. */
  addClaim({ sums, last, reads, opens }: SpanClock, work: Work): void {
    let start = last
    for (let kind = 1; kind <= LAST_WORK; kind++) start -= sums[kind]
    for (let kind = 1; kind <= LAST_WORK; kind++) {
      if (sums[kind] > 0) this.put(kind, start, sums[kind], work)
      start += sums[kind]
    }
    this.count(work.rows ?? 0)
    this.sums[BYTES] += work.bytes ?? 0
    this.sums[READS] += reads
    this.sums[OPENS] += opens
    this.counted = true
    this.lane.settle(last)
  }

  /** A claim, a step, or a batch of a device. */
  private count(rows: number): void {
    this.sums[CLAIMS]++
    this.sums[ROWS] += rows
  }

  private put(kind: number, start: number, duration: number, work: Work = NONE): void {
    if (!this.waits) this.lane.begin(this, start)
    this.waits = true
    this.sums[kind] += duration
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

/** CRC-32 as zlib has it, of whole words. For the 60 bytes of a record that takes a fifth of the time of a call into zlib. */

/** Of each byte, followed by 0, 1, 2 or 3 bytes of zeros. */
const TABLES = tables()

/** `words` are little-endian, as those of every machine that Millrace runs on. */
export function crcOfWords(words: Uint32Array, from: number, to: number): number {
  const [last, third, second, first] = TABLES
  let crc = -1
  for (let i = from; i < to; i++) {
    crc ^= words[i]
    crc = first[crc & 255] ^ second[(crc >>> 8) & 255] ^ third[(crc >>> 16) & 255] ^ last[crc >>> 24]
  }
  return ~crc >>> 0
}

function tables(): Int32Array[] {
  const found = Array.from({ length: 4 }, () => new Int32Array(256))
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
    found[0][byte] = crc
  }
  for (let zeros = 1; zeros < 4; zeros++)
    for (let byte = 0; byte < 256; byte++) {
      const before = found[zeros - 1][byte]
      found[zeros][byte] = (before >>> 8) ^ found[0][before & 255]
    }
  return found
}

/** CPU time of the calling thread, and how long it waited for a core: Linux tells the latter in a small file. */
const FILE = '/proc/thread-self/schedstat'
const UNKNOWN: readonly [number, number] = [Number.NaN, Number.NaN]
const text = Buffer.alloc(64)

export class ThreadTimes {
  private cpu = Number.NaN
  private delay = Number.NaN
  private unknown = false

  /** ms of CPU time, and of waiting for a core, since it was last asked for. NaN where the system does not say. */
  since(): readonly [cpu: number, delay: number] {
    if (this.unknown) return UNKNOWN
    try {
      const delay = Number(read().split(' ')[1]) / 1e6
      const cpu = threadCpuMs()
      const times: [number, number] = [cpu - this.cpu, delay - this.delay]
      this.cpu = cpu
      this.delay = delay
      return times
    } catch {
      this.unknown = true
      return UNKNOWN
    }
  }
}

/** Opened each time: a descriptor that is kept would have to be closed with its thread. */
function read(): string {
  const fd = openSync(FILE, 'r')
  try {
    return text.toString('latin1', 0, readSync(fd, text, 0, text.length, 0))
  } finally {
    closeSync(fd)
  }
}
