/** The time that workers have spent on one ring, by kind of work: for `stats()` and the line after an epoch. */
import type { SpanReader } from './reader.js'
import { LAST_WORK, SPAN_NAMES, type SpanName } from './span-words.js'

const WORK = SPAN_NAMES.slice(1, LAST_WORK + 1) as SpanName[]

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
