/**
 * Brings the bytes of the rows of a claim. Ranges are planned first and read together; units that hold several
 * rows go through the block cache, so that each is read once among all makers.
 */
import type { Draw } from '../../order/order.js'
import type { BlockedSource } from '../../source/combine/blocks.js'
import type { ByteRange, Column, Source } from '../../source/source.js'
import { BlockCache, type BlockCacheData, type Lease, pack, packedBytes } from '../../store/block-cache.js'
import { atOnce, Reader } from '../../store/reader.js'
import { Stores } from '../../store/stores.js'
import type { Future } from './future.js'

/** The pieces of a row that needs none. */
const NOTHING: readonly Uint8Array[] = []

export class Fetcher {
  private readonly store = new Stores()
  private readonly reader = new Reader(this.store)
  private readonly cache: BlockCache | undefined
  private readonly future: Future | undefined
  // The present claim: for each row its draw, the pieces that hold it, or why they could not be read.
  private draws: readonly Draw[] = []
  private readonly pieces: (readonly Uint8Array[] | Error)[] = []
  /** Who finds a row in its pieces: its source; or, for a row read on its own out of a block, what lies within. */
  private readonly finders: Source[] = []
  private leases: Lease[] = []
  private reading: (i: number) => void = () => {}

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

  /**
   * Reads what the first `count` draws need. Rows whose bytes can't be read fail one by one, when they are asked for.
   * `reading` is told which of them is being read: a read may hang.
   */
  fetch(draws: readonly Draw[], count: number, reading: (i: number) => void): void {
    this.reading = reading
    this.releaseLeases()
    this.draws = draws
    for (let i = 0; i < count; i++) this.finders[i] = this.sources[draws[i].source]
    if (this.cache) this.fetchUnits(draws, count)
    else this.fetchRows(draws, count)
  }

  /** The columns of row i of the present claim. */
  sample(i: number): Record<string, Column> {
    const { source, row } = this.draws[i]
    const pieces = this.pieces[i]
    if (pieces instanceof Error) throw pieces
    return this.finders[i].sample(row, pieces, this.wanted(source))
  }

  /** Reads what was left where it is: a range that a column gave, straight into the slot. */
  readInto(range: ByteRange, into: Uint8Array): void | Promise<void> {
    return this.reader.readInto(range, into)
  }

  /** The columns of a source that are needed. */
  wanted(source: number): readonly string[] {
    return this.columns ?? this.sources[source].columns
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
    const rowOf = (range: number): number => ends.findIndex(end => end > range)
    if (ranges.length === 0) {
      this.pieces.fill(NOTHING, 0, count)
      for (let i = this.pieces.length; i < count; i++) this.pieces[i] = NOTHING
      return
    }
    try {
      const views = atOnce(this.reader.read(ranges, range => this.reading(rowOf(range))))
      for (let i = 0, from = 0; i < count; from = ends[i++]) {
        const { source, row } = draws[i]
        this.pieces[i] = loaded(this.sources[source], row, views.slice(from, ends[i]))
      }
    } catch {
      // One of them is bad: read them apart, so that the others are not blamed. The copies outlive the next read.
      for (let i = 0; i < count; i++)
        this.pieces[i] = this.readAlone(this.sources[draws[i].source], draws[i], i)
    }
  }

  private readAlone(from: Source, { source, row }: Draw, i: number): Uint8Array[] | Error {
    this.reading(i)
    try {
      const pieces = atOnce(this.reader.read(from.plan(from.unitOf(row), this.wanted(source))))
      return loaded(from, row, pieces).map(view => view.slice())
    } catch (error) {
      return error as Error
    }
  }

  /** Units hold several rows: each comes from the cache, read by the first worker that needs it. */
  private fetchUnits(draws: readonly Draw[], count: number): void {
    const held = new Map<number, readonly Uint8Array[] | Error | undefined>()
    for (let i = 0; i < count; i++) {
      const unit = this.future!.unit(draws[i])
      this.reading(i)
      if (!held.has(unit)) held.set(unit, this.unit(draws[i], unit))
      this.pieces[i] = held.get(unit) ?? this.readRow(draws[i], i)
    }
  }

  /** A row whose block has no room in the cache is read on its own. */
  private readRow(draw: Draw, i: number): Uint8Array[] | Error {
    const within = (this.sources[draw.source] as Partial<BlockedSource>).within!
    this.finders[i] = within
    return this.readAlone(within, draw, i)
  }

  /** The pieces of a unit; undefined when there is no room for a block of rows that can also be read one by one. */
  private unit(draw: Draw, unit: number): readonly Uint8Array[] | Error | undefined {
    const source = this.sources[draw.source]
    const own = source.unitOf(draw.row)
    const ranges = this.plan(draw)
    if (ranges.length === 0) return NOTHING
    const load = (): Uint8Array[] => loaded(source, draw.row, atOnce(this.reader.read(ranges)))
    try {
      const lease = this.cache!.use(unit, {
        bytes: source.loadedBytes?.(own) ?? packedBytes(ranges.map(range => range.length)),
        pieces: ranges.length,
        now: this.future!.now,
        nextUse: other => this.future!.next(other),
        load: into => pack(into, load()),
      })
      if (lease === undefined) return 'within' in source ? undefined : load().map(piece => piece.slice())
      this.leases.push(lease)
      return lease.pieces
    } catch (error) {
      return error as Error
    }
  }

  private plan({ source, row }: Draw): ByteRange[] {
    return this.sources[source].plan(this.sources[source].unitOf(row), this.wanted(source))
  }

  private releaseLeases(): void {
    for (const lease of this.leases) lease.release()
    this.leases = []
  }
}

/** What is kept of the unit that holds a row: what was read, or what its source makes of that. */
function loaded(source: Source, row: number, pieces: Uint8Array[]): Uint8Array[] {
  return source.load === undefined ? pieces : source.load(source.unitOf(row), pieces)
}
