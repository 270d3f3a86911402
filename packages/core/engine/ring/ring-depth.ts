/** How many slots of a ring are in use. It changes while the ring runs; of several changes the last one holds. */
import type { Ring } from '../../batch/ring.js'
import type { RingMemory } from './ring-memory.js'

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
