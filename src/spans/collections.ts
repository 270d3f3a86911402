/**
 * Garbage collections of the calling thread. A `PerformanceObserver` is told of them when the event loop turns, which that of a
 * worker hardly ever does. V8's profiler sees all of them, and costs some µs when it is asked.
 */
import { GCProfiler } from 'node:v8'

export class Collections {
  private readonly profiler = new GCProfiler()

  constructor() {
    this.profiler.start()
  }

  /** ms of collecting garbage since it was last asked for. */
  since(): number {
    const { statistics } = this.profiler.stop()
    this.profiler.start()
    return statistics.reduce((ms, { cost }) => ms + cost / 1000, 0)
  }
}
