/**
 * A maker's private workspace: a stretch of the ring's WebAssembly memory behind the slots, so that kernels can
 * read from it and write into a slot with plain pointers. Taken by bumping a pointer, given back all at once
 * when the row is done. When a picture does not fit, the memory grows and the maker moves to the new stretch.
 */
import { BudgetError } from '../../basics/errors.js'
import { addressOf } from '../native.js'

const ALIGN = 64 // one cache line; also enough for every SIMD load
const PAGE = 65536 // a page of WebAssembly memory

export class Workspace {
  /** Views of the whole memory; renewed when it grows. */
  u8: Uint8Array
  private next: number

  constructor(
    readonly memory: WebAssembly.Memory,
    private start: number,
    private end: number,
    /** Bytes that this workspace may reach at most. */
    readonly limit: number,
    /** Address of byte 0 of the memory in this process, for native libraries. */
    readonly address: bigint = addressOf(memory.buffer),
  ) {
    this.u8 = new Uint8Array(memory.buffer)
    this.next = start
  }

  /** A workspace of its own memory, for tests, for tools and for `workers: 0`. */
  static alone(bytes = 1 << 20, limit = 2 ** 31): Workspace {
    const pages = Math.ceil(bytes / PAGE)
    const memory = new WebAssembly.Memory({ initial: pages, maximum: Math.ceil(limit / PAGE), shared: true })
    return new Workspace(memory, ALIGN, pages * PAGE, limit)
  }

  /** A workspace behind everything else in the memory, which grows for it. */
  static behind(memory: WebAssembly.Memory, bytes: number, limit: number): Workspace {
    const at = memory.grow(Math.ceil(bytes / PAGE)) * PAGE
    return new Workspace(memory, at, at + bytes, limit)
  }

  /** Takes `bytes`, aligned to 64; returns their offset in the memory. Their contents are left over from earlier. */
  take(bytes: number): number {
    const at = this.next
    const after = at + Math.ceil(bytes / ALIGN) * ALIGN
    if (after > this.end) return this.grow(bytes)
    this.next = after
    return at
  }

  /** Offset to pass to `release`: everything taken after `mark()` goes back. */
  mark(): number {
    return this.next
  }

  release(mark: number): void {
    // After a move to a new stretch an old mark points elsewhere: then the new stretch just stays taken until reset.
    if (mark >= this.start && mark <= this.next) this.next = mark
  }

  /** Gives everything back. */
  reset(): void {
    this.next = this.start
  }

  /** Native address of an offset. */
  pointer(at: number): bigint {
    return this.address + BigInt(at)
  }

  private grow(bytes: number): number {
    const wanted = Math.ceil((bytes * 2 + (this.end - this.start)) / PAGE) * PAGE
    const needs = `a sample needs ${Math.ceil(wanted / 2 ** 20)} MiB of scratch memory, more than`
    if (wanted > this.limit) {
      throw new BudgetError(
        `${needs} the limit of ${Math.floor(this.limit / 2 ** 20)} MiB: shrink the sample, or raise the option "scratch"`,
      )
    }
    let before: number
    try {
      before = this.memory.grow(wanted / PAGE) * PAGE
    } catch (cause) {
      throw new BudgetError(
        `${needs} the memory of the batches has left: shrink the sample, or use fewer workers`,
        { cause },
      )
    }
    this.u8 = new Uint8Array(this.memory.buffer)
    this.start = before
    this.end = before + wanted
    this.next = before
    return this.take(bytes)
  }
}
