/**
 * Page-locks slots, once each, when they are first used: those beyond the depth have no memory. Copies from them then run
 * beside everything else, at the speed of the bus. Takes about 0.2 s a GiB.
 */
import { CudaError, type Gpu } from '../driver/index.js'

export class SlotPins {
  private readonly locked = new Map<number, bigint>()
  private refused = false

  constructor(
    private readonly gpu: Gpu,
    private readonly bytes: number,
    private readonly addressOf: (slot: number) => bigint,
  ) {}

  /** Where it can't be done copies are slower, and nothing else. */
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
