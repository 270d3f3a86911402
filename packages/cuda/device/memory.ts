/** The memory of a stage: on the device, and slots of the host. */
import { CudaError, type Gpu } from '../driver/index.js'

/** Memory that has to grow becomes larger than was asked for, by this factor: batches of photographs differ. */
const GROWTH = 1.25

/** Scratch memory that grows to what is needed and then stays: a run in which batches are alike allocates nothing. */
export class DeviceMemory {
  private pointer = 0n
  private bytes = 0

  constructor(private readonly gpu: Gpu) {}

  /** Memory of at least that size. Its contents may be gone; freeing the former memory waits for the work that still uses it. */
  atLeast(bytes: number): bigint {
    if (bytes > this.bytes) {
      const wanted = this.bytes === 0 ? bytes : Math.ceil(bytes * GROWTH)
      this.free()
      this.pointer = this.gpu.allocate(wanted)
      this.bytes = wanted
    }
    return this.pointer
  }

  free(): void {
    if (this.bytes > 0) this.gpu.free(this.pointer)
    this.pointer = 0n
    this.bytes = 0
  }
}

/**
 * Page-locks slots, once each, when they are first used: those beyond the depth have no memory. Copies from them then run
 * beside everything else, at the speed of the bus. Takes about 0.2 s a GiB.
 */
export class SlotPins {
  private readonly locked = new Map<number, bigint>()
  private refused = false

  constructor(
    private readonly gpu: Gpu,
    private readonly bytes: number,
    private readonly addressOf: (slot: number) => bigint,
  ) {}

  /** If it can't be done, copies are slower, and nothing else. */
  lock(slot: number): void {
    if (this.refused || this.locked.has(slot)) return
    const address = this.addressOf(slot)
    try {
      this.gpu.lock(address, this.bytes)
      this.locked.set(slot, address)
    } catch (error) {
      if (!(error instanceof CudaError)) throw error
      this.refused = true
      process.emitWarning(`slots can't be page-locked (${error.message}): copies to the GPU are slower`)
    }
  }

  free(): void {
    for (const address of this.locked.values()) this.gpu.unlock(address)
    this.locked.clear()
  }
}
