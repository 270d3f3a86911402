/** A reader of spans that were never written: for tests of what is made of records and counters. */

import type { LaneInfo, SpanRecord } from '../../../core/spans/reader.js'
import type { Counters, RingFacts, SpanReading } from '../../account/source.js'

export function laneOf(kind: LaneInfo['kind'], number: number): LaneInfo {
  const lane = (kind === 'worker' ? 0 : 256) + number
  return { lane, kind, number, name: `${kind} ${number}`, open: true, written: 0 }
}

export class FakeSpans implements SpanReading {
  readonly records: SpanRecord[] = []
  counted: Counters[] = []
  lost = 0

  constructor(private readonly ring: RingFacts) {}

  add(lane: LaneInfo, kind: string, start: number, duration: number, more: Partial<SpanRecord> = {}): void {
    this.records.push({
      lane,
      kind: kind as SpanRecord['kind'],
      ring: this.ring.ring,
      start,
      duration,
      bytes: 0,
      batch: -1,
      firstRow: 0,
      rows: 0,
      cpu: Number.NaN,
      delay: Number.NaN,
      joined: 1,
      number: this.records.filter(record => record.lane.lane === lane.lane).length,
      ...more,
    })
  }

  readSince() {
    return { records: this.records, cursor: [], lost: this.lost }
  }

  rings() {
    return [this.ring]
  }

  counters() {
    return this.counted
  }
}
