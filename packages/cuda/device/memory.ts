/** Scratch memory that grows to what is needed and then stays: a run in which batches are alike allocates nothing. */
import type { Gpu } from '../driver/index.js'

/** Memory that has to grow gets a little more than was asked for: batches of photographs differ. */
const SPARE = 1.25

export class DeviceMemory {
  private pointer = 0n
  private bytes = 0

  constructor(private readonly gpu: Gpu) {}

  /** At least so many bytes. What was there before may be gone; freeing it waits for the work that still uses it. */
  atLeast(bytes: number): bigint {
    if (bytes > this.bytes) {
      const wanted = this.bytes === 0 ? bytes : Math.ceil(bytes * SPARE)
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
