/** What each worker did for one feed, out of the records of its spans: for the trace and the report. */
import type { SpanCursor, SpanRead, SpanRecord } from '../core/spans/reader.js'
import { FIRST_OTHER_LANE, LAST_WORK, SPAN_NAMES, type SpanName } from '../core/spans/span-words.js'

/** A worker's lane may be written over after 16 s: in a run that takes longer, spans are collected at least this often (ms). */
const OFTEN = 2000
/** Longer (ms) than a worker that has nothing to do holds spans back. */
const HELD = 30

/** Collects the spans of a feed while it runs. */
export class CollectedSpans {
  private readonly records: SpanRecord[] = []
  private cursor: SpanCursor | undefined
  private looked = performance.now()

  constructor(private readonly feed: { spans(cursor?: SpanCursor): SpanRead }) {}

  /** Called often; reads now and then. */
  look(): void {
    if (performance.now() - this.looked > OFTEN) this.read()
  }

  /** Reads the rest, when the run is over. Workers hold small spans back for a moment, to join them. */
  async end(): Promise<readonly SpanRecord[]> {
    await new Promise(resolve => setTimeout(resolve, HELD))
    this.read()
    return this.records
  }

  private read(): void {
    this.looked = performance.now()
    const { records, cursor } = this.feed.spans(this.cursor)
    this.cursor = cursor
    for (const record of records) this.records.push(record)
  }
}

/** Whether a span is work, not waiting. */
export function isWork(kind: SpanName): boolean {
  return SPAN_NAMES.indexOf(kind) <= LAST_WORK
}

/** The records of each worker, of at least so many. The calling thread counts as worker 0. */
export function byWorker(records: readonly SpanRecord[], workers: number): SpanRecord[][] {
  const lists: SpanRecord[][] = Array.from({ length: Math.max(1, workers) }, () => [])
  for (const record of records) {
    const { kind, lane, number } = record.lane
    if (kind !== 'worker') continue
    const worker = lane < FIRST_OTHER_LANE ? number : 0
    while (lists.length <= worker) lists.push([])
    lists[worker].push(record)
  }
  return lists
}
