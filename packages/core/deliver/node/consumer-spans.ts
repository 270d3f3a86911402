/** The spans of a loop in this process: how long it waited for each batch, and how long its steps took. */
import { type LaneRef, openLane, SpanFile } from '../../spans/file.js'
import type { SpanLane } from '../../spans/lane.js'
import { levelOf } from '../../spans/level.js'
import { LaneKind, type LevelName, SpanKind, type SpanLevel } from '../../spans/span-words.js'
import type { LoopObserver, TakenStep } from '../observer.js'

/** The batch that the program has. */
interface Handed {
  ring: number
  batch: number
  /** 1 + its number in the epoch. */
  firstRow: number
  rows: number
  at: number
  /** It is the first of the run or of an epoch. Accounts tell it apart: it is joined with none. */
  begins: boolean
}

export class ConsumerSpans {
  /** Accounts of the same, where something explains runs. */
  observer: LoopObserver | undefined
  private ref: LaneRef | undefined
  private lane: SpanLane | undefined
  private current: Handed | undefined
  /** Undefined: nothing is written. */
  private readonly level: SpanLevel | undefined
  /** Told of this thread's garbage collections, some time after they were. */
  private readonly collections = new PerformanceObserver(list => {
    for (const { startTime, duration } of list.getEntries()) {
      this.lane?.gc(startTime, duration)
      this.observer?.collected(startTime, duration)
    }
  })

  /** `observe`: how much of it is written. */
  constructor(observe?: LevelName) {
    this.level = levelOf(observe)
  }

  /** A batch of a ring is handed to the program. */
  handed(ring: number, batch: number, step: TakenStep): void {
    if (this.ref === undefined) this.open()
    const { asked, completed, arrived, got, samples, stepInEpoch } = step
    this.current = {
      ring,
      batch,
      firstRow: stepInEpoch + 1,
      rows: samples,
      at: got,
      begins: step.mark !== undefined,
    }
    if (this.current.begins) this.flush()
    const spans = this.lane?.of(ring, this.level)
    const complete = Math.min(Math.max(asked, completed), got)
    const there = Math.min(Math.max(complete, arrived), got)
    spans?.add(SpanKind.Wait, asked, complete - asked, this.current)
    spans?.add(SpanKind.Copy, complete, there - complete, this.current)
    spans?.add(SpanKind.Hand, there, got - there, this.current)
    this.observer?.handed(ring, step)
  }

  /** The program is done with the batch that it has. Returns when that was. */
  stepped(): number {
    const now = performance.now()
    if (this.current === undefined) return now
    const handed = this.current
    this.current = undefined
    this.lane?.of(handed.ring).add(SpanKind.Step, handed.at, now - handed.at, handed)
    if (handed.begins) this.flush()
    this.observer?.stepped(now)
    return now
  }

  /** A loop is over: what is written by now may be all there is for a while. */
  flush(): void {
    this.lane?.flush()
  }

  close(): void {
    this.collections.disconnect()
    this.observer?.close()
    this.flush()
    if (this.ref) SpanFile.shared()?.give(this.ref)
    this.lane = undefined
  }

  private open(): void {
    if (this.level === undefined) return
    this.ref = SpanFile.shared()?.take(LaneKind.Consumer, 'trainer')
    this.lane = this.ref && openLane(this.ref)
    if (this.lane) this.collections.observe({ entryTypes: ['gc'] })
  }
}
