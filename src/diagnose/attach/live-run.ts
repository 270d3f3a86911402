/** A trainer in another process that is looked at while it runs. It is changed only where there is a controller. */
import { MillraceError } from '../../basics/errors.js'
import type { SpanSource } from '../../observe/account/source.js'
import { GatheredSpans } from '../../observe/gather.js'
import { monotonicMs } from '../../spans/clock.js'
import type { Bench, Length, Measured, Setting } from '../bench.js'
import type { Controller } from './controller.js'
import { checkAlive, type FoundRun, sourceOfRun } from './find-run.js'

/** How often the run is looked at (ms), and how long records may be held back before they can be read. */
const LOOK = 200
const HELD = 60

export class LiveRun implements Bench {
  readonly source: SpanSource
  private readonly readers: readonly GatheredSpans[]
  private readonly before: Required<Setting>

  constructor(
    private readonly found: FoundRun,
    readonly controller: Controller | undefined,
    private readonly stepped: (steps: number) => void,
  ) {
    const { trainer, engine } = sourceOfRun(found)
    const made = new GatheredSpans(engine.reader)
    const taken = trainer.reader === engine.reader ? made : new GatheredSpans(trainer.reader)
    this.readers = made === taken ? [made] : [made, taken]
    this.source = { trainer: { ...trainer, reader: taken }, engine: { ...engine, reader: made } }
    this.before = this.setting()
  }

  setting(): Required<Setting> {
    const { ring } = this.source.engine
    const facts = this.found.engine.spans.rings().find(one => one.ring === ring)
    if (facts === undefined) throw new MillraceError('the feed was closed while it was looked at')
    return { workers: facts.workers, depth: facts.depth }
  }

  async set(setting: Setting): Promise<void> {
    if (this.controller === undefined)
      throw new MillraceError('a running trainer is changed with --control only')
    await this.controller.ask(setting)
  }

  /** Sets workers and depth as they were found, and ends a rest. */
  async restore(): Promise<void> {
    const { workers, depth } = this.setting()
    const changed = workers !== this.before.workers || depth !== this.before.depth
    if (changed) await this.controller?.ask(this.before)
  }

  /** The same without waiting for the answer: on Ctrl-C. */
  restoreNow(): void {
    this.controller?.write({ ...this.before, restUntil: 1 }, true)
  }

  measure(length: Length): Promise<Measured> {
    this.look(Number.POSITIVE_INFINITY)
    return this.measureFrom(monotonicMs(), length, LOOK)
  }

  /** From a moment on, which may have passed; looks every `often` ms. */
  async measureFrom(begun: number, { steps, seconds, most }: Length, often: number): Promise<Measured> {
    const passed = () => (monotonicMs() - begun) / 1000
    const now: Measured = { steps: 0, samples: 0, seconds: 0, bytes: 0 }
    for (;;) {
      this.look(begun, now)
      this.stepped(now.steps)
      if (passed() >= most || (now.steps >= steps && passed() >= seconds)) return now
      this.check()
      await sleep(often)
    }
  }

  /** Waits until what was done by now can be read. */
  async settled(): Promise<void> {
    await sleep(HELD)
    for (const reader of this.readers) reader.look()
  }

  get alive(): boolean {
    try {
      this.check()
      return true
    } catch {
      return false
    }
  }

  private check(): void {
    const { trainer, engine } = this.found
    checkAlive(engine.pid, 'the engine')
    checkAlive(trainer.pid, 'the trainer')
  }

  /** Adds what went through since it was last looked. Steps that began before `begun` are not counted. */
  private look(begun: number, now?: Measured): void {
    const { trainer, engine } = this.source
    for (const reader of this.readers) {
      for (const { kind, ring, start, duration, lane, rows, joined, bytes } of reader.look()) {
        if (now === undefined || start < begun) continue
        if (
          reader === trainer.reader &&
          ring === trainer.ring &&
          lane.kind === 'consumer' &&
          kind === 'step'
        ) {
          now.steps += Math.max(1, joined)
          now.samples += rows
          now.seconds = Math.max(now.seconds, (start + duration - begun) / 1000)
        }
        if (reader === engine.reader && ring === engine.ring && lane.kind === 'worker') now.bytes += bytes
      }
    }
  }

  /** Nothing is asked for any more. */
  close(): void {
    this.controller?.close()
    this.found.close()
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
