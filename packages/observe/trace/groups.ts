/**
 * Puts records together that belong together: all kinds of work of one claim, and the parts of one wait of the trainer. Each
 * group becomes a slice with its parts inside.
 */
import type { SpanRecord } from '../../core/spans/reader.js'
import { isWork } from '../account/slices.js'

/** Parts of a group follow each other at most this far apart (ms). */
const GAP = 0.05

export class Groups {
  private readonly open = new Map<number, { records: SpanRecord[]; seen: boolean }>()

  constructor(private readonly emit: (group: readonly SpanRecord[]) => void) {}

  /** Records of a lane come in the order in which they were written. */
  add(record: SpanRecord): void {
    const { lane } = record.lane
    const group = this.open.get(lane)
    if (group !== undefined && belongs(group.records, record)) {
      group.records.push(record)
      return
    }
    if (group !== undefined) this.emit(group.records)
    if (partOfGroup(record)) this.open.set(lane, { records: [record], seen: false })
    else {
      this.open.delete(lane)
      this.emit([record])
    }
  }

  /** Ends groups that have waited for a part more since the last call; or all of them. */
  settle(all: boolean): void {
    for (const [lane, group] of this.open) {
      if (all || group.seen) {
        this.open.delete(lane)
        this.emit(group.records)
      }
      group.seen = true
    }
  }
}

function partOfGroup({ lane, kind }: SpanRecord): boolean {
  return lane.kind === 'consumer' ? kind === 'wait' : isWork(kind)
}

function belongs(group: readonly SpanRecord[], record: SpanRecord): boolean {
  const [first] = group
  if (record.ring !== first.ring || record.batch !== first.batch) return false
  // Behind the last part, or before the first: records of a claim come by kind, not by time.
  const behind = Math.abs(record.start - Math.max(...group.map(endOf)))
  const before = Math.abs(endOf(record) - Math.min(...group.map(({ start }) => start)))
  if (behind > GAP && before > GAP) return false
  if (record.lane.kind === 'consumer') return record.kind === 'hand'
  return (
    isWork(record.kind) &&
    record.firstRow === first.firstRow &&
    group.every(({ kind }) => kind !== record.kind)
  )
}

export function endOf({ start, duration }: SpanRecord): number {
  return start + duration
}
