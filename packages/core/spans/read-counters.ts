/** Reads the counters of a lane. */
import { latestCopy, SUMS_IN_LANE } from './counters.js'
import type { LaneInfo } from './records.js'
import { OWN_BYTES, OwnAt, SPAN_NAMES, type SpanName, SUM_BYTES, SUMS, SumAt } from './span-words.js'

/** What a lane has done since it was first used. */
export interface LaneCounters {
  lane: LaneInfo
  /** CPU time, and waiting for a core (ms): as of `at` (ms of CLOCK_MONOTONIC). NaN: the system does not say. */
  cpu: number
  delay: number
  /** Collecting garbage (ms). */
  gc: number
  at: number
  /** Of the latest rings that it worked for; 0: of none. */
  rings: RingCounters[]
}

/** What a lane has done for a ring. */
export interface RingCounters {
  ring: number
  /** Time by kind (ms): all kinds. */
  ms: Record<SpanName, number>
  bytes: number
  /** Rows and claims of a worker; rows and steps of a consumer. */
  rows: number
  claims: number
  /** Reads of a store, and files that were opened or looked up. */
  reads: number
  opens: number
  /** Up to when this counts (ms of CLOCK_MONOTONIC). */
  at: number
}

/** The counters of a lane. Of each, a copy is whole, unless its writer wrote both while we read: then the next look sees it. */
export function countersOf(lane: LaneInfo, part: Uint8Array): LaneCounters {
  const own = latestCopy(part, 0, OWN_BYTES)
  const view = own && viewOf(own)
  const f64 = (at: number) => view?.getFloat64(at, true) ?? 0
  const rings: RingCounters[] = []
  for (let i = 0; i < SUMS; i++) {
    const sums = latestCopy(part, SUMS_IN_LANE + i * 2 * SUM_BYTES, SUM_BYTES)
    if (sums) rings.push(sumsAt(viewOf(sums)))
  }
  return { lane, cpu: f64(OwnAt.Cpu), delay: f64(OwnAt.Delay), gc: f64(OwnAt.Gc), at: f64(OwnAt.At), rings }
}

function sumsAt(view: DataView): RingCounters {
  const f64 = (at: number) => view.getFloat64(at, true)
  const ms = SPAN_NAMES.slice(1).map((name, i) => [name, f64(SumAt.Ms + 8 * i)])
  return {
    ring: view.getUint32(SumAt.Ring, true),
    ms: Object.fromEntries(ms) as RingCounters['ms'],
    bytes: f64(SumAt.Bytes),
    rows: f64(SumAt.Rows),
    claims: f64(SumAt.Claims),
    reads: f64(SumAt.Reads),
    opens: f64(SumAt.Opens),
    at: f64(SumAt.At),
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
