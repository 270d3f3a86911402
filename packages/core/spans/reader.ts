/**
 * Reads spans: those of this process, or of another one that may be alive or dead. A reader says where it has come to (the
 * cursor), gets what was written since then, and learns how many records it was too late for.
 */

import { crc32 } from 'node:zlib'
import { MillraceError } from '../basics/errors.js'
import { latestCopy, SUMS_IN_LANE } from './counters.js'
import type { LaneInfo, RingInfo, SpanCursor, SpanRead, SpanRecord } from './records.js'
import {
  COUNTER_BYTES,
  COUNTERS_AT,
  HeadAt,
  LANE_BYTES,
  LANE_NAMES,
  LANES,
  LANES_AT,
  LAST_WORK,
  LaneAt,
  LEVEL_NAMES,
  OWN_BYTES,
  OwnAt,
  RECORD_BYTES,
  RECORDS,
  RECORDS_AT,
  RecordAt,
  RING_BYTES,
  RINGS,
  RINGS_AT,
  RingAt,
  SPAN_NAMES,
  SPANS_MAGIC,
  SPANS_VERSION,
  type SpanName,
  SUM_BYTES,
  SUMS,
  SumAt,
} from './span-words.js'

export type { LaneInfo, RingInfo, SpanCursor, SpanRead, SpanRecord } from './records.js'

/** A file of spans. */
export interface SpanBytes {
  /** A copy of some bytes of it. */
  read(at: number, bytes: number): Uint8Array
}

/** Sizes in the head, and what they are in this version at least and at most: files differ in the number of lanes. */
const SIZES: readonly (readonly [at: number, least: number, most: number])[] = [
  [HeadAt.RecordBytes, RECORD_BYTES, RECORD_BYTES],
  [HeadAt.Records, RECORDS, RECORDS],
  [HeadAt.RecordsAt, RECORDS_AT, RECORDS_AT],
  [HeadAt.Lanes, 1, LANES],
  [HeadAt.LanesAt, LANES_AT, LANES_AT],
  [HeadAt.LaneBytes, LANE_BYTES, LANE_BYTES],
  [HeadAt.Rings, RINGS, RINGS],
  [HeadAt.RingsAt, RINGS_AT, RINGS_AT],
  [HeadAt.RingBytes, RING_BYTES, RING_BYTES],
  [HeadAt.CountersAt, COUNTERS_AT, COUNTERS_AT],
  [HeadAt.CounterBytes, COUNTER_BYTES, COUNTER_BYTES],
  [HeadAt.OwnBytes, OWN_BYTES, OWN_BYTES],
  [HeadAt.SumBytes, SUM_BYTES, SUM_BYTES],
  [HeadAt.Sums, SUMS, SUMS],
]

export class SpanReader {
  private readonly head: DataView
  /** The process that writes. */
  readonly pid: number

  /** Throws where this is no file of spans, or one of another version. */
  constructor(
    private readonly file: SpanBytes,
    what = 'this memory',
  ) {
    this.head = viewOf(file.read(0, LANES_AT))
    const magic = Buffer.from(this.head.buffer, this.head.byteOffset, 8).toString('latin1')
    if (magic !== SPANS_MAGIC) throw new MillraceError(`${what} holds no spans of Millrace`)
    const version = this.u32(HeadAt.Version)
    if (version !== SPANS_VERSION) {
      throw new MillraceError(
        `${what} has spans of version ${version}, this Millrace reads version ${SPANS_VERSION}: use the same Millrace on both sides`,
      )
    }
    if (SIZES.some(([at, least, most]) => this.u32(at) < least || this.u32(at) > most))
      throw new MillraceError(`${what} is damaged: its head says sizes that spans don't have`)
    this.pid = this.u32(HeadAt.Pid)
  }

  /** The lanes that have ever been used. */
  lanes(): LaneInfo[] {
    const bytes = this.u32(HeadAt.LaneBytes)
    const table = viewOf(this.file.read(this.u32(HeadAt.LanesAt), this.u32(HeadAt.Lanes) * bytes))
    const lanes: LaneInfo[] = []
    for (let lane = 0; lane < this.u32(HeadAt.Lanes); lane++) {
      const at = lane * bytes
      const kind = LANE_NAMES[table.getUint32(at + LaneAt.Kind, true)]
      if (!kind) continue
      lanes.push({
        lane,
        kind,
        number: table.getUint32(at + LaneAt.Number, true),
        name: textAt(table, at + LaneAt.Name, at + bytes),
        open: table.getUint32(at + LaneAt.Open, true) === 1,
        written: Number(table.getBigInt64(at + LaneAt.Written, true)),
      })
    }
    return lanes
  }

  /** The latest rings, the open ones among them. */
  rings(): RingInfo[] {
    const bytes = this.u32(HeadAt.RingBytes)
    const table = viewOf(this.file.read(this.u32(HeadAt.RingsAt), this.u32(HeadAt.Rings) * bytes))
    const rings: RingInfo[] = []
    for (let at = 0; at < table.byteLength; at += bytes) {
      const u32 = (offset: number) => table.getUint32(at + offset, true)
      const ring = u32(RingAt.Id)
      if (ring === 0 || ring !== u32(RingAt.Again)) continue
      rings.push({
        ring,
        name: textAt(table, at + RingAt.Name, at + RingAt.Again),
        rank: u32(RingAt.Rank),
        world: u32(RingAt.World),
        open: u32(RingAt.Open) === 1,
        engine: u32(RingAt.Engine),
        engineRing: u32(RingAt.EngineRing),
        begun: table.getFloat64(at + RingAt.Begun, true),
        workers: u32(RingAt.Workers),
        depth: u32(RingAt.Depth),
        claims: u32(RingAt.Claims),
        rows: u32(RingAt.Rows),
        slotBytes: table.getFloat64(at + RingAt.SlotBytes, true),
        stepsInEpoch: table.getFloat64(at + RingAt.Steps, true),
        level: LEVEL_NAMES[u32(RingAt.Level)] || 'spans',
      })
    }
    return rings.sort((a, b) => a.ring - b.ring)
  }

  /** Sums since the beginning, of all lanes; with a ring, of the lanes that worked for it, and of that ring alone. */
  counters(ring?: number): LaneCounters[] {
    const found: LaneCounters[] = []
    for (const lane of this.lanes()) {
      const part = this.file.read(COUNTERS_AT + lane.lane * COUNTER_BYTES, COUNTER_BYTES)
      const counters = countersOf(lane, part)
      if (ring !== undefined) counters.rings = counters.rings.filter(one => one.ring === ring)
      if (ring === undefined || counters.rings.length > 0) found.push(counters)
    }
    return found
  }

  /** The place behind everything that is written by now: what comes later is read from there. */
  end(): SpanCursor {
    const cursor: number[] = []
    for (const { lane, written } of this.lanes()) cursor[lane] = written
    return Array.from(cursor, count => count ?? 0)
  }

  /**
   * What was written since the cursor, all of it or that of one ring, of all lanes or of those that are wanted. Without a
   * cursor: everything that is still there.
   */
  readSince(cursor?: SpanCursor, ring?: number, want?: (lane: LaneInfo) => boolean): SpanRead {
    const records: SpanRecord[] = []
    const reached = [...(cursor ?? [])]
    let lost = 0
    for (const info of this.lanes()) {
      const { lane, written } = info
      if (want?.(info) === false) continue
      const kept = Math.max(0, written - this.u32(HeadAt.Records))
      const from = cursor === undefined ? kept : (cursor[lane] ?? 0)
      lost += Math.max(0, kept - from) + this.readLane(info, Math.max(from, kept), ring, records)
      reached[lane] = Math.max(from, written)
    }
    return { records, cursor: Array.from(reached, count => count ?? 0), lost }
  }

  /** Appends records of a lane. Returns how many are not whole: written over meanwhile, or half written when its thread died. */
  private readLane(lane: LaneInfo, from: number, ring: number | undefined, out: SpanRecord[]): number {
    const to = lane.written
    const [records, bytes] = [this.u32(HeadAt.Records), this.u32(HeadAt.RecordBytes)]
    const at = this.u32(HeadAt.RecordsAt) + lane.lane * records * bytes
    let broken = 0
    for (let first = from; first < to; ) {
      // Up to the end of the lane's memory; what is left begins at its start.
      const count = Math.min(to - first, records - (first % records))
      const part = this.file.read(at + (first % records) * bytes, count * bytes)
      const view = viewOf(part)
      for (let i = 0; i < count; i++) {
        const number = first + i
        const record = i * bytes
        const whole =
          view.getUint32(record + RecordAt.Number, true) === (number + 1) >>> 0 &&
          view.getUint32(record + RecordAt.Check, true) ===
            crc32(part.subarray(record, record + RecordAt.Check))
        if (!whole) broken++
        else if (ring === undefined || view.getUint32(record + RecordAt.KindRing, true) >>> 8 === ring)
          out.push(recordAt(view, record, lane, number))
      }
      first += count
    }
    return broken
  }

  private u32(at: number): number {
    return this.head.getUint32(at, true)
  }
}

function recordAt(view: DataView, at: number, lane: LaneInfo, number: number): SpanRecord {
  const f64 = (offset: number) => view.getFloat64(at + offset, true)
  const f32 = (offset: number) => view.getFloat32(at + offset, true)
  const u32 = (offset: number) => view.getUint32(at + offset, true)
  const kindRing = u32(RecordAt.KindRing)
  return {
    lane,
    // A kind that this version does not know would have raised the version of the file.
    kind: SPAN_NAMES[kindRing & 255] as SpanName,
    ring: kindRing >>> 8,
    start: f64(RecordAt.Start),
    duration: f64(RecordAt.Duration),
    bytes: f64(RecordAt.Bytes),
    batch: f64(RecordAt.Batch),
    firstRow: u32(RecordAt.FirstRow),
    rows: u32(RecordAt.Rows),
    cpu: f32(RecordAt.Cpu),
    delay: f32(RecordAt.Delay),
    joined: u32(RecordAt.Joined),
    number,
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

function textAt(view: DataView, from: number, to: number): string {
  const bytes = Buffer.from(view.buffer, view.byteOffset + from, to - from)
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end)
}

const WORK = SPAN_NAMES.slice(1, LAST_WORK + 1) as SpanName[]

/** The time that workers have spent on one ring, by kind of work: for `stats()` and the line after an epoch. */
export class SpanSums {
  /** By lane. One that works for very many rings at once shows only the latest: then the sums that it showed last hold. */
  private readonly seen = new Map<number, Record<SpanName, number>>()

  constructor(
    private readonly reader: SpanReader,
    private readonly ring: number,
  ) {}

  /** ms since the ring was opened, up to some milliseconds ago. */
  read(): Record<string, number> {
    for (const { lane, rings } of this.reader.counters(this.ring)) this.seen.set(lane.lane, rings[0].ms)
    const sums: Record<string, number> = {}
    for (const kind of WORK) {
      const ms = [...this.seen.values()].reduce((sum, one) => sum + one[kind], 0)
      if (ms > 0) sums[kind] = ms
    }
    return sums
  }
}

/** What a lane has done since it was first used. */
interface LaneCounters {
  lane: LaneInfo
  /** CPU time, and waiting for a core (ms): as of `at` (ms of CLOCK_MONOTONIC). NaN: the system does not say. */
  cpu: number
  delay: number
  /** Collecting garbage (ms). */
  gc: number
  at: number
  /** Of the latest rings that it worked for; 0: of none. */
  rings: RingCounters[]
}

/** What a lane has done for a ring. */
interface RingCounters {
  ring: number
  /** Time by kind (ms): all kinds. */
  ms: Record<SpanName, number>
  bytes: number
  /** Rows and claims of a worker; rows and steps of a consumer. */
  rows: number
  claims: number
  /** Reads of a store, and files that were opened or looked up. */
  reads: number
  opens: number
  /** Up to when this counts (ms of CLOCK_MONOTONIC). */
  at: number
}

/** The counters of a lane. Of each, a copy is whole, unless its writer wrote both while we read: then the next look sees it. */
function countersOf(lane: LaneInfo, part: Uint8Array): LaneCounters {
  const own = latestCopy(part, 0, OWN_BYTES)
  const view = own && viewOf(own)
  const f64 = (at: number) => view?.getFloat64(at, true) ?? 0
  const rings: RingCounters[] = []
  for (let i = 0; i < SUMS; i++) {
    const sums = latestCopy(part, SUMS_IN_LANE + i * 2 * SUM_BYTES, SUM_BYTES)
    if (sums) rings.push(sumsAt(viewOf(sums)))
  }
  return { lane, cpu: f64(OwnAt.Cpu), delay: f64(OwnAt.Delay), gc: f64(OwnAt.Gc), at: f64(OwnAt.At), rings }
}

function sumsAt(view: DataView): RingCounters {
  const f64 = (at: number) => view.getFloat64(at, true)
  const ms = SPAN_NAMES.slice(1).map((name, i) => [name, f64(SumAt.Ms + 8 * i)])
  return {
    ring: view.getUint32(SumAt.Ring, true),
    ms: Object.fromEntries(ms) as RingCounters['ms'],
    bytes: f64(SumAt.Bytes),
    rows: f64(SumAt.Rows),
    claims: f64(SumAt.Claims),
    reads: f64(SumAt.Reads),
    opens: f64(SumAt.Opens),
    at: f64(SumAt.At),
  }
}
