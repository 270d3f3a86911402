/** Memory of a GPU that has to grow becomes larger than was asked for, by this factor: batches of photographs differ. */
const GROWTH = 1.25

/** Scratch memory that grows to what is needed and then stays: a run in which batches are alike allocates nothing. */
export class DeviceMemory {
  private pointer = 0n
  private bytes = 0

  constructor(private readonly gpu: { allocate(bytes: number): bigint; free(pointer: bigint): void }) {}

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
