/**
 * The indexes of many files, as far as a thread has them open. It keeps those that it used last: each takes some 10 KiB of V8's
 * heap, and where it could not be mapped (system/memory/mmap.ts) the bytes of its file as well.
 */
import { copiedBytes } from '../system/memory/mmap.js'

/** Indexes that are kept at least, and copied bytes; at most it is twice as much. */
const KEPT = 8192
const KEPT_BYTES = 64 << 20

export class OpenIndexes<T> {
  private newer: (T | undefined)[]
  /** What was used before the newer ones were begun: taken over when it is asked for, or forgotten. */
  private older: (T | undefined)[] = []
  private count = 0
  private copiedBefore = copiedBytes()

  constructor(
    private readonly files: number,
    private readonly open: (file: number) => T,
  ) {
    this.newer = new Array(files)
  }

  of(file: number): T {
    return this.newer[file] ?? this.take(file)
  }

  private take(file: number): T {
    if (this.count >= KEPT || copiedBytes() - this.copiedBefore > KEPT_BYTES) {
      this.older = this.newer
      this.newer = new Array(this.files)
      this.count = 0
      this.copiedBefore = copiedBytes()
    }
    const index = this.older[file] ?? this.open(file)
    this.newer[file] = index
    this.count++
    return index
  }
}
