/** What a client tells of its loop: the sums that it keeps, and records where its process can't be looked into. */
import type { SpanReading } from '../../../observe/account/source.js'
import type { StepTimes } from '../../../observe/evidence.js'
import type { LaneInfo, SpanRecord } from '../../spans/reader.js'
import type { SpanName } from '../../spans/span-words.js'
import { type LoopRecord, type LoopStep, StepMarks } from './request.js'

/** Steps as accounts have them. */
export function stepsTold(told: readonly LoopStep[]): StepTimes[] {
  return told.map(([asked, supply, handOver, transfer, compute, samples, count, gc, mark]) => ({
    ...{ asked, supply, handOver, transfer, compute, samples, count },
    ...(gc > 0 && { gc }),
    ...(mark === StepMarks.first && { first: true }),
    ...(mark === StepMarks.epochStart && { epochStart: true }),
  }))
}

/** Reads what a client has sent. */
export function toldReader(told: readonly LoopRecord[]): SpanReading {
  const lane: LaneInfo = {
    ...{ lane: 0, kind: 'consumer', number: 0, name: 'trainer 0', open: true, written: told.length },
  }
  const records = told.map(([kind, start, duration, batch, firstRow, rows, joined], number): SpanRecord => {
    const times = { start, duration, bytes: 0, cpu: Number.NaN, delay: Number.NaN }
    return { lane, kind: kind as SpanName, ring: 1, ...times, batch, firstRow, rows, joined, number }
  })
  const read = { records, cursor: [told.length], lost: 0 }
  return { readSince: () => read, rings: () => [], counters: () => [] }
}
