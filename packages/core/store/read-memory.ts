/**
 * Memory for what a claim reads and loads for itself. It is taken by moving a mark, and given back all at once when the claim is
 * done: new memory for every unit would be zeroed by the system page by page, which costs a third of what decompressing it does.
 */
const ALIGN = 64
const LEAST = 2 ** 20
/** Claims that did not need a chunk, after which it goes back to the system. */
const UNUSED = 64
/** Marks are a chunk's number times this, and an offset in it. */
const CHUNK = 2 ** 40

export class ReadMemory {
  private readonly chunks: Uint8Array[] = []
  private chunk = 0
  private at = 0
  /** The last chunk that this claim has used, and for how many claims fewer were enough. */
  private last = 0
  private unused = 0

  /** Some memory, with what earlier claims left in it. */
  take(bytes: number): Uint8Array {
    while (this.chunk < this.chunks.length && this.at + bytes > this.chunks[this.chunk].length) {
      this.chunk++
      this.at = 0
    }
    if (this.chunk === this.chunks.length) this.chunks.push(Buffer.allocUnsafeSlow(Math.max(bytes, LEAST)))
    this.last = Math.max(this.last, this.chunk)
    const { buffer } = this.chunks[this.chunk]
    const taken = new Uint8Array(buffer, this.at, bytes)
    this.at += Math.ceil(bytes / ALIGN) * ALIGN
    return taken
  }

  /** What is taken from now on can be given back by `release`. */
  mark(): number {
    return this.chunk * CHUNK + this.at
  }

  release(mark: number): void {
    this.chunk = Math.floor(mark / CHUNK)
    this.at = mark % CHUNK
  }

  /** The claim is done: all of it can be taken again. */
  reset(): void {
    const enough = this.last + 1
    this.unused = enough < this.chunks.length ? this.unused + 1 : 0
    if (this.unused > UNUSED) {
      this.chunks.length = enough
      this.unused = 0
    }
    this.chunk = this.at = this.last = 0
  }
}
