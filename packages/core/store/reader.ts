/**
 * Reads the ranges of one claim: merges them, reads them into one buffer, and returns views in the order in which they were
 * asked for. A maker has one Reader for each ring; its buffer is used again for every claim, and grows to the largest.
 *
 * What is at hand is read at once, one range after the other. Where a store has a range not at hand, the answer is a promise,
 * and all such ranges are in flight together.
 */
import { changed, named, readRange, type StoreOf } from './access.js'
import { type Merged, merge } from './merge.js'
import { type ByteRange, type MergeLimits, tooShort, type Version } from './store.js'

const EMPTY = new Uint8Array(0)
const ALIGN = 64 // each read begins on a cache line of its own

/** What was read since the beginning: `bytesRead / bytesUsed` is the price of merging. */
export interface ReadCounts {
  reads: number
  bytesRead: number
  bytesUsed: number
}

/** Told which range is being read: one that hangs can then be blamed. */
type Reading = (range: number) => void

export class Reader {
  readonly counts: ReadCounts = { reads: 0, bytesRead: 0, bytesUsed: 0 }
  private buffer: Uint8Array = new Uint8Array(0)
  private readonly limitsOf = (file: string): MergeLimits => this.stores.of(file).merge

  constructor(private readonly stores: StoreOf) {}

  /**
   * The bytes of each range, in input order. The views are valid until the next call. Where a promise is given, none of its
   * reads goes on after it has settled.
   */
  read(ranges: readonly ByteRange[], reading?: Reading): Uint8Array[] | Promise<Uint8Array[]> {
    const merged = merge(ranges, this.limitsOf)
    const { reads } = merged
    const starts = new Array<number>(reads.length)
    let end = 0
    for (let i = 0; i < reads.length; i++) {
      starts[i] = end
      end += Math.ceil(reads[i].length / ALIGN) * ALIGN
    }
    if (end > this.buffer.length) {
      const looks = this.checkEnds(reads)
      if (looks !== undefined)
        return looks.then(() => {
          this.buffer = new Uint8Array(Math.max(end, 2 * this.buffer.length))
          return this.fill(ranges, merged, starts, reading)
        })
      this.buffer = new Uint8Array(Math.max(end, 2 * this.buffer.length))
    }
    return this.fill(ranges, merged, starts, reading)
  }

  /**
   * Tells the stores of ranges that will be read together later: of the reads that this will take, but not of the first
   * `unsaid`, and of so many bytes at most.
   */
  hint(ranges: readonly ByteRange[], unsaid = 0, bytes = Number.POSITIVE_INFINITY): void {
    const { reads } = merge(ranges, this.limitsOf)
    let left = bytes
    for (let i = unsaid; i < reads.length && left > 0; i++) {
      const read = reads[i]
      if (read.length > left) read.length = left
      this.stores.of(read.file).hint?.(read)
      left -= read.length
    }
  }

  /** Reads one range into memory of the caller's. */
  readInto(range: ByteRange, into: Uint8Array): void | Promise<void> {
    this.counts.reads++
    this.counts.bytesRead += range.length
    this.counts.bytesUsed += range.length
    return this.readOne(range, into.length === range.length ? into : into.subarray(0, range.length))
  }

  /** Whether the store of an object reads in this thread, mostly. */
  isAtHand(file: string): boolean {
    return this.stores.of(file).readNow !== undefined
  }

  /** Reads bytes that are at hand, into memory of the caller's; `checkUnchanged` tells later of which version they were. */
  readNow(file: string, offset: number, into: Uint8Array): boolean {
    if (this.stores.of(file).readNow?.(file, offset, into) !== true) return false
    const { counts } = this
    counts.reads++
    counts.bytesRead += into.length
    counts.bytesUsed += into.length
    return true
  }

  /** Throws where an object is not what it was when it was indexed. */
  checkUnchanged(file: string, was: Version | undefined): void {
    if (was !== undefined) this.stores.of(file).readNow?.(file, 0, EMPTY, was)
  }

  private fill(
    ranges: readonly ByteRange[],
    { reads, first, of, offsets }: Merged,
    starts: readonly number[],
    reading?: Reading,
  ): Uint8Array[] | Promise<Uint8Array[]> {
    const { buffer } = this
    const flight = new Flight(reading)
    let views: Uint8Array[] = []
    let failure: { error: unknown } | undefined
    try {
      for (let i = 0; i < reads.length; i++) {
        const { length } = reads[i]
        reading?.(first[i])
        flight.add(first[i], this.readOne(reads[i], buffer.subarray(starts[i], starts[i] + length)))
        this.counts.bytesRead += length
      }
      this.counts.reads += reads.length
      views = ranges.map((range, i) => {
        const { length, was } = range
        // A file that was empty when it was indexed needs no read, but a look: it may have grown.
        if (length === 0 && was !== undefined) flight.add(i, this.readOne(range, EMPTY))
        this.counts.bytesUsed += length
        const start = of[i] < 0 ? 0 : starts[of[i]] + offsets[i]
        return buffer.subarray(start, start + length)
      })
    } catch (error) {
      if (flight.empty) throw error
      failure = { error }
    }
    if (flight.empty) return views
    // Until the reads have ended, they alone write to this buffer: another claim takes another one.
    this.buffer = EMPTY
    return flight.landed().then(error => {
      if (buffer.length > this.buffer.length) this.buffer = buffer
      if (failure ?? error) throw (failure ?? error)?.error
      return views
    })
  }

  private readOne(range: ByteRange, into: Uint8Array): undefined | Promise<void> {
    const { file, offset, was } = range
    const store = this.stores.of(file)
    try {
      if (store.readNow?.(file, offset, into, was)) return undefined
    } catch (error) {
      throw named(error, range)
    }
    return readRange(this.stores, range, into)
  }

  /** A torn index may ask for anything: no memory is taken for bytes that don't exist. */
  private checkEnds(reads: readonly ByteRange[]): undefined | Promise<unknown> {
    const looks: Promise<void>[] = []
    for (const read of reads) {
      const { file, offset, length, was } = read
      const store = this.stores.of(file)
      const check = (bytes: number): void => {
        if (offset + length > bytes) throw tooShort(file, offset, length, Math.max(0, bytes - offset))
      }
      if (store.statNow === undefined) {
        const look = store.stat(file).catch(error => {
          throw named(error, read)
        })
        looks.push(
          look.then(({ bytes, version }) => {
            if (typeof was === 'string' && version !== was) throw changed(read, `it is version ${version}`)
            check(bytes)
          }),
        )
        continue
      }
      if (was !== undefined) store.readNow?.(file, 0, EMPTY, was)
      check(store.statNow(file).bytes)
    }
    return looks.length === 0 ? undefined : Promise.all(looks)
  }
}

/** The reads of a claim that are under way, by the range that each begins with. */
class Flight {
  private reads: Map<number, Promise<void>> | undefined
  private failure: { error: unknown } | undefined

  constructor(private readonly reading?: Reading) {}

  get empty(): boolean {
    return this.reads === undefined
  }

  add(range: number, read: Promise<void> | undefined): void {
    if (read === undefined) return
    const reads = (this.reads ??= new Map())
    const ended = read
      .catch(error => {
        this.failure ??= { error }
      })
      .then(() => {
        reads.delete(range)
        const [next] = reads.keys()
        if (next !== undefined) this.reading?.(next)
      })
    reads.set(range, ended)
  }

  /** Settles when all have ended: with the first error, if there was one. */
  async landed(): Promise<{ error: unknown } | undefined> {
    await Promise.all(this.reads?.values() ?? [])
    return this.failure
  }
}
