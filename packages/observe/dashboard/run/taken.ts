/** Which batch the trainer took last. */
import type { AttachedSpans } from '../../../core/spans/attach.js'

/** Records of a loop that are looked at: its latest. */
const LATEST = 8

/** The number of the batch that was taken last from a ring; −1: none is known. */
export function lastTaken(spans: AttachedSpans, ring: number): number {
  const cursor: number[] = []
  for (const { lane, written, kind } of spans.lanes())
    cursor[lane] = kind === 'consumer' ? Math.max(0, written - LATEST) : written
  const { records } = spans.readSince(
    Array.from(cursor, count => count ?? 0),
    ring,
  )
  let [last, at] = [-1, Number.NEGATIVE_INFINITY]
  for (const { kind, lane, batch, joined, start } of records) {
    if (lane.kind !== 'consumer' || batch < 0 || start < at) continue
    if (kind === 'hand' || kind === 'step') [last, at] = [batch + Math.max(1, joined) - 1, start]
  }
  return last
}
