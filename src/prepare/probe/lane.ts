/** What a thread did and when. Operations that follow each other are joined, so that a lane stays short. */
import { monotonicMs } from '../../spans/clock.js'

/** Where the bytes of an operation were: on the storage, in the page cache, or the system does not say. */
export type Place = 'cold' | 'warm' | 'unknown'

/** Operations of one place that followed each other. Times are ms of a clock that all threads share. */
export interface Run {
  place: Place
  begin: number
  end: number
  ops: number
  bytes: number
  /** Within the calls themselves. */
  ms: number
}

/** Operations are joined until they have taken so long (ms). */
const JOINED = 1

export class Lane {
  readonly runs: Run[] = []

  /** Runs a call and books it. `bytes`: how many it gave. `before`: what else belongs to the operation (ms). */
  timed(place: Place, call: () => number, before = 0): void {
    const begin = monotonicMs()
    const bytes = call()
    const end = monotonicMs()
    this.add({ place, begin: begin - before, end, ops: 1, bytes, ms: end - begin + before })
  }

  add(run: Run): void {
    const last = this.runs.at(-1)
    if (last === undefined || last.place !== run.place || last.end - last.begin >= JOINED) {
      this.runs.push(run)
      return
    }
    last.end = run.end
    last.ops += run.ops
    last.bytes += run.bytes
    last.ms += run.ms
  }
}
