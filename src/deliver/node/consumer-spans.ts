/** The spans of a loop in this process: how long it waited for each batch, and how long its steps took. */
import { type LaneRef, openLane, SpanFile } from '../../spans/file.js'
import type { SpanLane } from '../../spans/lane.js'
import { LaneKind, SpanKind } from '../../spans/span-words.js'

/** The batch that the program has. */
interface Handed {
  ring: number
  batch: number
  rows: number
  at: number
}

export class ConsumerSpans {
  private ref: LaneRef | undefined
  private lane: SpanLane | undefined
  private current: Handed | undefined

  /** A batch of a ring is handed to the program at `now`; it had asked for it at `asked`. */
  handed(ring: number, batch: number, rows: number, asked: number, now: number): void {
    if (this.ref === undefined) this.open()
    this.current = { ring, batch, rows, at: now }
    this.lane?.of(ring).add(SpanKind.Wait, asked, now - asked, this.current)
  }

  /** The program is done with the batch that it has. */
  stepped(): void {
    if (this.current === undefined) return
    const handed = this.current
    this.current = undefined
    this.lane?.of(handed.ring).add(SpanKind.Step, handed.at, performance.now() - handed.at, handed)
  }

  /** A loop is over: what is written by now may be all there is for a while. */
  flush(): void {
    this.lane?.flush()
  }

  close(): void {
    this.flush()
    if (this.ref) SpanFile.shared()?.give(this.ref)
    this.lane = undefined
  }

  private open(): void {
    this.ref = SpanFile.shared()?.take(LaneKind.Consumer, 'trainer')
    this.lane = this.ref && openLane(this.ref)
  }
}
