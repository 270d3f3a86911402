/** Whether a run still goes on: its processes, its ring, and the ring that takes the place of that one. */
import { startTime } from '../../core/system/process/proc.js'
import type { RingFacts, SpanSource } from '../account/source.js'

/** A ring that is closed may be replaced by another one of the same feed: so many looks are waited for that. */
const MOST_LOOKS_CLOSED = 3

export class Life {
  ended: string | undefined
  private closed = 0
  /** A pid comes back, a pid with its start time does not. */
  private readonly started: { trainer: string; engine: string }

  constructor(
    private source: SpanSource,
    private readonly pids: { trainer: number; engine: number },
  ) {
    this.started = { trainer: startTime(pids.trainer), engine: startTime(pids.engine) }
  }

  /** Looks whether the run has ended. Returns where it goes on, if that is another ring. */
  look(): SpanSource | undefined {
    if (this.ended !== undefined) return undefined
    const { trainer, engine } = this.pids
    // The trainer first: where it dies, its engine ends as well.
    if (startTime(trainer) !== this.started.trainer) this.ended = `the trainer (process ${trainer}) has ended`
    else if (startTime(engine) !== this.started.engine)
      this.ended = `the engine (process ${engine}) has ended`
    if (this.ended !== undefined) return undefined
    const { reader, ring } = this.source.trainer
    const rings = reader.rings()
    const own = rings.find(one => one.ring === ring)
    if (own === undefined || own.open !== false) {
      this.closed = 0
      return undefined
    }
    const next = this.nextOf(own, rings)
    if (next !== undefined) {
      this.closed = 0
      this.source = next
      return next
    }
    if (++this.closed >= MOST_LOOKS_CLOSED) this.ended = 'the feed was closed'
    return undefined
  }

  /** The ring of the same feed that was opened after this one. */
  private nextOf(own: RingFacts, rings: readonly RingFacts[]): SpanSource | undefined {
    const { trainer, engine } = this.source
    const next = rings.find(
      one =>
        one.open &&
        one.begun > own.begun &&
        one.name === own.name &&
        one.rank === own.rank &&
        one.world === own.world &&
        one.engine === own.engine,
    )
    if (next === undefined) return undefined
    return {
      trainer: { reader: trainer.reader, ring: next.ring },
      engine: { reader: engine.reader, ring: next.engineRing ?? next.ring },
    }
  }
}
