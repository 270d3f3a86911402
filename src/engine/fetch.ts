/**
 * Brings the bytes of the rows of a claim. Ranges are planned first and read together; units that hold several
 * rows go through the block cache, so that each is read once among all makers.
 */
import type { Draw } from '../order/order.js'
import type { ByteRange, Column, Source } from '../source/source.js'
import { BlockCache, type BlockCacheData, type Lease, pack, packedBytes } from '../store/block-cache.js'
import { FileStore } from '../store/file.js'
import { Reader } from '../store/reader.js'
import type { Future } from './future.js'

export class Fetcher {
  private readonly store = new FileStore()
  private readonly reader = new Reader(this.store)
  private readonly cache: BlockCache | undefined
  private readonly future: Future | undefined
  // The present claim: for each row its draw, the pieces that hold it, or why they could not be read.
  private draws: readonly Draw[] = []
  private readonly pieces: (readonly Uint8Array[] | Error)[] = []
  private leases: Lease[] = []

  constructor(
    private readonly sources: readonly Source[],
    /** The columns that are needed; undefined means all of them. */
    private readonly columns: readonly string[] | undefined,
    maker: number,
    cache?: { data: BlockCacheData; future: Future },
  ) {
    this.cache = cache && new BlockCache(cache.data, maker)
    this.future = cache?.future
  }

  get counts(): Reader['counts'] {
    return this.reader.counts
  }

  /** Reads what the first `count` draws need. Rows whose bytes can't be read fail one by one, when they are asked for. */
  fetch(draws: readonly Draw[], count: number): void {
    this.releaseLeases()
    this.draws = draws
    if (this.cache) this.fetchUnits(draws, count)
    else this.fetchRows(draws, count)
  }

  /** The columns of row i of the present claim. */
  sample(i: number): Record<string, Column> {
    const { source, row } = this.draws[i]
    const pieces = this.pieces[i]
    if (pieces instanceof Error) throw pieces
    return this.sources[source].sample(row, pieces, this.wanted(source))
  }

  close(): void {
    this.releaseLeases()
    this.store.close()
  }

  /** Every row is its own unit: all ranges in one merged read. */
  private fetchRows(draws: readonly Draw[], count: number): void {
    const ranges: ByteRange[] = []
    const ends: number[] = []
    for (let i = 0; i < count; i++) {
      ranges.push(...this.plan(draws[i]))
      ends[i] = ranges.length
    }
    try {
      const views = this.reader.read(ranges)
      for (let i = 0, from = 0; i < count; from = ends[i++]) this.pieces[i] = views.slice(from, ends[i])
    } catch {
      // One of them is bad: read them apart, so that the others are not blamed. The copies outlive the next read.
      for (let i = 0; i < count; i++) this.pieces[i] = this.readAlone(this.plan(draws[i]))
    }
  }

  private readAlone(ranges: ByteRange[]): Uint8Array[] | Error {
    try {
      return this.reader.read(ranges).map(view => view.slice())
    } catch (error) {
      return error as Error
    }
  }

  /** Units hold several rows: each comes from the cache, read by whoever is first. */
  private fetchUnits(draws: readonly Draw[], count: number): void {
    const held = new Map<number, readonly Uint8Array[] | Error>()
    for (let i = 0; i < count; i++) {
      const unit = this.future!.unit(draws[i])
      let pieces = held.get(unit)
      if (pieces === undefined) held.set(unit, (pieces = this.unit(draws[i], unit)))
      this.pieces[i] = pieces
    }
  }

  private unit(draw: Draw, unit: number): readonly Uint8Array[] | Error {
    const source = this.sources[draw.source]
    const own = source.unitOf(draw.row)
    const ranges = this.plan(draw)
    if (ranges.length === 0) return []
    const load = (): Uint8Array[] => {
      const pieces = this.reader.read(ranges)
      return source.load ? source.load(own, pieces) : pieces
    }
    try {
      const lease = this.cache!.use(unit, {
        bytes: source.loadedBytes?.(own) ?? packedBytes(ranges.map(range => range.length)),
        pieces: ranges.length,
        now: this.future!.now,
        nextUse: other => this.future!.next(other),
        load: into => pack(into, load()),
      })
      if (lease === undefined) return load().map(piece => piece.slice())
      this.leases.push(lease)
      return lease.pieces
    } catch (error) {
      return error as Error
    }
  }

  private plan({ source, row }: Draw): ByteRange[] {
    return this.sources[source].plan(this.sources[source].unitOf(row), this.wanted(source))
  }

  private wanted(source: number): readonly string[] {
    return this.columns ?? this.sources[source].columns
  }

  private releaseLeases(): void {
    for (const lease of this.leases) lease.release()
    this.leases = []
  }
}
