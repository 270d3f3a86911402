/** Which of several files holds a row: the rows of the first file come first, then those of the second, and so on. */
import { copiedBytes } from '../../core/system/memory/mmap.js'

export class FileRows {
  readonly count: number
  /** First row of each file that has any. */
  readonly runs: Float64Array
  /** First row of each file, and the count at the end. */
  readonly starts: Float64Array
  /** The file that `locate` found last: the next row is mostly there too. */
  file = 0

  constructor(counts: readonly number[]) {
    this.starts = new Float64Array(counts.length + 1)
    counts.forEach((count, i) => {
      this.starts[i + 1] = this.starts[i] + count
    })
    this.count = this.starts[counts.length]
    this.runs = this.starts.filter((_, i) => counts[i] > 0)
  }

  /** Sets `file` to the file that holds a row; gives the number of the row in it. */
  locate(row: number): number {
    const { starts } = this
    if (!(row >= starts[this.file] && row < starts[this.file + 1])) {
      let low = 0
      let high = starts.length - 1
      while (high - low > 1) {
        const middle = (low + high) >>> 1
        if (starts[middle] <= row) low = middle
        else high = middle
      }
      this.file = low
    }
    return row - starts[this.file]
  }
}

/** Indexes that are kept at least, and copied bytes; at most it is twice as much. To open one again takes some 0.1 ms. */
const KEPT = 16_384
const KEPT_BYTES = 64 << 20

/**
 * The indexes of many files, as far as a thread has them open. It keeps those that it used last: each takes some 5 KiB of V8's
 * heap, and where it could not be mapped (system/memory/mmap.ts) the bytes of its file as well.
 */
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
