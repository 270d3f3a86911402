/** A trainer in another process that is looked at while it runs. */
import type { SpanSource } from '../../observe/account/source.js'
import { GatheredSpans } from '../../observe/gather.js'
import { monotonicMs } from '../../spans/clock.js'
import type { Length } from '../feed-run.js'
import { checkAlive, type FoundRun, sourceOfRun } from './find-run.js'

/** How often the run is looked at (ms), and how long records may be held back before they can be read. */
const LOOK = 200
const HELD = 60

export class LiveRun {
  readonly source: SpanSource
  private readonly readers: readonly GatheredSpans[]

  constructor(
    private readonly found: FoundRun,
    private readonly stepped: (steps: number) => void,
  ) {
    const { trainer, engine } = sourceOfRun(found)
    const made = new GatheredSpans(engine.reader)
    const taken = trainer.reader === engine.reader ? made : new GatheredSpans(trainer.reader)
    this.readers = made === taken ? [made] : [made, taken]
    this.source = { trainer: { ...trainer, reader: taken }, engine: { ...engine, reader: made } }
  }

  /** Resolves with the steps that began meanwhile. */
  async measure({ steps, seconds, most }: Length): Promise<number> {
    this.look(Number.POSITIVE_INFINITY)
    const begun = monotonicMs()
    for (let seen = 0; ; ) {
      seen += this.look(begun)
      this.stepped(seen)
      const passed = (monotonicMs() - begun) / 1000
      if (passed >= most || (seen >= steps && passed >= seconds)) return seen
      checkAlive(this.found.engine.pid, 'the engine')
      checkAlive(this.found.trainer.pid, 'the trainer')
      await sleep(LOOK)
    }
  }

  /** Waits until what was done by now can be read. */
  async settled(): Promise<void> {
    await sleep(HELD)
    for (const reader of this.readers) reader.look()
  }

  /** Steps that were told since it was last looked, of those that began from `begun` on. */
  private look(begun: number): number {
    const { trainer } = this.source
    let steps = 0
    for (const reader of this.readers)
      for (const { kind, ring, start, lane, joined } of reader.look())
        if (
          reader === trainer.reader &&
          ring === trainer.ring &&
          lane.kind === 'consumer' &&
          kind === 'step' &&
          start >= begun
        )
          steps += Math.max(1, joined)
    return steps
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
