/** A memory with places, to which pages are moved for a program to see them. Each place is used once; then all are taken back. */
import { addressOf } from '../native.js'
import { MEMORY_LIMIT, newMemory, pages, vacate } from './memory.js'
import { GRAIN, nextGrain } from './moving.js'

/** Where pages are shown: as an offset in the memory's buffer, and as an address. */
export interface Place {
  at: number
  address: bigint
}

/** How many places for so many bytes one memory can have. */
export function placesFor(bytes: number): number {
  return Math.floor((MEMORY_LIMIT - GRAIN) / strideOf(bytes))
}

export class PlaceMemory {
  private readonly memory: WebAssembly.Memory
  private readonly address: bigint
  /** Where its first place begins. */
  private readonly first: number
  private readonly stride: number
  private taken = 0
  private inUse = 0

  constructor(
    bytes: number,
    private readonly places: number,
  ) {
    this.stride = strideOf(bytes)
    this.memory = newMemory(pages(GRAIN + places * this.stride))
    this.address = addressOf(this.memory.buffer)
    this.first = Number(nextGrain(this.address) - this.address)
  }

  get buffer(): ArrayBuffer {
    return this.memory.buffer
  }

  get full(): boolean {
    return this.taken === this.places
  }

  get vacant(): boolean {
    return this.inUse === 0
  }

  take(): Place {
    const at = this.first + this.taken++ * this.stride
    this.inUse++
    return { at, address: this.address + BigInt(at) }
  }

  /** Nothing is shown at one of its places any more. Views of it are still there. */
  leave(): void {
    this.inUse--
  }

  /** Takes every view back: growing by nothing gives the memory a new buffer. V8 counts that, and collects garbage. */
  renew(): void {
    this.memory.grow(0)
    this.taken = 0
  }

  /** From now on it has no views and no pages. */
  close(): void {
    if (this.taken > 0) this.renew()
    vacate(this.memory)
  }
}

/** Places are as far apart as that whole tables of pages can be moved. */
function strideOf(bytes: number): number {
  return Math.ceil(bytes / GRAIN) * GRAIN
}
