/** Batches on the host: each is the slot itself. */
import { CONTROL_BYTES } from '../../batch/ring.js'
import { Header } from '../../batch/slot.js'
import type { NormalFeed } from '../../define/types.js'
import type { Feeding } from '../../engine/ring/feeding.js'
import {
  type AnyFields,
  type Batch,
  type BatchOwner,
  batchClass,
  type SlotView,
  SlotWindow,
} from './batch.js'
import { Places } from './places.js'
import { completedAt, type Sink, type Taken } from './sink.js'

/**
 * Bytes of a batch up to which V8's garbage collections don't matter. Taking a batch's arrays back gives V8 a new buffer over
 * the same memory, which counts: with 64 MiB of them it collects. A collection for every batch took 15 ms of CPU time, an eighth of
 * what f32 batches of 256 × 224² cost in all; one for every second batch of 46 MB took 6 ms of each step. Larger batches are shown at places (places.ts). Where the system can't do that, two go together.
 */
const UNNOTICED = 16 * 2 ** 20

export class HostSink implements Sink {
  spare = 0
  private readonly windows: readonly SlotView[]
  private readonly places: Places | undefined
  private readonly BatchClass: typeof Batch<AnyFields>
  /** Slots that were released, and whose arrays are still to be taken back. */
  private readonly leaving: number[] = []

  constructor(
    private readonly feeding: Feeding,
    private readonly owner: BatchOwner,
    { fields }: NormalFeed,
  ) {
    const { shared, layout, ring } = feeding
    this.BatchClass = batchClass(fields.map(field => field.name))
    const { bytes } = layout
    const slots = { region: shared.words, offset: CONTROL_BYTES, count: ring.slots.length, bytes }
    this.places = bytes > UNNOTICED ? Places.of(slots) : undefined
    this.windows =
      this.places?.windows ??
      ring.slots.map((_, i) => new SlotWindow(shared.words, CONTROL_BYTES + i * bytes, bytes))
    if (bytes > UNNOTICED && !this.places) void this.takeSpare()
  }

  /** One slot more, so that makers have as many as before while one waits to be given back. Without memory for it, none waits. */
  private async takeSpare(): Promise<void> {
    const { feeding } = this
    const before = feeding.depth
    await feeding.setDepth(before + 1).catch(() => {})
    this.spare = feeding.depth - before
  }

  async take(batch: number): Promise<Taken> {
    const { feeding } = this
    if (this.short) this.giveBack()
    const index = await feeding.take(batch)
    const slot = feeding.slot(index)
    const bad = slot.words[Header.Bad] > 0 ? feeding.badOf(batch) : []
    const samples = slot.words[Header.Valid]
    const make = () => new this.BatchClass(this.owner, index, slot, this.windows[index])
    return { index, samples, bad, completed: completedAt(slot), batch: make }
  }

  /**
   * Takes the arrays back and gives the slot to the makers. A large batch waits for the next one, where there is a slot to
   * spare: one collection of V8's then serves both. Until then its memory is as it was.
   */
  release(index: number): void {
    this.leaving.push(index)
    if (this.leaving.length > this.spare || this.short) this.giveBack()
  }

  /** Whether makers have less than two slots to fill. */
  private get short(): boolean {
    return this.feeding.kept.size >= this.feeding.depth - 1
  }

  private giveBack(): void {
    for (const index of this.leaving.splice(0)) {
      this.windows[index].detach()
      this.feeding.release(index)
    }
  }

  extended(): void {}

  async drain(): Promise<void> {
    this.giveBack()
  }

  async close(): Promise<void> {
    for (const window of this.windows) window.close()
    this.places?.close()
  }
}
