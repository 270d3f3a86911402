/**
 * Spans: who did what, when. Each maker has a ring of records in shared memory and writes one record per kind of
 * work and claim; the times of single rows are only added up, so that measuring costs a clock reading here and
 * there. Metrics, timelines and reports are read from these rings, also after their writer's death.
 *
 *   record = 4 × f64: kind, start (ms since 1970), duration (ms), batch
 */

/** What a maker's time goes into. The numbers are part of the record. */
export const SpanKind = { Read: 1, Decode: 2, Transform: 3, Map: 4, Close: 5 } as const
export type SpanKind = (typeof SpanKind)[keyof typeof SpanKind]
export const SPAN_NAMES = ['', 'read', 'decode', 'transform', 'map', 'close'] as const

const RECORD = 4 // f64 values
const RECORDS = 16384 // a maker keeps its latest that many: minutes of work on pictures
const HEAD = 8 // bytes before the records: 32 bits that count them all, and begin again after days

/** Bytes of the rings of `lanes` makers. */
export function spanBytes(lanes: number): number {
  return lanes * laneBytes
}
const laneBytes = HEAD + RECORDS * RECORD * 8

// The times of the present claim, added up by kind. One thread, one claim at a time: module state is enough.
const totals = new Float64Array(SPAN_NAMES.length)
let last = 0

/** Starts the clock of a claim. */
export function beginSpans(): void {
  totals.fill(0)
  last = performance.now()
}

/** Books the time since the last mark under `kind`. */
export function markSpan(kind: SpanKind): void {
  const now = performance.now()
  totals[kind] += now - last
  last = now
}

export interface Span {
  kind: SpanKind
  start: number
  duration: number
  batch: number
}

/** One maker's ring of spans. */
export class SpanLane {
  private readonly head: Int32Array
  private readonly records: Float64Array

  constructor(buffer: SharedArrayBuffer, lane: number) {
    this.head = new Int32Array(buffer, lane * laneBytes, 1)
    this.records = new Float64Array(buffer, lane * laneBytes + HEAD, RECORDS * RECORD)
  }

  /** Writes what `markSpan` booked since `beginSpans`, one record a kind, one after the other. */
  write(batch: number): void {
    const sum = totals.reduce((a, b) => a + b, 0)
    let start = performance.timeOrigin + last - sum
    for (let kind = 1; kind < totals.length; kind++) {
      if (totals[kind] === 0) continue
      const at = ((this.head[0] >>> 0) % RECORDS) * RECORD
      this.records[at] = kind
      this.records[at + 1] = start
      this.records[at + 2] = totals[kind]
      this.records[at + 3] = batch
      Atomics.add(this.head, 0, 1)
      start += totals[kind]
    }
  }

  /** The latest spans, oldest first. Their maker may go on writing: those that it has come to meanwhile are left out. */
  read(): Span[] {
    const count = Atomics.load(this.head, 0) >>> 0
    const spans: Span[] = []
    const first = Math.max(0, count - RECORDS)
    for (let i = first; i < count; i++) {
      const at = (i % RECORDS) * RECORD
      const [kind, start, duration, batch] = this.records.subarray(at, at + RECORD)
      spans.push({ kind: kind as SpanKind, start, duration, batch })
    }
    const written = ((Atomics.load(this.head, 0) >>> 0) - count) >>> 0
    // The one after those may be half written.
    return spans.slice(Math.max(0, count + written + 1 - RECORDS - first))
  }
}
