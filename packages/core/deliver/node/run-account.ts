/**
 * The account of a loader's run: what its loop waited for and computed, as sums, and what the workers did meanwhile, from
 * their counters. Accounting itself is loaded while the workers start.
 */
import { LoopTimes, type StepMark } from '../../../observe/account/loop-times.js'
import type { Accounting, Evidence, HostSignals } from '../../../observe/evidence.js'
import type { HostLook } from '../../../observe/host/look.js'
import type { HostSampler } from '../../../observe/host/sampler.js'
import { monotonicMs, onThisClock } from '../../spans/clock.js'
import { SpanFile } from '../../spans/file.js'

type Accountant = typeof import('../../../observe/account/of-run.js')
type Look = ReturnType<Accountant['lookAtMakers']>

/** Workers' counters are looked at when an epoch begins, but not more often than this (ms). */
const LOOKS = 1000

/** The machine is looked at for an account, but not more often than this (ms): it takes 1 or 2 ms. */
const HOST_LOOKS = 1000

/** Waits of so many steps are remembered: garbage collections are told some time after they were. */
const LATELY = 32

/** A step whose batch the program has; times in ms of this thread's `performance.now()`. */
export interface TakenStep {
  asked: number
  /** When the batch was complete; and when it was on the device, where that is another. */
  completed: number
  arrived: number
  got: number
  samples: number
  /** Which step of its epoch it is, and whether it begins that or the run. */
  stepInEpoch: number
  mark: StepMark
}

/** A step by when its batch was complete, and on the device. */
export function takenStep(
  { completed, arrived = completed }: { completed: number; arrived?: number },
  step: Omit<TakenStep, 'completed' | 'arrived'>,
): TakenStep {
  return { ...step, completed: onThisClock(completed), arrived: onThisClock(arrived) }
}

/** What is told with the account of a window. */
export type Beside = Pick<Evidence, 'cache'> & { facts?: Partial<Evidence['facts']> }

/** Sums since a look at the workers' counters. */
class Window {
  readonly times = new LoopTimes()

  constructor(
    readonly from: number,
    readonly look: Look | undefined,
  ) {}
}

export class RunAccount {
  private accountant: Accountant | undefined
  private readonly begun = monotonicMs()
  private run = new Window(this.begun, undefined)
  private epoch = new Window(this.begun, undefined)
  private ring = 0
  private current: TakenStep | undefined
  private readonly lately: TakenStep[] = []
  private host: HostSampler | undefined
  private hostBegun: HostLook | undefined
  private hostSeen: { at: number; signals: HostSignals } | undefined

  /** Loads what accounts, and looks at the machine; at its GPU as well, where that is wanted. */
  async load(gpu = false): Promise<void> {
    const [accountant, { HostSampler }] = await Promise.all([
      import('../../../observe/account/of-run.js'),
      import('../../../observe/host/sampler.js'),
    ])
    this.accountant = accountant
    this.host = new HostSampler(gpu ? {} : { gpu })
    this.hostBegun = this.host.look()
  }

  close(): void {
    this.host?.close()
    this.host = undefined
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
      const early = this.epoch.look !== undefined && now - this.epoch.look.at < LOOKS
      this.epoch = new Window(now, early ? this.epoch.look : this.look(now))
    }
  }

  /** The program is done with its batch at `now`. */
  stepped(now: number): void {
    if (this.current === undefined) return
    const { asked, completed, arrived, got, samples, mark } = this.current
    if (this.lately.push(this.current) > LATELY) this.lately.shift()
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
    const { cache, facts } = beside
    return this.use().evidenceOfRun(this.source, {
      ...{ from, to: now, times, before, now: this.look(now), ...(cache && { cache }) },
      host: this.hostNow(now),
      facts: { ...facts, begun: this.begun },
    })
  }

  account(beside: Beside, of: 'run' | 'epoch'): Accounting {
    return this.use().account(this.evidence(beside, of))
  }

  metrics(beside: Beside): Record<string, number> {
    return this.use().flatMetrics(this.account(beside, 'run'))
  }

  private hostNow(now: number): HostSignals | null {
    const { host, hostBegun, hostSeen } = this
    if (host === undefined || hostBegun === undefined) return null
    if (hostSeen !== undefined && now - hostSeen.at < HOST_LOOKS) return hostSeen.signals
    const signals = host.between(hostBegun, host.look())
    this.hostSeen = { at: now, signals }
    return signals
  }

  private look(at: number): Look {
    return this.accountant?.lookAtMakers(this.source, at) ?? { at, counters: [] }
  }

  private get source(): Parameters<Accountant['lookAtMakers']>[0] {
    return SpanFile.shared() && this.use().spansOfLoader(SpanFile.shared()!.reader, this.ring)
  }

  private use(): Accountant {
    if (this.accountant) return this.accountant
    throw new Error('accounting is not loaded: await loader.ready first')
  }
}
