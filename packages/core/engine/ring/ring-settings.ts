/** Two settings of a ring that change while it runs: the slots that are in use, and the rows that workers claim at a time. */
import type { Ring } from '../../batch/ring.js'
import type { RingMemory } from './ring-memory.js'

/** Of several changes of the depth the last one holds. */
export class RingDepth {
  private setting: Promise<void> = Promise.resolve()
  private ended = false
  /** Batches that the consumer holds elsewhere: on a device. */
  holds: () => number = () => 0

  constructor(
    private readonly ring: Ring,
    private readonly memory: RingMemory,
    /** Slots that the consumer holds. */
    private readonly kept: ReadonlySet<number>,
    private readonly changed: (slots: number) => void,
  ) {}

  /** Rejects where there is no memory for more slots. */
  set(depth: number): Promise<void> {
    const set = this.setting.then(() => this.reserve(depth))
    this.setting = set.catch(() => {})
    return set
  }

  /**
   * Slots are taken lowest first, so that only the first `depth` of them need memory. What the consumer holds stays with it, and
   * one slot more is in use, or no batch could be made any more.
   */
  private async reserve(depth: number): Promise<void> {
    const least = 1 + Math.max(this.kept.size, this.holds())
    const slots = Math.min(this.ring.capacity, Math.max(depth, least))
    await this.memory.reserve(slots)
    if (this.ended) return
    this.ring.depth = slots
    this.changed(slots)
  }

  /** Nothing is set any more; resolves when no memory is being taken. */
  end(): Promise<void> {
    this.ended = true
    return this.setting
  }
}

/** ClaimSize looks this often (ms) whether all batches are claimed as was last set. */
const SETTLE_EVERY_MS = 200

/** A change holds from a batch on that no worker has begun. */
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
    this.timer = setTimeout(then, SETTLE_EVERY_MS).unref()
  }
}
