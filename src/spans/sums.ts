/** The time that workers have spent on one ring, by kind of work: for `stats()` and the line after an epoch. */
import type { SpanCursor, SpanReader } from './reader.js'
import { LAST_WORK, SPAN_NAMES } from './span-words.js'

const WORK: readonly string[] = SPAN_NAMES.slice(1, LAST_WORK + 1)

export class SpanSums {
  private readonly sums: Record<string, number> = {}
  private cursor: SpanCursor

  /** Counts from now on. */
  constructor(
    private readonly reader: SpanReader,
    private readonly ring: number,
  ) {
    this.cursor = reader.end()
  }

  /**
   * ms since the beginning. It reads on from where the last call ended: where a worker has written more records in between
   * than its lane keeps, the older ones are missing.
   */
  read(): Record<string, number> {
    const { records, cursor } = this.reader.readSince(this.cursor, this.ring)
    this.cursor = cursor
    for (const { kind, duration } of records) {
      if (WORK.includes(kind)) this.sums[kind] = (this.sums[kind] ?? 0) + duration
    }
    return { ...this.sums }
  }
}
