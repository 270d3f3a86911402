/** Where evidence comes from: the spans of a trainer's process and of its engine's, which may be one and the same. */
import type { LaneInfo, SpanRead } from '../../core/spans/reader.js'

/** One ring in the spans of a process. */
export interface SpansOf {
  reader: SpanReading
  ring: number
}

export interface SpanSource {
  /** Whose loop takes the batches. */
  trainer: SpansOf
  /** Whose workers make them. */
  engine: SpansOf
}

/** What is asked of a reader of spans. */
export interface SpanReading {
  readSince(cursor?: number[], ring?: number): SpanRead
  rings(): RingFacts[]
  counters(ring?: number): Counters[]
  /** The place behind everything that is written by now. */
  end?(): readonly number[]
}

export interface RingFacts {
  ring: number
  rank: number
  world: number
  begun: number
  workers?: number
  depth?: number
  claims?: number
  rows?: number
  slotBytes?: number
  stepsInEpoch?: number
  /** The feed's name, whether it is open, and the ring of the engine's process that it belongs to. */
  name?: string
  open?: boolean
  engine?: number
  engineRing?: number
}

/** Sums of a lane since it was first used (ms, and ms by kind). */
export interface Counters {
  lane: LaneInfo
  cpu: number
  delay: number
  gc: number
  at: number
  rings: {
    ring: number
    ms: Record<string, number>
    bytes: number
    rows: number
    claims: number
    reads: number
    opens: number
    at: number
  }[]
}

/** A ring of a process that has both the loop and the workers. */
export function spansOfLoader(reader: SpanReading, ring: number): SpanSource {
  return { trainer: { reader, ring }, engine: { reader, ring } }
}
