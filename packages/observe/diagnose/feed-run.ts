/**
 * A feed that is opened to be looked at, and a trainer that computes nothing: it sleeps as long as a step takes. The run goes on
 * only while it is measured; what lies between two measurements is left out of both.
 */
import { MillraceError } from '../../core/basics/errors.js'
import type { Loader } from '../../core/deliver/node/loader.js'
import { Pool } from '../../core/engine/pool/pool.js'
import { monotonicMs } from '../../core/spans/clock.js'

/** However slow it is: a step is over when the next one begins, and of none nothing can be said. */
const LEAST = 2
/** Steps that follow each other within some ms are told as one: a shorter time (s) may have none of its own. */
const SHORTEST = 0.05

const never = new Int32Array(new SharedArrayBuffer(4))

/** How long a measurement goes on: until there are both so many steps and seconds, or the most seconds are over. */
export interface Length {
  steps: number
  seconds: number
  most: number
}

export class FeedRun {
  private loop: AsyncIterator<{ samples: number }> | undefined
  private steps = 0

  constructor(
    private readonly loader: Loader,
    private readonly stepMs: number,
    /** Told after every step. */
    private readonly stepped: (steps: number) => void,
  ) {}

  get workers(): number {
    return this.loader.stats().workers
  }

  async setWorkers(workers: number): Promise<void> {
    await this.loader.tune({ workers })
  }

  /** Lets the run go on for so many seconds, and returns how many steps it made: two at least. */
  async goOn(seconds: number): Promise<number> {
    return this.measure({ steps: 0, seconds, most: Number.POSITIVE_INFINITY })
  }

  /** Lets the run go on. Returns how many steps it made. */
  async measure({ steps, seconds, most }: Length): Promise<number> {
    const before = this.steps
    const begun = monotonicMs()
    const passed = () => (monotonicMs() - begun) / 1000
    const done = () => this.steps - before
    const tooFew = () => done() < LEAST || passed() < SHORTEST
    while (tooFew() || (passed() < most && (done() < steps || passed() < seconds))) await this.step()
    return done()
  }

  /** How long a step of this trainer takes when its workers rest (ms): a system sleeps a little longer than it is told to. */
  ideal(): { ms: number; from: 'given'; steps: number } {
    if (this.stepMs === 0) return { ms: 0, from: 'given', steps: 0 }
    const steps = Math.min(30, Math.max(5, Math.ceil(400 / this.stepMs)))
    const pool = this.workers > 0 ? Pool.shared() : undefined
    pool?.rest(monotonicMs() + steps * this.stepMs + 1000)
    const begun = performance.now()
    try {
      for (let step = 0; step < steps; step++) this.compute()
      return { ms: (performance.now() - begun) / steps, from: 'given', steps }
    } finally {
      pool?.rest(0)
    }
  }

  /** One step. An epoch that ends is followed by the next one. */
  private async step(): Promise<void> {
    for (let empty = 0; ; empty++) {
      this.loop ??= this.loader[Symbol.asyncIterator]() as AsyncIterator<{ samples: number }>
      const { done } = await this.loop.next()
      if (!done) {
        this.compute()
        this.steps++
        return this.stepped(this.steps)
      }
      this.loop = undefined
      if (empty > 0)
        throw new MillraceError('the feed has no batches: its data are less than a batch, and last is "drop"')
    }
  }

  /** Sleeps like a thread that waits for its GPU. Not by setTimeout, which cuts fractions of a millisecond off. */
  private compute(): void {
    if (this.stepMs > 0) Atomics.wait(never, 0, 0, this.stepMs)
  }

  async end(): Promise<void> {
    await this.loop?.return?.()
  }
}
