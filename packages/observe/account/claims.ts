/** The single claims of makers, out of their records. */
import type { SpanRecord } from '../../core/spans/reader.js'
import { SPAN_NAMES } from '../../core/spans/span-words.js'
import type { ClaimTimes } from '../evidence.js'
import { WORK_KINDS } from './slices.js'

/** Claims at most: the latest are kept. */
const MOST = 4000
const WORK: ReadonlySet<string> = new Set(WORK_KINDS)

interface Group {
  start: number
  ms: number
  rows: number
  joined: number
}

/**
 * A maker writes the kinds of work of a claim one after the other, in the order of the kinds. Claims that take less than a
 * moment are written together: then each has its share of them.
 */
export function claimsIn(
  records: readonly SpanRecord[],
  ring: number,
  from: number,
  to: number,
): ClaimTimes[] {
  const groups: Group[] = []
  const open = new Map<number, { kind: number; group: Group }>()
  for (const record of records) {
    const { lane, start, duration, rows, joined } = record
    if (lane.kind !== 'worker' || record.ring !== ring || !WORK.has(record.kind)) continue
    if (start < from || start + duration > to) continue
    const kind = SPAN_NAMES.indexOf(record.kind)
    const last = open.get(lane.lane)
    if (last !== undefined && kind > last.kind) {
      last.kind = kind
      last.group.ms += duration
      last.group.rows = Math.max(last.group.rows, rows)
      last.group.joined = Math.max(last.group.joined, joined)
      continue
    }
    const group = { start, ms: duration, rows, joined: Math.max(1, joined) }
    open.set(lane.lane, { kind, group })
    groups.push(group)
  }
  const claims: ClaimTimes[] = []
  for (const { ms, rows, joined } of groups.sort((a, b) => a.start - b.start))
    for (let i = 0; i < Math.min(joined, MOST); i++) claims.push({ ms: ms / joined, rows: rows / joined })
  return claims.slice(-MOST)
}
