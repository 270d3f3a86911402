/**
 * The spans of this process: one memfd, made when the first feed is opened, that lives as long as the process. Lanes are
 * given to threads here, and rings are named. Other processes can only read it (docs/measure.md).
 */
import { mapRegion, viewOf } from '../system/memory/foreign.js'
import { createRegion, free, reserveSync, type SharedRegion, seal } from '../system/memory/memory.js'
import { monotonicMs } from './clock.js'
import { SpanLane } from './lane.js'
import { spansAreOff } from './level.js'
import { SpanReader } from './reader.js'
import {
  COUNTER_BYTES,
  COUNTERS_AT,
  FIRST_OTHER_LANE,
  HeadAt,
  LANE_BYTES,
  LANES,
  LANES_AT,
  LaneAt,
  LaneKind,
  OWN_BYTES,
  RECORD_BYTES,
  RECORDS,
  RECORDS_AT,
  RING_BYTES,
  RINGS,
  RINGS_AT,
  RingAt,
  SPANS_MAGIC,
  SPANS_NAME,
  SPANS_VERSION,
  SpanLevel,
  SUM_BYTES,
  SUMS,
} from './span-words.js'

const LANE_RECORDS = RECORDS * RECORD_BYTES
const BYTES = RECORDS_AT + LANES * LANE_RECORDS

/** Which lane of which memory a thread writes: plain data, for the thread to open it. */
export interface LaneRef {
  address: bigint
  lane: number
}

/** How a ring is filled: what a reader needs to judge its spans. */
export interface RingFacts {
  /** Workers that fill it; 0: the consumer's thread does. */
  workers: number
  /** Slots in use. */
  depth: number
  /** Claims that a batch is divided into. */
  claims: number
  /** Rows of a batch. */
  rows: number
  slotBytes: number
  /** Batches of an epoch; 0: not known, or epochs differ. */
  steps: number
}

/** A ring, as the table names it. */
export interface NamedRing extends Partial<RingFacts> {
  id: number
  name: string
  rank: number
  world: number
  level?: SpanLevel
}

export class SpanFile {
  private static instance: SpanFile | undefined | null

  /** That of this process. Undefined: spans are turned off, or there is no memory for them. */
  static shared(): SpanFile | undefined {
    if (SpanFile.instance === undefined) SpanFile.instance = spansAreOff() ? null : make()
    return SpanFile.instance ?? undefined
  }

  readonly reader: SpanReader
  private readonly tables: DataView
  /** Lanes that threads write at present. */
  private readonly taken = new Set<number>()

  constructor(
    private readonly region: SharedRegion,
    private readonly address: bigint,
  ) {
    const whole = viewOf(address, BYTES)
    this.tables = new DataView(whole, 0, COUNTERS_AT)
    this.writeHead()
    this.reader = new SpanReader({ read: (at, bytes) => new Uint8Array(whole.slice(at, at + bytes)) })
  }

  /** By which other processes open it. */
  get path(): string {
    return `/proc/${process.pid}/fd/${this.region.fd}`
  }

  /** The lane of a worker. One that had the number before is gone, and its records stay. */
  maker(number: number): LaneRef | undefined {
    return this.open(number, LaneKind.Maker, number, `worker ${number}`)
  }

  /** A lane for another thread; undefined where all are taken. It must be given back. */
  take(kind: LaneKind, word: string): LaneRef | undefined {
    let number = 0
    for (let lane = FIRST_OTHER_LANE; lane < LANES; lane++) {
      const was = this.tables.getUint32(LANES_AT + lane * LANE_BYTES + LaneAt.Kind, true)
      if (was === kind && this.taken.has(lane)) number++
      // A lane keeps its kind and name: what is in it was done by one of that name.
      else if (was === kind || was === 0) return this.open(lane, kind, number, `${word} ${number}`)
    }
    return undefined
  }

  /** No thread writes the lane any more. */
  give({ lane }: LaneRef): void {
    this.taken.delete(lane)
    this.tables.setUint32(LANES_AT + lane * LANE_BYTES + LaneAt.Open, 0, true)
  }

  /**
   * The first number from this one on whose place in the table is not that of an open ring: a feed that stays open keeps its
   * name however many others come and go. Where all are open, the number itself.
   */
  freeRing(id: number): number {
    for (let free = id; free < id + RINGS; free++)
      if (this.tables.getUint32(ringAt(free) + RingAt.Open, true) === 0) return free
    return id
  }

  /** Names a ring, whose workers are those of this process. */
  openRing({ id, name, rank, world, level = SpanLevel.Spans, ...facts }: NamedRing): void {
    const at = ringAt(id)
    const u32 = (offset: number, value: number) => this.tables.setUint32(at + offset, value, true)
    const f64 = (offset: number, value: number) => this.tables.setFloat64(at + offset, value, true)
    // A reader takes an entry for whole when both ids are equal.
    u32(RingAt.Id, 0)
    u32(RingAt.Again, 0)
    u32(RingAt.Rank, rank)
    u32(RingAt.World, world)
    u32(RingAt.Open, 1)
    u32(RingAt.Engine, process.pid)
    u32(RingAt.EngineRing, id)
    f64(RingAt.Begun, monotonicMs())
    u32(RingAt.Workers, facts.workers ?? 0)
    u32(RingAt.Depth, facts.depth ?? 0)
    u32(RingAt.Claims, facts.claims ?? 0)
    u32(RingAt.Rows, facts.rows ?? 0)
    u32(RingAt.Level, level)
    f64(RingAt.SlotBytes, facts.slotBytes ?? 0)
    f64(RingAt.Steps, facts.steps ?? 0)
    this.writeText(at + RingAt.Name, at + RingAt.Again, name)
    u32(RingAt.Again, id)
    u32(RingAt.Id, id)
  }

  /** The number of workers, the depth or the claims of a ring have changed. */
  tuneRing(id: number, { workers, depth, claims }: Partial<RingFacts>): void {
    const at = ringAt(id)
    if (this.tables.getUint32(at + RingAt.Id, true) !== id) return
    if (workers !== undefined) this.tables.setUint32(at + RingAt.Workers, workers, true)
    if (depth !== undefined) this.tables.setUint32(at + RingAt.Depth, depth, true)
    if (claims !== undefined) this.tables.setUint32(at + RingAt.Claims, claims, true)
  }

  closeRing(id: number): void {
    const at = ringAt(id)
    if (this.tables.getUint32(at + RingAt.Id, true) === id) this.tables.setUint32(at + RingAt.Open, 0, true)
  }

  private open(lane: number, kind: LaneKind, number: number, name: string): LaneRef | undefined {
    const at = LANES_AT + lane * LANE_BYTES
    try {
      reserveSync(this.region, COUNTER_BYTES, COUNTERS_AT + lane * COUNTER_BYTES)
      reserveSync(this.region, LANE_RECORDS, RECORDS_AT + lane * LANE_RECORDS)
    } catch {
      return undefined // no memory: the thread works without spans
    }
    this.taken.add(lane)
    this.writeText(at + LaneAt.Name, at + LANE_BYTES, name)
    this.tables.setUint32(at + LaneAt.Number, number, true)
    this.tables.setUint32(at + LaneAt.Open, 1, true)
    this.tables.setUint32(at + LaneAt.Kind, kind, true)
    return { address: this.address, lane }
  }

  private writeHead(): void {
    const head: [number, number][] = [
      [HeadAt.RecordBytes, RECORD_BYTES],
      [HeadAt.Records, RECORDS],
      [HeadAt.RecordsAt, RECORDS_AT],
      [HeadAt.Lanes, LANES],
      [HeadAt.LanesAt, LANES_AT],
      [HeadAt.LaneBytes, LANE_BYTES],
      [HeadAt.Rings, RINGS],
      [HeadAt.RingsAt, RINGS_AT],
      [HeadAt.RingBytes, RING_BYTES],
      [HeadAt.CountersAt, COUNTERS_AT],
      [HeadAt.CounterBytes, COUNTER_BYTES],
      [HeadAt.OwnBytes, OWN_BYTES],
      [HeadAt.SumBytes, SUM_BYTES],
      [HeadAt.Sums, SUMS],
      [HeadAt.Pid, process.pid],
      [HeadAt.Version, SPANS_VERSION],
    ]
    for (const [at, value] of head) this.tables.setUint32(at, value, true)
    this.tables.setFloat64(HeadAt.Begun, monotonicMs(), true)
    this.writeText(0, SPANS_MAGIC.length, SPANS_MAGIC)
  }

  /** Cut where it is too long, not within a character. */
  private writeText(from: number, to: number, text: string): void {
    const bytes = new Uint8Array(this.tables.buffer, from, to - from)
    bytes.fill(0)
    new TextEncoder().encodeInto(text, bytes)
  }
}

/** Opens a lane in the thread that writes it. */
export function openLane({ address, lane }: LaneRef): SpanLane {
  const entry = viewOf(address, COUNTERS_AT)
  const counters = viewOf(address + BigInt(COUNTERS_AT + lane * COUNTER_BYTES), COUNTER_BYTES)
  const records = viewOf(address + BigInt(RECORDS_AT + lane * LANE_RECORDS), LANE_RECORDS)
  const entryAt = LANES_AT + lane * LANE_BYTES
  return new SpanLane({ entry, entryAt, counters, countersAt: 0, records, recordsAt: 0 })
}

function ringAt(id: number): number {
  return RINGS_AT + ((id - 1) % RINGS) * RING_BYTES
}

function make(): SpanFile | null {
  try {
    return newSpanFile()
  } catch {
    return null // a limit on memory or addresses: feeds work without spans
  }
}

/** Another file than that of this process: for tests. */
export function newSpanFile(): SpanFile {
  const region = createRegion(BYTES, SPANS_NAME)
  try {
    reserveSync(region, COUNTERS_AT)
    const file = new SpanFile(region, mapRegion(region))
    seal(region, true)
    return file
  } catch (error) {
    free(region)
    throw error
  }
}
