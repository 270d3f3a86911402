/**
 * A lock between threads: one word of shared memory that holds who has it, so that the lock of a thread that died
 * can be taken over.
 *
 *   word = 0                           free
 *   word = holder + 1                  held
 *   word = holder + 1 | WAITED         held, and threads sleep until it is free
 *
 * Nothing is fair about it: it guards a few microseconds of bookkeeping.
 */
const WAITED = 1 << 30
const SPINS = 64 // about as long as the bookkeeping takes; sleeping and waking costs ten times that
const NAP_MS = 50 // a wake-up may be lost with the thread that owed it: look again

export class SharedLock {
  private readonly mine: number

  constructor(
    private readonly words: Int32Array,
    private readonly at: number,
    /** The number of this thread, from 0. */
    thread: number,
  ) {
    this.mine = thread + 1
  }

  /** Takes the lock. Gives up, and says so, when it was not free for `ms` milliseconds. */
  acquire(ms = Infinity): boolean {
    const { words, at, mine } = this
    for (let spin = 0; spin < SPINS; spin++) {
      if (Atomics.load(words, at) === 0 && Atomics.compareExchange(words, at, 0, mine) === 0) return true
    }
    const deadline = performance.now() + ms
    for (;;) {
      const seen = Atomics.load(words, at)
      if (seen === 0) {
        // Other threads may sleep as well, so the mark stays. It costs one idle wake-up at the end.
        if (Atomics.compareExchange(words, at, 0, mine | WAITED) === 0) return true
      } else if (seen & WAITED || Atomics.compareExchange(words, at, seen, seen | WAITED) === seen) {
        if (performance.now() >= deadline) return false
        Atomics.wait(words, at, seen | WAITED, Math.min(NAP_MS, ms))
      }
    }
  }

  release(): void {
    if (Atomics.exchange(this.words, this.at, 0) & WAITED) Atomics.notify(this.words, this.at, 1)
  }

  /**
   * Takes the lock from a thread that has ended; true if that thread held it. What the lock guards may then be in
   * the middle of a change. Must not be called for a thread that is still alive.
   */
  seize(from: number): boolean {
    for (;;) {
      const seen = Atomics.load(this.words, this.at)
      if ((seen & ~WAITED) !== from + 1) return false
      if (Atomics.compareExchange(this.words, this.at, seen, this.mine | WAITED) === seen) return true
    }
  }
}
