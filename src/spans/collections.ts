/**
 * Garbage collections of the calling thread. A `PerformanceObserver` is told of them when the event loop turns, which that of a
 * worker hardly ever does. V8's profiler sees all of them, but makes each up to a millisecond longer: where there are many, only
 * some of the time is watched, and the rest is taken to be like it.
 */
import { GCProfiler } from 'node:v8'

/** What watching costs a collection (ms), and the share of the thread's time that it may cost. */
const COST = 1
const ALLOWED = 0.002
/** At most so long (ms of the thread's time) nothing is watched: what was watched last may be out of date. */
const LONGEST_REST = 1000

export class Collections {
  private readonly profiler = new GCProfiler()
  private watching = false
  /** ms of collecting in a ms of the thread's time, as last watched. */
  private rate = 0
  /** For so long (ms of the thread's time) nothing is watched. */
  private rest = 0

  /**
   * ms of collecting since it was last asked for. `ran`: ms that the thread ran in this time. The first time nothing is known: a
   * thread that starts is not like one that works.
   */
  since(ran: number): number {
    if (!this.watching) {
      this.rest -= ran
      this.watch()
      return this.rate * ran
    }
    const { statistics } = this.profiler.stop()
    const ms = statistics.reduce((sum, { cost }) => sum + cost / 1000, 0)
    this.rate = ran > 0 ? ms / ran : 0
    this.rest = Math.min(LONGEST_REST, (statistics.length * COST) / ALLOWED - ran)
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
