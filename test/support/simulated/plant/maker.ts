/** A maker of a computed run, and its time in slices: one list for each rank that it works for. */
import type { MakerSlice } from '../../../../packages/observe/evidence.js'

/** Slices end after this time (ms) at the next end of a claim; of many makers, they are longer. */
const SLICE = 50
const MAKERS = 16
/** Without a claim, they end after this time (ms). */
const LONG = 500

export class Maker {
  phase: 'idle' | 'latency' | 'transfer' | 'cpu' = 'idle'
  /** It goes when its claim is done. */
  leaving = false
  rank = 0
  batch = 0
  rows = 0
  /** What is left after the present phase: bytes to read, CPU (ms). */
  bytes = 0
  cpu = 0
  begun = 0
  private since: number
  private coreSince = 0
  private from: number
  private open: MakerSlice[]

  /** `made` has the slices of each rank. `own`: the trainer of that rank itself, which makes rows while it waits for them. */
  constructor(
    readonly number: number,
    private readonly made: MakerSlice[][],
    now: number,
    readonly own?: number,
  ) {
    this.since = now
    this.from = now
    this.open = made.map(() => emptySlice(number, now))
  }

  /** Ends a phase. `core` is the time on a core that a task that always wants one has had. */
  enter(phase: Maker['phase'], now: number, core: number): void {
    this.settle(now, core)
    this.phase = phase
  }

  /** A claim is done. */
  finish(now: number, core: number, bytes: number, makers: number): void {
    this.enter('idle', now, core)
    const slice = this.open[this.rank]
    slice.rows += this.rows
    slice.claims++
    slice.reads++
    slice.bytes += this.rows * bytes
    if (now - this.from >= SLICE * Math.max(1, makers / MAKERS)) this.cut(now)
  }

  /** It goes: what it did since the last cut is told. */
  leave(now: number, core: number): void {
    this.enter('idle', now, core)
    this.cut(now, 0)
  }

  /** Its time until now, and a cut: before a claim after a long wait, and when it goes. */
  cut(now: number, least = LONG): void {
    if (!(now > this.from)) return
    for (let rank = 0; rank < this.open.length; rank++) {
      const slice = this.open[rank]
      // What had nothing of this maker is told in longer slices.
      if (slice.claims === 0 && now - slice.from < least) continue
      slice.to = now
      this.made[rank].push(slice)
      this.open[rank] = emptySlice(this.number, now)
    }
    this.from = now
  }

  waitedLong(now: number): boolean {
    return now - this.since >= SLICE
  }

  /** The slice that is not over yet. */
  soFar(rank: number, now: number, core: number): MakerSlice {
    this.settle(now, core)
    const slice = this.open[rank]
    return { ...slice, to: now, work: { ...slice.work } }
  }

  private settle(now: number, core: number): void {
    const ms = now - this.since
    const slice = this.open[this.rank]
    if (this.phase === 'idle') for (const one of this.open) one.wait += ms
    else if (this.phase === 'cpu') {
      const ran = Math.min(ms, core - this.coreSince)
      slice.work.decode += ms
      slice.cpu! += ran
      slice.delay! += ms - ran
    } else slice.work.read += ms
    this.since = now
    this.coreSince = core
  }
}

function emptySlice(maker: number, from: number): MakerSlice {
  const work = { open: 0, read: 0, decode: 0, transform: 0, map: 0, close: 0 }
  const counts = { bytes: 0, rows: 0, claims: 0, reads: 0, opens: 0 }
  return { maker, from, to: from, work, wait: 0, idle: 0, cpu: 0, delay: 0, gc: 0, ...counts }
}
