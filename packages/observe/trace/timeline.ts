/** Makes the events of a trace out of the records of one or more processes, as they come. */
import type { RingInfo, SpanRecord } from '../../core/spans/reader.js'
import { isWork } from '../account/slices.js'
import { beginsEpoch } from '../account/steps.js'
import type { TunerDecision } from '../live/record.js'
import { TraceCounters } from './counters.js'
import { TICKS_PER_MS, type TraceArgs, type TraceEvent } from './events.js'
import { type FlowPoint, Flows } from './flows.js'
import { endOf, Groups } from './groups.js'
import { Tracks } from './tracks.js'
import { EPOCH, FEED, FETCH, ITEM, type Word, wordOf } from './vocabulary.js'

/** Records of workers come up to this much later than those of what follows from them (ticks, 1 s). */
const LATE = 1000 * TICKS_PER_MS

export class Timeline {
  private events: TraceEvent[] = []
  private readonly emit = (event: TraceEvent): void => {
    this.events.push(event)
  }
  private readonly tracks: Tracks
  private readonly flows = new Flows(this.emit)
  private readonly counters = new TraceCounters(this.emit)
  private readonly groups = new Map<number, Groups>()
  private readonly rings = new Map<string, RingInfo>()
  /** The facts of rings that were told last. */
  private readonly told = new Map<string, string>()
  /** The newest record (ticks) of each process that the last call of `add` brought. */
  private readonly newest = new Map<number, number>()
  private reached = 0

  /** `base`: where the trace begins (ms of CLOCK_MONOTONIC). What lies before is left out. */
  constructor(
    readonly base: number,
    processName: (pid: number) => string,
    /** Cores that the processes may use. */
    private readonly cores: number,
  ) {
    this.tracks = new Tracks(this.emit, processName)
  }

  /** Records of a process. */
  add(pid: number, records: readonly SpanRecord[], rings: readonly RingInfo[]): void {
    for (const ring of rings) this.rings.set(`${pid}/${ring.ring}`, ring)
    let groups = this.groups.get(pid)
    if (groups === undefined) {
      groups = new Groups(group => this.group(pid, group))
      this.groups.set(pid, groups)
    }
    // A thread writes what it did in a few milliseconds by kind, not by time.
    const sorted = [...records].sort((a, b) => a.start - b.start)
    this.newest.set(pid, this.tick(sorted.reduce((most, record) => Math.max(most, endOf(record)), this.base)))
    for (const record of sorted) if (endOf(record) > this.base) groups.add(record)
  }

  counter(pid: number, name: string, ms: number, values: Record<string, number>): void {
    const at = this.tick(ms)
    if (at >= 0) this.emit({ type: 'counter', pid, name, at, values })
  }

  /** What the tuner of an engine decided: a mark on a track of its own. */
  decided(pid: number, decision: TunerDecision): void {
    const at = this.tick(decision.at)
    if (at < 0) return
    const { event, knob, from, to, reason, lost, predicted, measured } = decision
    const args: TraceArgs = {
      reason,
      lost,
      ...(knob !== null && { knob, from: from ?? '', to: to ?? '' }),
      ...(predicted && { predictedGain: predicted.gain }),
      ...(measured && { measuredGain: measured.gain }),
    }
    const tid = this.tracks.beside(pid, 'tuner')
    this.emit({ type: 'instant', pid, tid, cat: 'tuner', name: event, at, args })
  }

  /** What is there by now; at the end, all that is left. */
  take(end: boolean): TraceEvent[] {
    for (const groups of this.groups.values()) groups.settle(end)
    this.flows.settle(end)
    this.counters.settle(end ? Number.POSITIVE_INFINITY : this.reached - LATE)
    const { events } = this
    this.events = []
    return events
  }

  private tick(ms: number): number {
    return Math.round((ms - this.base) * TICKS_PER_MS)
  }

  private group(pid: number, parts: readonly SpanRecord[]): void {
    const group = [...parts].sort((a, b) => a.start - b.start)
    const [first] = group
    const end = this.tick(Math.max(...group.map(endOf)))
    this.reached = Math.max(this.reached, end)
    const beside = first.kind === 'gc' ? ' gc' : ''
    const placed = this.tracks.place(pid, first.lane, Math.max(0, this.tick(first.start)), end, beside)
    if (placed === undefined) return
    const parent = parentOf(first)
    const at = { pid, tid: placed.tid }
    if (parent !== undefined)
      this.slice(at, parent, placed.start, end, 0, { ...this.about(pid, first), rows: rowsOf(group) })
    let reached = placed.start
    for (const record of group) {
      const from = Math.max(reached, this.tick(record.start))
      const to = Math.min(end, this.tick(endOf(record)))
      if (to <= from) continue
      reached = to
      const args = { ...this.about(pid, record), ...figuresOf(record) }
      this.slice(at, wordOf(record.kind, record.lane.kind), from, to, parent === undefined ? 0 : 1, args)
      this.follow(pid, record, { ...at, ts: from }, to)
    }
    this.tellFeed(pid, first.ring, { ...at, ts: placed.start })
    if (isWork(first.kind)) {
      this.flows.claimed(this.engineRing(pid, first.ring), first.batch, {
        ...at,
        ts: inside(placed.start, end),
      })
      this.count(pid, first.ring, end, rowsOf(group))
    }
  }

  /** What follows from a record: bytes, arrows, epochs. */
  private follow(pid: number, record: SpanRecord, at: FlowPoint, end: number): void {
    const { kind, lane, ring, batch, bytes, joined } = record
    if (kind === 'read') this.counters.read(pid, end, bytes)
    const key = this.engineRing(pid, ring)
    if (kind === 'close') this.flows.closed(key, batch, { ...at, ts: inside(at.ts, end) })
    if (kind !== 'step' || lane.kind !== 'consumer') return
    this.flows.stepped(key, { pid, tid: at.tid, start: at.ts, end, first: batch, count: joined })
    const info = this.rings.get(key) // a trainer's own ring has no facts
    this.count(pid, ring, at.ts, -(info?.rows ?? 0) * joined)
    const steps = info?.stepsInEpoch ?? 0
    if (!beginsEpoch(record, steps)) return
    // Of a run that was resumed within an epoch, that one is epoch 0: its number is not in the records.
    const args = { ...this.about(pid, record), ...(steps > 0 && { epoch: Math.ceil(batch / steps) }) }
    this.emit({ type: 'instant', pid, tid: at.tid, ...EPOCH, at: at.ts, args })
  }

  /**
   * How the ring of a slice is filled: a mark where the ring begins, and where the facts have changed. These are the facts of
   * now: of what was read with them, only the newest record was certainly made that way.
   */
  private tellFeed(pid: number, ring: number, { tid, ts }: FlowPoint): void {
    const info = this.rings.get(`${pid}/${ring}`)
    if (info === undefined || !(info.rows > 0)) return // a trainer's own ring has no facts
    const { begun, workers, depth, claims, rows, slotBytes, stepsInEpoch, rank, world, level } = info
    const facts = { workers, depth, claims, rows, slotBytes, stepsInEpoch, rank, world, level }
    const text = JSON.stringify(facts)
    const told = this.told.get(`${pid}/${ring}`)
    if (told === text) return
    this.told.set(`${pid}/${ring}`, text)
    const now = Math.max(ts, this.newest.get(pid) ?? 0)
    const at = told === undefined ? Math.max(0, this.tick(begun)) : now
    const args = { ...this.about(pid, { ring, batch: -1 }), ...facts, cores: this.cores }
    this.emit({ type: 'instant', pid, tid, ...FEED, at, args })
  }

  private count(pid: number, ring: number, at: number, rows: number): void {
    const info = this.rings.get(`${pid}/${ring}`)
    if (info === undefined) return
    const engine = this.rings.get(this.engineRing(pid, ring)) ?? info
    this.counters.rows(
      this.engineRing(pid, ring),
      { pid: info.engine, rows: engine.rows, depth: engine.depth },
      at,
      rows,
    )
  }

  /** A ring by the process whose workers fill it: the trainer's and the engine's are the same. */
  private engineRing(pid: number, ring: number): string {
    const info = this.rings.get(`${pid}/${ring}`)
    return info === undefined || info.engine === 0 ? `${pid}/${ring}` : `${info.engine}/${info.engineRing}`
  }

  private slice(
    { pid, tid }: { pid: number; tid: number },
    { cat, name }: Word,
    start: number,
    end: number,
    level: number,
    args: TraceArgs,
  ): void {
    this.emit({ type: 'slice', pid, tid, cat, name, start, end, level, args })
  }

  private about(pid: number, { ring, batch }: Pick<SpanRecord, 'ring' | 'batch'>): TraceArgs {
    const args: TraceArgs = {}
    const info = this.rings.get(`${pid}/${ring}`)
    if (info !== undefined) args.feed = info.world > 1 ? `${info.name} rank ${info.rank}` : info.name
    // The ring by the engine's number: feeds of one name are told apart by it, in all processes.
    const engine = info === undefined || info.engine === 0 ? pid : info.engine
    if (ring > 0) args.ring = info === undefined || info.engine === 0 ? ring : info.engineRing
    if (ring > 0 && engine !== pid) args.engine = engine
    if (batch >= 0) args.batch = batch
    return args
  }
}

/** The slice that a group lies in, if it has one. */
function parentOf({ kind, lane }: SpanRecord): Word | undefined {
  if (lane.kind === 'consumer') return kind === 'wait' || kind === 'hand' ? FETCH : undefined
  return isWork(kind) ? ITEM : undefined
}

function rowsOf(group: readonly SpanRecord[]): number {
  return Math.max(...group.map(({ rows }) => rows))
}

function figuresOf({ bytes, rows, firstRow, cpu, delay, joined }: SpanRecord): TraceArgs {
  const args: TraceArgs = {}
  if (rows > 0) args.rows = rows
  if (rows > 0 && firstRow > 0) args.firstRow = firstRow
  if (bytes > 0) args.bytes = bytes
  if (!Number.isNaN(cpu)) args.cpuMs = round(cpu)
  if (!Number.isNaN(delay)) args.delayMs = round(delay)
  if (joined > 1) args.joined = joined
  return args
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** A moment soon after the beginning of a slice, within it: of joined records the first is meant. */
function inside(start: number, end: number): number {
  return start + Math.min(TICKS_PER_MS / 1000, (end - start) >> 1)
}
