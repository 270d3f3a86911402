/** The loops of a loader: which iterator has its turn, and what a loop that is left comes to. */
import { MillraceError } from '../basics/errors.js'
import type { Place } from '../order/steps.js'

/** How a loop ended: after its last batch, by the program, or by an error of the loader's. */
export type Ending = 'finished' | 'left' | 'failed'

export class Loops {
  /** The number of the latest iterator: those before it are over. */
  private begun = 0
  /** The loop that is under way: where it began, whether it is the loader's first, and how many batches it was given. */
  private loop: { began: Place; first: boolean; given: number } | undefined
  /** Where a loop was left that counts as an epoch, until the next one begins; and whether that was said. */
  private left: Place | undefined
  private said = false
  /** The latest that takes a batch or moves the ring. */
  private latest: Promise<unknown> = Promise.resolve()

  get underWay(): boolean {
    return this.loop !== undefined
  }

  /** An iterator is made. */
  newLoop(): number {
    return ++this.begun
  }

  has(loopId: number): boolean {
    return loopId === this.begun
  }

  /** Throws where another iterator has been made since. */
  check(loopId: number): true {
    if (this.has(loopId)) return true
    throw new MillraceError('another loop over this loader has begun: this one is over')
  }

  /** One at a time: moving the ring, and taking a batch from it. */
  oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const done = this.latest.then(work)
    this.latest = done.catch(() => {})
    return done
  }

  begin(began: Place, first: boolean): void {
    this.loop = { began, first, given: 0 }
  }

  given(): void {
    if (this.loop) this.loop.given++
  }

  /**
   * The loop is over, after a batch of `epoch`, and the run stands at `place`. Returns where the next one begins if it was left: that
   * counts as an epoch, but for the loader's first loop after one batch, which is a look.
   */
  end(how: Ending, epoch: number, place: Place): Place | undefined {
    const { loop } = this
    this.loop = undefined
    if (loop === undefined || how === 'finished') return undefined
    if (how === 'left' && loop.first && loop.given <= 1) return loop.began
    if (place.epoch === epoch) this.left = place
    return { epoch: epoch + 1, position: 0 }
  }

  /** A state was loaded: the next loop does not follow from the one before. */
  forget(): void {
    this.left = undefined
  }

  /** What to say, once, of the loop before, when the next one begins at a place. */
  notice(next: Place | undefined): string | undefined {
    const { left, said } = this
    this.left = undefined
    if (left === undefined || next === undefined || said) return undefined
    this.said = true
    return (
      `a loop was left at position ${left.position} of epoch ${left.epoch}, and counts as an epoch: this one begins ` +
      `with epoch ${next.epoch}. loader.load(state) goes on where a state was taken`
    )
  }
}
