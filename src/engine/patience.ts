/**
 * How long a sample may take. Looked after by whoever waits for batches; time in which nobody has does not count: the
 * process may have been stopped, and then its makers have seen nothing of it, either.
 */
import { type Claim, MAX_MAKERS, type Ring } from '../batch/ring.js'
import { EngineError } from '../errors.js'

/** Whoever waits looks several times a second: when nobody has for so long (ms), nobody waited, or could. */
const STOPPED = 1500

export class Patience {
  /** When somebody last looked, and since when somebody does all the time (ms since 1970). */
  private looked = 0
  private watched = 0

  constructor(
    private readonly ring: Ring,
    /** Seconds that one sample may take. */
    private readonly seconds: number,
  ) {}

  /** Somebody will look from now on. */
  begin(): void {
    this.look(Date.now())
  }

  /** Looks whether a row takes longer than it may, and what is to be said then. */
  lost(nameOf: (claim: Claim, row: number) => string): EngineError | undefined {
    const now = Date.now()
    this.look(now)
    for (let maker = 0; maker < MAX_MAKERS; maker++) {
      const held = this.ring.held(maker)
      if (!held || held.since === 0) continue
      const seconds = (now - Math.max(held.since, this.watched)) / 1000
      if (seconds < this.seconds) continue
      return new EngineError(
        `sample ${nameOf(held.claim, held.row)} has taken ${Math.round(seconds)} s (limit ${this.seconds} s): ` +
          'its file does not answer, or a function of yours hangs. Look at it, or raise the option "timeout"',
      )
    }
    return undefined
  }

  private look(now: number): void {
    if (now - this.looked > STOPPED) this.watched = now
    this.looked = now
  }
}
