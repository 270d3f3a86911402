/**
 * The timeout of a sample, and of a maker that loads a job. The thread that waits for a batch checks it. Time in which no
 * thread checked does not count: the process may have been stopped (SIGSTOP, a debugger), and its makers with it.
 */
import { type Claim, MAX_MAKERS, type Ring } from '../../batch/ring.js'

/** A thread that waits checks several times a second. After a gap of this many ms none waited, or the process was stopped. */
const STOPPED = 1500
/** Loading a job may take this many times as long as a sample: Python imports what the user's code needs. */
const LOADING = 10

/** A maker that takes too long, and the message about it. */
export interface Lost {
  maker: number
  problem: string
}

export class SampleTimeout {
  /** The last check, and the beginning of the present series of checks without a gap (ms since 1970). */
  private checked = 0
  private watched = 0
  /** When each maker was first seen to load the job, by its number. */
  private readonly loading = new Map<number, number>()

  constructor(
    private readonly ring: Ring,
    /** Seconds that one sample may take. */
    private readonly seconds: number,
    /** Whether a maker is loading the job of this ring. */
    private readonly takesUp: (maker: number) => boolean = () => false,
  ) {}

  /** Begins a series of checks: a thread waits for a batch from now on. */
  begin(): void {
    this.noteCheck(Date.now())
  }

  /** Finds a maker that has been at a row, or at loading, for too long. */
  lost(nameOf: (claim: Claim, row: number) => string): Lost | undefined {
    const now = Date.now()
    this.noteCheck(now)
    for (let maker = 0; maker < MAX_MAKERS; maker++) {
      const loaded = this.loadingFor(maker, now)
      if (loaded >= LOADING * this.seconds) {
        const problem =
          `a worker has been loading the dataset or the functions of this feed for ${Math.round(loaded)} s: ` +
          'something that they import or set up does not end. Look at it, or raise the option "timeout"'
        return { maker, problem }
      }
      const held = this.ring.held(maker)
      if (!held || held.since === 0) continue
      const seconds = (now - Math.max(held.since, this.watched)) / 1000
      if (seconds < this.seconds) continue
      const problem =
        `sample ${nameOf(held.claim, held.row)} has taken ${Math.round(seconds)} s (limit ${this.seconds} s): ` +
        'its file does not answer, or a function of yours hangs. Look at it, or raise the option "timeout"'
      return { maker, problem }
    }
    return undefined
  }

  /** Seconds for which a maker has been seen to load the job. */
  private loadingFor(maker: number, now: number): number {
    if (!this.takesUp(maker)) {
      this.loading.delete(maker)
      return 0
    }
    const since = this.loading.get(maker) ?? now
    this.loading.set(maker, since)
    return (now - Math.max(since, this.watched)) / 1000
  }

  private noteCheck(now: number): void {
    if (now - this.checked > STOPPED) this.watched = now
    this.checked = now
  }
}

/** Waits for a promise, and looks every so many ms whether anything has failed meanwhile. */
export function unlessFailed(
  pending: Promise<void>,
  often: number,
  failure: () => Error | undefined,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const failed = new Promise<void>((_, reject) => {
    timer = setInterval(() => {
      const error = failure()
      if (error) reject(error)
    }, often)
  })
  return Promise.race([pending, failed]).finally(() => clearInterval(timer))
}
