/** What the threads of one measure share: a gate at which they wait for each other, and a count that shares the work out. */

enum Word {
  /** Threads at the gate. */
  Here,
  /** How often the gate was opened. */
  Opened,
  Failed,
  /** Threads that are at work. */
  Working,
  /** Operations that were given away. */
  Next,
  Count,
}

export class Gate {
  private readonly words: Int32Array

  constructor(
    readonly memory = new SharedArrayBuffer(4 * Word.Count),
    private readonly threads = 1,
  ) {
    this.words = new Int32Array(memory)
  }

  /** Waits until all threads are here. False: one of them has failed, and will not come. */
  pass(): boolean {
    const opened = Atomics.load(this.words, Word.Opened)
    if (Atomics.add(this.words, Word.Here, 1) + 1 === this.threads) {
      Atomics.store(this.words, Word.Here, 0)
      Atomics.store(this.words, Word.Working, 0)
      this.open()
    }
    while (!this.failed && Atomics.load(this.words, Word.Opened) === opened)
      Atomics.wait(this.words, Word.Opened, opened)
    return !this.failed
  }

  /** Says that this thread is at work since it passed the gate. It may take a while until all of them get a core. */
  begin(): void {
    Atomics.add(this.words, Word.Working, 1)
  }

  /** Whether all threads are at work, or one has failed. */
  get allBegun(): boolean {
    return Atomics.load(this.words, Word.Working) >= this.threads || this.failed
  }

  /** Lets all others go: this thread will not come. */
  fail(): void {
    Atomics.store(this.words, Word.Failed, 1)
    this.open()
  }

  /** 0, 1, 2, …: each number goes to one thread. */
  next(): number {
    return Atomics.add(this.words, Word.Next, 1)
  }

  private get failed(): boolean {
    return Atomics.load(this.words, Word.Failed) === 1
  }

  private open(): void {
    Atomics.add(this.words, Word.Opened, 1)
    Atomics.notify(this.words, Word.Opened)
  }
}
