/**
 * The account of a loader's run: what its loop waited for and computed, as sums, and what the workers did meanwhile, from
 * their counters.
 */
import { MillraceError } from '../../core/basics/errors.js'
import type { Beside, LoopObserver, TakenStep } from '../../core/deliver/observer.js'
import { monotonicMs } from '../../core/spans/clock.js'
import { SpanFile } from '../../core/spans/file.js'
import type { Accounting, Diagnosis, Evidence, HostSignals } from '../evidence.js'
import type { HostLook } from '../host/look.js'
import { HostSampler } from '../host/sampler.js'
import { flatMetrics } from '../metrics/table.js'
import { account } from './account.js'
import { evidenceOfRun, lookAtMakers, type MakersLook } from './collect.js'
import { LoopTimes } from './loop-times.js'
import { type SpanSource, spansOfLoader } from './source.js'

/** Workers' counters are looked at when an epoch begins, but not more often than this (ms). */
const LOOK_EVERY_MS = 1000

/** The machine is looked at for an account, but not more often than this (ms): it takes 1 or 2 ms. */
const HOST_LOOK_EVERY_MS = 1000

/** Waits of so many steps are remembered: garbage collections are told some time after they were. */
const REMEMBERED_STEPS = 32

/** Sums since a look at the workers' counters. */
class Window {
  readonly times = new LoopTimes()

  constructor(
    readonly from: number,
    readonly look: MakersLook | undefined,
  ) {}
}

export class LoopAccount implements LoopObserver {
  private run: Window
  private epoch: Window
  private ring = 0
  private current: TakenStep | undefined
  private readonly lately: TakenStep[] = []
  private readonly host: HostSampler
  private readonly hostBegun: HostLook
  private hostSeen: { at: number; signals: HostSignals } | undefined

  constructor(
    private readonly begun: number,
    gpu: boolean,
  ) {
    this.run = new Window(begun, undefined)
    this.epoch = new Window(begun, undefined)
    this.host = new HostSampler(gpu ? {} : { gpu })
    this.hostBegun = this.host.look()
  }

  close(): void {
    this.host.close()
  }

  /** A batch of a ring was handed out. Its step is booked when that is over. */
  handed(ring: number, step: TakenStep): void {
    this.ring = ring
    this.current = step
    if (step.mark === undefined) return
    // The workers' time before the first batch is their start; an epoch's account begins with its first batch.
    const now = monotonicMs(step.asked)
    if (step.mark === 'first') {
      this.run = new Window(monotonicMs(step.got), this.look(monotonicMs(step.got)))
      this.epoch = new Window(this.run.from, this.run.look)
    } else {
      const early = this.epoch.look !== undefined && now - this.epoch.look.at < LOOK_EVERY_MS
      this.epoch = new Window(now, early ? this.epoch.look : this.look(now))
    }
  }

  /** The program is done with its batch at `now`. */
  stepped(now: number): void {
    if (this.current === undefined) return
    const { asked, completed, arrived, got, samples, mark } = this.current
    if (this.lately.push(this.current) > REMEMBERED_STEPS) this.lately.shift()
    this.current = undefined
    const complete = Math.min(Math.max(asked, completed), got)
    const there = Math.min(Math.max(complete, arrived), got)
    const step = {
      asked: monotonicMs(asked),
      supply: complete - asked,
      transfer: there - complete,
      handOver: got - there,
      compute: now - got,
      samples,
      count: 1,
    }
    this.run.times.add(step, mark)
    this.epoch.times.add(step, mark)
  }

  /** The loop's thread collected garbage (ms of `performance.now()`), some time ago. */
  collected(start: number, duration: number): void {
    const within = this.lately.reduce((sum, { asked, got }) => {
      return sum + Math.max(0, Math.min(start + duration, got) - Math.max(start, asked))
    }, 0)
    if (within === 0) return
    this.run.times.addGc(within)
    this.epoch.times.addGc(within)
  }

  /** What is known of the run so far, or of its latest epoch. */
  evidence(beside: Beside, of: 'run' | 'epoch' = 'run'): Evidence {
    const { times, from, look } = this[of]
    const now = monotonicMs()
    const before = look ?? { at: from, counters: [] }
    const { cache, ...facts } = beside
    return evidenceOfRun(this.source, {
      from,
      to: now,
      times,
      before,
      now: this.look(now),
      ...(cache && { cache }),
      host: this.hostNow(now),
      facts: { ...facts, begun: this.begun },
    })
  }

  accounts(beside: Beside): { account: Accounting; epoch: Accounting } {
    return { account: account(this.evidence(beside)), epoch: account(this.evidence(beside, 'epoch')) }
  }

  metrics(beside: Beside): Record<string, number> {
    return flatMetrics(account(this.evidence(beside)))
  }

  async diagnose(ring: number, seconds: number): Promise<Diagnosis> {
    if (!(seconds > 0 && seconds <= 3600))
      throw new MillraceError(`seconds: expected a number from 0 to 3600, not ${seconds}`)
    const { diagnoseLive } = await import('../diagnose/attach/live.js')
    const whole = { ring: String(ring), steps: Number.POSITIVE_INFINITY, seconds, progress: () => {} }
    const { account: _, model: __, recorded: ___, ...diagnosis } = await diagnoseLive(process.pid, whole)
    return diagnosis
  }

  private hostNow(now: number): HostSignals {
    const { host, hostBegun, hostSeen } = this
    if (hostSeen !== undefined && now - hostSeen.at < HOST_LOOK_EVERY_MS) return hostSeen.signals
    const signals = host.between(hostBegun, host.look())
    this.hostSeen = { at: now, signals }
    return signals
  }

  private look(at: number): MakersLook {
    return lookAtMakers(this.source, at)
  }

  private get source(): SpanSource | undefined {
    const spans = SpanFile.shared()
    return spans && spansOfLoader(spans.reader, this.ring)
  }
}
