/**
 * Garbage collections of the calling thread. A `PerformanceObserver` is told of them when the event loop turns, which that of a
 * worker hardly ever does. V8's profiler sees all of them, but makes each some µs longer: where there are very many, only
 * some of the time is watched, and the rest is taken to be like it.
 */
import { GCProfiler } from 'node:v8'

/** What watching costs a collection (ms), and the share of the thread's time that it may cost. */
const COST = 0.04
const ALLOWED = 0.002

export class Collections {
  private readonly profiler = new GCProfiler()
  private watching = false
  /** ms of collecting in a ms of the thread's time, as last watched. */
  private rate = 0
  /** For so long (ms of the thread's time) nothing is watched. */
  private rest = 0

  constructor() {
    this.watch()
  }

  /** ms of collecting since it was last asked for. `ran`: ms that the thread ran in this time. */
  since(ran: number): number {
    if (!this.watching) {
      this.rest -= ran
      this.watch()
      return this.rate * ran
    }
    const { statistics } = this.profiler.stop()
    const ms = statistics.reduce((sum, { cost }) => sum + cost / 1000, 0)
    this.rate = ran > 0 ? ms / ran : 0
    this.rest = (statistics.length * COST) / ALLOWED - ran
    this.watching = false
    this.watch()
    return ms
  }

  private watch(): void {
    if (this.rest > 0) return
    this.watching = true
    this.profiler.start()
  }
}
