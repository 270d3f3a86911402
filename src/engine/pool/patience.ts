/**
 * How long a sample may take, and a maker that takes up a job. Looked after by whoever waits for batches; time in which
 * nobody has does not count: the process may have been stopped, and then its makers have seen nothing of it, either.
 */
import { type Claim, MAX_MAKERS, type Ring } from '../../batch/ring.js'

/** Whoever waits looks several times a second: when nobody has for so long (ms), nobody waited, or could. */
const STOPPED = 1500
/** Taking up a job may take so many times as long as a sample: Python imports what the user's code needs. */
const LOADING = 10

/** A maker that takes too long, and what is to be said of it. */
export interface Lost {
  maker: number
  problem: string
}

export class Patience {
  /** When somebody last looked, and since when somebody does all the time (ms since 1970). */
  private looked = 0
  private watched = 0
  /** Since when makers are seen to take up the job, by their numbers. */
  private readonly loading = new Map<number, number>()

  constructor(
    private readonly ring: Ring,
    /** Seconds that one sample may take. */
    private readonly seconds: number,
    /** Whether a maker is taking up the job of this ring. */
    private readonly takesUp: (maker: number) => boolean = () => false,
  ) {}

  /** Somebody will look from now on. */
  begin(): void {
    this.look(Date.now())
  }

  /** Looks whether a row takes longer than it may, and what is to be said then. */
  lost(nameOf: (claim: Claim, row: number) => string): Lost | undefined {
    const now = Date.now()
    this.look(now)
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

  /** Seconds that a maker has been seen to take up the job. */
  private loadingFor(maker: number, now: number): number {
    if (!this.takesUp(maker)) {
      this.loading.delete(maker)
      return 0
    }
    const since = this.loading.get(maker) ?? now
    this.loading.set(maker, since)
    return (now - Math.max(since, this.watched)) / 1000
  }

  private look(now: number): void {
    if (now - this.looked > STOPPED) this.watched = now
    this.looked = now
  }
}
