/**
 * Reads the ranges of one claim: merges them, reads them into one buffer, and returns views in the order in which they were
 * asked for. A maker has one Reader for each ring; its buffer is used again for every claim, and grows to the largest.
 */
import { LIMITS, type MergeLimits, merge } from './merge.js'
import { type ByteRange, type Store, tooShort } from './store.js'

const EMPTY = new Uint8Array(0)
const ALIGN = 64 // each read begins on a cache line of its own

/** What was read since the beginning: `bytesRead / bytesUsed` is the price of merging. */
export interface ReadCounts {
  reads: number
  bytesRead: number
  bytesUsed: number
}

export class Reader {
  readonly counts: ReadCounts = { reads: 0, bytesRead: 0, bytesUsed: 0 }
  private readonly limits: MergeLimits
  private buffer: Uint8Array = new Uint8Array(0)

  constructor(
    private readonly store: Store,
    limits: Partial<MergeLimits> = {},
  ) {
    this.limits = { ...LIMITS, ...limits }
  }

  /** The bytes of each range, in input order. The views are valid until the next call. `reading` is told which range comes now. */
  read(ranges: readonly ByteRange[], reading?: (range: number) => void): Uint8Array[] {
    const { reads, first, of, offsets } = merge(ranges, this.limits)
    const starts = this.makeRoom(reads)
    for (let i = 0; i < reads.length; i++) {
      const { file, offset, length, was } = reads[i]
      reading?.(first[i])
      this.store.readSync(file, offset, this.buffer.subarray(starts[i], starts[i] + length), was)
      this.counts.bytesRead += length
    }
    this.counts.reads += reads.length
    return ranges.map(({ file, length, was }, i) => {
      // A file that was empty when it was indexed needs no read, but a look: it may have grown.
      if (length === 0 && was !== undefined) this.store.readSync(file, 0, EMPTY, was)
      this.counts.bytesUsed += length
      const start = of[i] < 0 ? 0 : starts[of[i]] + offsets[i]
      return this.buffer.subarray(start, start + length)
    })
  }

  /** Where each read goes in the buffer, which is made large enough. */
  private makeRoom(reads: readonly ByteRange[]): number[] {
    let end = 0
    const starts = reads.map(({ length }) => {
      const start = end
      end += Math.ceil(length / ALIGN) * ALIGN
      return start
    })
    if (end > this.buffer.length) {
      for (const read of reads) this.checkEnd(read)
      this.buffer = new Uint8Array(Math.max(end, 2 * this.buffer.length))
    }
    return starts
  }

  /** A torn index may ask for anything: no memory is taken for bytes that don't exist. */
  private checkEnd({ file, offset, length, was }: ByteRange): void {
    if (was !== undefined) this.store.readSync(file, 0, EMPTY, was)
    const size = this.store.sizeSync(file)
    if (offset + length > size) throw tooShort(file, offset, length, Math.max(0, size - offset))
  }
}
