/** Makes batches in the calling thread, when they are asked for: for a feed without workers. */
import { EngineError } from '../../basics/errors.js'
import type { Ring } from '../../batch/ring.js'
import { type LaneRef, openLane, SpanFile } from '../../spans/file.js'
import type { SpanLane } from '../../spans/lane.js'
import { LaneKind } from '../../spans/span-words.js'
import type { Workspace } from '../../system/memory/workspace.js'
import { loadFunctions, withTokenizers } from '../make/functions.js'
import { RowMaker, spansOf } from '../make/row-maker.js'
import type { BadReport, Job } from '../plan/job.js'
import type { FeedingOptions } from './new-ring.js'

/** Its number among the workers of the ring, of which there are no others. */
const ALONE = 0

/** A longer step of the program's (ms) is told from making batches, which is the same thread's: its CPU time does not count. */
const STEP = 2

export class CallingThread {
  private maker!: RowMaker
  private readonly spans: LaneRef | undefined = SpanFile.shared()?.take(LaneKind.Maker, 'caller')
  private readonly lane: SpanLane | undefined = this.spans && openLane(this.spans)

  /** When a batch was last made, and whether CPU time was looked up then. */
  private made = 0
  private paused = true

  private constructor(
    private readonly ring: Ring,
    private readonly options: Pick<FeedingOptions, 'timeout' | 'functions'>,
    private readonly report: (bad: BadReport) => void,
  ) {}

  /** Loads the functions of the user's that the job calls. */
  static async start(
    job: Job,
    ring: Ring,
    options: Pick<FeedingOptions, 'timeout' | 'functions'>,
    report: (bad: BadReport) => void,
  ): Promise<CallingThread> {
    const thread = new CallingThread(ring, options, report)
    thread.maker = await thread.makerOf(job)
    return thread
  }

  /** Goes on with a job that has changed. The workspace stays: the memory of a ring never shrinks. */
  async takeUp(job: Job): Promise<void> {
    const former = this.maker
    this.maker = await this.makerOf(job, former.work)
    former.close()
  }

  /** The slot of a batch, which is made now. `wait` waits for functions of the user's. */
  async make(batch: number, wait: (pending: Promise<void>) => Promise<void>): Promise<number> {
    const apart = performance.now() - this.made >= STEP
    // Where it was not paused, the CPU time so far has earlier batches in it: it counts, the step with it.
    if (apart && this.paused) this.lane?.resume()
    try {
      return await this.slotOf(batch, wait)
    } finally {
      this.made = performance.now()
      if (apart) this.lane?.pause(this.made)
      this.paused = apart
    }
  }

  private async slotOf(batch: number, wait: (pending: Promise<void>) => Promise<void>): Promise<number> {
    for (;;) {
      const index = this.ring.ready(batch)
      if (index !== undefined) return index
      const claim = this.ring.next(ALONE)
      if (claim === undefined) throw new EngineError(`batch ${batch} can't be made: no slot is free`)
      const pending = this.maker.make(claim)
      if (pending) await wait(pending)
    }
  }

  close(): void {
    this.maker.close()
    this.lane?.flush()
    if (this.spans) SpanFile.shared()?.give(this.spans)
    // It may still wait for a function of the user's; its result is not wanted any more.
    this.ring.drop(ALONE)
  }

  private async makerOf(job: Job, work?: Workspace): Promise<RowMaker> {
    const functions = await loadFunctions(job.feed, this.options.timeout, this.options.functions)
    return new RowMaker(
      job,
      ALONE,
      await withTokenizers(job, functions),
      this.report,
      spansOf(job, this.lane),
      work,
    )
  }
}
