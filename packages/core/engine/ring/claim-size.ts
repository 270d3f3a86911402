/** Rows that workers claim at a time: they change while workers run, from a batch on that none of them has begun. */
import type { Ring } from '../../batch/ring.js'

/** How often (ms) it is looked whether all batches are claimed as was last set. */
const SETTLES = 200

export class ClaimSize {
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly ring: Ring,
    /** Told how many claims a batch has from now on. */
    private readonly changed: (claims: number) => void,
  ) {}

  set(rows: number): void {
    clearTimeout(this.timer) // of an earlier one that still waits
    const { chunks, chunkRows } = this.ring.layout
    const stride = Math.max(1, Math.min(chunks, Math.round(rows / chunkRows)))
    if (this.ring.changeStride(stride)) {
      this.changed(Math.ceil(chunks / stride))
      this.settle()
    } else this.later(() => this.set(rows))
  }

  close(): void {
    clearTimeout(this.timer)
  }

  /** Once batches of the time before are gone, that is noted: the word has no room for long ago. */
  private settle(): void {
    if (!this.ring.settleStride()) this.later(() => this.settle())
  }

  private later(then: () => void): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(then, SETTLES).unref()
  }
}
