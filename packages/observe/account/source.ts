/** Where evidence comes from: the spans of a trainer's process and of its engine's, which may be one and the same. */
import { type AttachedSpans, attachSpans } from '../../core/spans/attach.js'
import { SpanFile } from '../../core/spans/file.js'
import type { LaneInfo, SpanRead, SpanReader } from '../../core/spans/reader.js'

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

/** Spans that are read where they lie. */
export interface RingSpans extends SpanSource {
  trainer: { reader: SpanReader; ring: number }
  engine: { reader: SpanReader; ring: number }
}

/** Finds the spans of rings of this process, and those of their trainer, which may be another process. */
export class SpanFinder {
  private attached: AttachedSpans | undefined

  /** `trainer`: its process. */
  constructor(private readonly trainer: number) {}

  /** The spans of a ring, or why they can't be read: a trainer begins to write them some time after its feed is opened. */
  find(ring: number): RingSpans | { unknown: string } {
    const own = SpanFile.shared()
    if (own === undefined) return { unknown: 'the engine writes no spans: MILLRACE_SPANS=0 turns them off' }
    const engine = { reader: own.reader, ring }
    if (this.trainer === process.pid) return { trainer: engine, engine }
    try {
      this.attached ??= attachSpans(this.trainer)
      const rings = this.attached.rings().filter(one => one.engine === process.pid)
      const found = rings.findLast(({ engineRing }) => engineRing === ring)
      if (found === undefined) return { unknown: `process ${this.trainer} has no spans of this feed` }
      return { trainer: { reader: this.attached, ring: found.ring }, engine }
    } catch (error) {
      return { unknown: (error as Error).message }
    }
  }

  close(): void {
    this.attached?.close()
    this.attached = undefined
  }
}
