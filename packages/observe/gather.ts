/**
 * Spans of a window that may be longer than lanes keep their records: they are read again and again while the run goes on,
 * and kept here.
 */
import type { SpanCursor, SpanRead, SpanRecord } from '../core/spans/reader.js'
import type { Counters, RingFacts, SpanReading } from './account/source.js'

/** A lane is written over after 16 s at the earliest: it is read at least this often (ms). */
const GATHER_OFTEN = 2000

export class GatheredSpans implements SpanReading {
  private records: SpanRecord[] = []
  private cursor: SpanCursor | undefined
  private lost = 0
  private looked = Number.NEGATIVE_INFINITY

  /** Begins with all that is still there. */
  constructor(private readonly reader: SpanReading) {
    this.look()
  }

  /** Reads what is new, and returns it. */
  look(): readonly SpanRecord[] {
    const read = this.reader.readSince(this.cursor && [...this.cursor])
    if (this.cursor !== undefined) this.lost += read.lost
    this.cursor = read.cursor
    for (const record of read.records) this.records.push(record)
    this.looked = performance.now()
    return read.records
  }

  /** Called often; reads now and then. */
  lookNow(): void {
    if (performance.now() - this.looked > GATHER_OFTEN) this.look()
  }

  /** Forgets what had ended before a moment (ms of CLOCK_MONOTONIC), and what was lost before now. */
  forget(before: number): void {
    this.records = this.records.filter(({ start, duration }) => start + duration >= before)
    this.lost = 0
  }

  readSince(): SpanRead {
    this.look()
    return { records: byLane(this.records), cursor: this.cursor ?? [], lost: this.lost }
  }

  rings(): RingFacts[] {
    return this.reader.rings()
  }

  counters(ring?: number): Counters[] {
    return this.reader.counters?.(ring) ?? []
  }
}

/** As a reader gives them: by lane, oldest first. */
function byLane(records: readonly SpanRecord[]): SpanRecord[] {
  return [...records].sort((a, b) => a.lane.lane - b.lane.lane || a.number - b.number)
}
