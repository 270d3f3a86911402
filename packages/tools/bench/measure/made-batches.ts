/** Which worker worked on which batch, and when: out of the records of spans. */

import { onThisClock } from '../../../core/spans/clock.js'
import type { SpanRecord } from '../../../core/spans/reader.js'
import { FIRST_OTHER_LANE } from '../../../core/spans/span-words.js'
import { isWork } from '../../../observe/account/slices.js'
import type { RunTimes } from './task.js'

/** Pauses that are shorter (ms) don't divide a worker's work on a batch. */
const PAUSE = 1

/** `begun` is the beginning of the run, as `performance.now()` says it. */
export function madeBatches(
  records: readonly SpanRecord[],
  ring: number,
  begun: number,
): RunTimes['batches'] {
  const open = new Map<number, RunTimes['batches'][0]>()
  const found: RunTimes['batches'] = []
  const work = records.filter(one => one.lane.kind === 'worker' && one.ring === ring && isWork(one.kind))
  for (const { lane, batch, start, duration } of work.sort((a, b) => a.start - b.start)) {
    const from = onThisClock(start) - begun
    const to = from + duration
    const last = open.get(lane.lane)
    if (last !== undefined && last.batch === batch && from <= last.end + PAUSE) {
      last.end = Math.max(last.end, to)
      continue
    }
    const worker = lane.lane < FIRST_OTHER_LANE ? lane.number : 0
    const made = { batch, worker, start: from, end: to }
    open.set(lane.lane, made)
    found.push(made)
  }
  return found
}
