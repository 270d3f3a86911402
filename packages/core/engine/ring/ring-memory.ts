/**
 * The memory of a ring: a WebAssembly memory with shared memory under it, and workspaces of the makers behind that.
 *
 *   memory ┬ control page   ┐
 *          ├ slot 0  words  │ region `words`: header and columns, which makers trust
 *          │         fields │ region `data`
 *          ├ slot 1  words  │
 *          │         fields │
 *          ├ …              ┘
 *          └ workspaces
 *
 * A ring for a consumer in another process has two regions. Everything lies at the same offset in the memory and in its
 * region, and each region has holes where the other has pages. `words` is sealed: the consumer can only read it, so that
 * a stray write there ends the consumer and not the engine. A consumer of this process needs one region for both.
 */
import type { SlotLayout } from '../../batch/layout.js'
import { CONTROL_BYTES } from '../../batch/ring.js'
import {
  createRegion,
  free,
  mapOver,
  newMemory,
  reserve,
  type SharedRegion,
  seal,
} from '../../system/memory/memory.js'

export class RingMemory {
  private constructor(
    readonly memory: WebAssembly.Memory,
    readonly words: SharedRegion,
    readonly data: SharedRegion,
    private readonly layout: SlotLayout,
  ) {}

  /** Lays the memory out, and reserves as many slots as are to be used. */
  static async create(
    layout: SlotLayout,
    slots: { capacity: number; depth: number },
    wanted: { workspaceBytes: number; served: boolean },
  ): Promise<RingMemory> {
    const bytes = CONTROL_BYTES + slots.capacity * layout.bytes
    const memory = newMemory(bytes + wanted.workspaceBytes, { shared: true, grows: true })
    const words = createRegion(bytes)
    let data = words
    try {
      if (wanted.served) data = createRegion(bytes, 'millrace-fields')
      const ring = new RingMemory(memory, words, data, layout)
      await ring.reserve(slots.depth)
      ring.map(slots.capacity)
      return ring
    } catch (error) {
      free(words)
      if (data !== words) free(data)
      throw error
    }
  }

  /** Bytes of the shared part. */
  get bytes(): number {
    return this.words.bytes
  }

  /** Takes memory for the first `slots` slots. */
  async reserve(slots: number): Promise<void> {
    const { words, data, layout } = this
    if (data === words) return reserve(words, CONTROL_BYTES + slots * layout.bytes)
    await reserve(words, CONTROL_BYTES)
    for (let slot = 0; slot < slots; slot++) {
      const at = CONTROL_BYTES + slot * layout.bytes
      await reserve(words, layout.dataAt, at)
      if (layout.bytes > layout.dataAt) await reserve(data, layout.bytes - layout.dataAt, at + layout.dataAt)
    }
  }

  free(): void {
    free(this.words)
    if (this.data !== this.words) free(this.data)
  }

  private map(capacity: number): void {
    const { memory, words, data, layout } = this
    mapOver(memory, words)
    if (data === words) return
    for (let slot = 0; slot < capacity && layout.bytes > layout.dataAt; slot++) {
      const at = CONTROL_BYTES + slot * layout.bytes + layout.dataAt
      mapOver(memory, data, at, layout.bytes - layout.dataAt, at)
    }
    seal(words, true)
    seal(data, false)
  }
}
