/**
 * How programs see batches of more than 16 MiB. To take arrays back, V8 makes a new buffer over the same memory, and for every
 * 64 MiB of such buffers it collects garbage. So one memory has places for many batches, each of which is used
 * once: a batch's pages are moved to its place, and away when it is released. Its arrays then show zeros. When all
 * places have been used, the arrays of all those batches are taken back at once.
 */
import { BudgetError } from '../../basics/errors.js'
import type { SharedRegion } from '../../system/memory/memory.js'
import { MovingPages } from '../../system/memory/moving.js'
import { type Place, PlaceMemory, placesFor } from '../../system/memory/place-memory.js'
import type { SlotView } from './batch.js'

/** With fewer places than this, collections are as rare without them: such batches have half a GiB. */
const WORTH_IT = 8

/** The slots of a ring: where the first begins in the region, how many there are, and the bytes of each. */
export interface Slots {
  region: SharedRegion
  offset: number
  count: number
  bytes: number
}

export class Places {
  readonly windows: PlacedWindow[] = []
  private readonly memories: PlaceMemory[] = []

  private constructor(
    { region, offset, count, bytes }: Slots,
    private readonly places: number,
  ) {
    try {
      const take = () => this.take(bytes)
      for (let i = 0; i < count; i++)
        this.windows.push(new PlacedWindow(new MovingPages(region, offset + i * bytes, bytes), take))
      // Whether pages can be moved here: a look at the first slot tells.
      this.windows[0].show()
      this.windows[0].detach()
    } catch (error) {
      for (const window of this.windows) window.close()
      this.close()
      throw error
    }
  }

  /** Undefined where the system can't move pages or has no addresses to spare, and where a memory has too few places. */
  static of(slots: Slots, places = placesFor(slots.bytes)): Places | undefined {
    if (places < WORTH_IT) return undefined
    try {
      return new Places(slots, places)
    } catch (error) {
      if (error instanceof BudgetError) return undefined
      throw error
    }
  }

  /** The memory that has the next place. One more is needed only where batches are kept for as long as all places of one last. */
  private take(bytes: number): PlaceMemory {
    const free = this.memories.find(memory => !memory.full)
    if (free) return free
    const vacant = this.memories.find(memory => memory.vacant)
    if (vacant === undefined)
      return this.memories[this.memories.push(new PlaceMemory(bytes, this.places)) - 1]
    vacant.renew()
    return vacant
  }

  /** Takes all views back. The windows are closed before. */
  close(): void {
    for (const memory of this.memories) memory.close()
  }
}

/** A slot that is seen at the next free place, once its batch is looked at. */
class PlacedWindow implements SlotView {
  private shown: { memory: PlaceMemory; place: Place } | undefined

  constructor(
    private readonly pages: MovingPages,
    private readonly take: () => PlaceMemory,
  ) {}

  get buffer(): ArrayBuffer {
    return this.show().memory.buffer
  }

  get at(): number {
    return this.show().place.at
  }

  show(): { memory: PlaceMemory; place: Place } {
    if (this.shown) return this.shown
    const memory = this.take()
    const place = memory.take()
    try {
      this.pages.show(place.address)
    } catch (error) {
      memory.leave()
      throw error
    }
    this.shown = { memory, place }
    return this.shown
  }

  detach(): void {
    if (this.shown === undefined) return
    this.pages.hide()
    this.shown.memory.leave()
    this.shown = undefined
  }

  close(): void {
    this.detach()
    this.pages.close()
  }
}
