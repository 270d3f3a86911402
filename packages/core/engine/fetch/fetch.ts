/**
 * Brings the bytes of the rows of a claim. What the rows need is planned first and read together; what they share with other
 * rows comes out of the cache (cached.ts), so that it is read once among all makers.
 *
 * Bytes that are at hand are read at once. Where a store has to be waited for, the answer is a promise.
 */
import { after, asError, attempt, type Maybe, togetherToTheEnd } from '../../basics/maybe.js'
import type { CompiledOrder } from '../../order/compile.js'
import type { Draw } from '../../order/order.js'
import { checkRange, loadUnit, plannedUnit, unitBytes } from '../../source/load-unit.js'
import type { ByteRange, Column, Need, Pieces, Source, UnitRef } from '../../source/source.js'
import { ReadMemory } from '../../store/read-memory.js'
import { Reader } from '../../store/reader.js'
import { Stores } from '../../store/stores.js'
import type { CacheHandle } from '../plan/job.js'
import { Ahead, type Later } from './ahead.js'
import { Cached, type UnitColumns } from './cached.js'

/** What a row without units has of them, and what a row has that needs nothing. */
const NONE: readonly Uint8Array[][] = []
const NOTHING: Pieces = { ranges: [], units: NONE }
const NO_UNITS: readonly number[] = []

/** Setting the length of an array that is empty anyway is not free. */
function clear(need: Need): void {
  if (need.ranges.length > 0) need.ranges.length = 0
  if (need.units.length > 0) need.units.length = 0
}

export class Fetcher {
  private readonly stores = new Stores()
  readonly reader = new Reader(this.stores)
  private readonly cached: Cached | undefined
  private readonly memory = new ReadMemory()
  // The present claim: what all its rows need, and where the needs of each end.
  private draws: readonly Draw[] = []
  private epoch = 0
  private readonly need: Need = { ranges: [], units: [] }
  /** What a later claim will need. */
  private readonly later: Need = { ranges: [], units: [] }
  private readonly rangeEnds: number[] = []
  private readonly unitEnds: number[] = []
  /** For each row the numbers of its block and of its units in the cache. */
  private readonly blocks: number[] = []
  private readonly units: (readonly number[])[] = []
  /** Of a row that needs one unit and nothing else: the number of that. Else −1. */
  private readonly only: number[] = []
  /** Of a row whose samples are as in its unit: its number there. Else −1. */
  private readonly rowsInUnits: number[] = []
  /** For each row what was brought for it, or why it could not be. */
  private readonly got: (Pieces | Error)[] = []
  /** Rows of which it can't be said what they need. */
  private readonly unplanned = new Map<number, Error>()
  private reading: (i: number) => void = () => {}
  /** Sources that go by epochs of their own. */
  private readonly own: readonly boolean[]

  constructor(
    private readonly sources: readonly Source[],
    /** The columns that are needed; undefined means all of them. */
    private readonly columns: readonly string[] | undefined,
    maker: number,
    cache?: { handle: CacheHandle; order: CompiledOrder },
    private readonly ahead = new Ahead({ chunks: 1, chunkRows: 1, rows: 1 }),
  ) {
    this.own = sources.map(source => source.movesWithEpoch === 'own')
    const wanted = (source: number): readonly string[] => this.wanted(source)
    this.cached =
      cache && new Cached(cache.handle, maker, cache.order, sources, wanted, this.reader, this.memory)
  }

  get counts(): Reader['counts'] {
    return this.reader.counts
  }

  /**
   * Reads what the first `count` draws of an epoch need. Rows whose bytes can't be read fail one by one, when they are asked
   * for. `reading` is told which of them is being read: a read may hang. `passed`: all rows before this position of the feed
   * are made.
   */
  fetch(
    draws: readonly Draw[],
    count: number,
    epoch: number,
    reading: (i: number) => void,
    passed = 0,
  ): Maybe<void> {
    this.release()
    this.reading = reading
    this.draws = draws
    this.epoch = epoch
    this.plan(count)
    if (this.cached !== undefined) return this.fetchShared(this.cached, count, passed)
    return this.need.units.length === 0 ? this.fetchRanges(count) : this.fetchAlone(count)
  }

  /**
   * Tells the stores what rows of a later claim will need for themselves; but not of the first read, if that is to be timed.
   * What rows share is read in large pieces. By their time, a disk can't be told from memory, so there are no hints of these.
   */
  hint({ draws, count, epoch }: Later, timed: boolean): void {
    if (this.cached !== undefined) return
    const { later } = this
    clear(later)
    try {
      for (let i = 0; i < count; i++) {
        const draw = draws[i]
        const { source, row } = draw
        this.sources[source].need(row, this.epochOf(draw, epoch), this.wanted(source), later)
      }
    } catch {
      return // what is wrong with a row is said when it is made
    }
    if (later.ranges.length > 0) this.reader.hint(later.ranges, timed ? 1 : 0, this.ahead.bytes)
  }

  /** The columns of row i of the present claim. */
  sample(i: number): Record<string, Column> {
    const draw = this.draws[i]
    const { source, row } = draw
    const got = this.unplanned.get(i) ?? this.got[i]
    if (got instanceof Error) throw got
    return this.sources[source].sample(row, this.epochOf(draw, this.epoch), this.wanted(source), got)
  }

  /** The epoch that a source is asked with: the feed's, or its own. */
  private epochOf({ source, epoch: own }: Draw, epoch: number): number {
    return this.own[source] ? own : epoch
  }

  /**
   * The columns of the unit that holds row i of the present claim, and nothing else does; `rowInUnit` of them is its own.
   * Undefined: `sample` is to be asked.
   */
  unitColumns(i: number): UnitColumns | undefined {
    const { source } = this.draws[i]
    if (this.cached === undefined || this.only[i] < 0 || this.sources[source].asInUnits !== true)
      return undefined
    return this.rowsInUnits[i] < 0 ? undefined : this.cached.columns(this.only[i])
  }

  rowInUnit(i: number): number {
    return this.rowsInUnits[i]
  }

  /** Reads what was left where it is: a range that a column gave, straight into the slot. */
  readInto(range: ByteRange, into: Uint8Array): void | Promise<void> {
    return this.reader.readInto(range, into)
  }

  /** The columns of a source that are needed. */
  wanted(source: number): readonly string[] {
    return this.columns ?? this.sources[source].columns
  }

  /** The present claim is done: what it has of the cache goes back. */
  release(): void {
    this.cached?.begin()
    this.memory.reset()
  }

  close(): void {
    this.cached?.close()
    this.stores.close()
  }

  private plan(count: number): void {
    const { need, rangeEnds, unitEnds, sources, draws, epoch } = this
    clear(need)
    if (this.unplanned.size > 0) this.unplanned.clear()
    for (let i = 0; i < count; i++) {
      const draw = draws[i]
      const { source, row } = draw
      const ranges = need.ranges.length
      const units = need.units.length
      need.row = -1
      try {
        sources[source].need(row, this.epochOf(draw, epoch), this.wanted(source), need)
        for (let k = ranges; k < need.ranges.length; k++) checkRange(need.ranges[k])
      } catch (error) {
        // It fails when it is asked for, like one that can't be read. Until then it needs nothing.
        need.ranges.length = ranges
        need.units.length = units
        this.unplanned.set(i, asError(error))
      }
      rangeEnds[i] = need.ranges.length
      unitEnds[i] = need.units.length
      this.rowsInUnits[i] = need.row
    }
  }

  private rangesOf(i: number): ByteRange[] {
    return this.need.ranges.slice(this.rangeEnds[i - 1] ?? 0, this.rangeEnds[i])
  }

  private unitsOf(i: number): UnitRef[] {
    return this.need.units.slice(this.unitEnds[i - 1] ?? 0, this.unitEnds[i])
  }

  // ---------------------------------------------------------------- rows that share nothing

  /** All ranges in one merged read. */
  private fetchRanges(count: number): Maybe<void> {
    const { got, rangeEnds } = this
    const { ranges } = this.need
    if (ranges.length === 0) {
      for (let i = 0; i < count; i++) got[i] = NOTHING
      return
    }
    const reading = (range: number): void => {
      this.ahead.mark(this.counts.bytesRead)
      this.reading(rangeEnds.findIndex(end => end > range))
    }
    return attempt(
      () =>
        after(this.reader.read(ranges, reading), views => {
          this.ahead.mark(this.counts.bytesRead)
          for (let i = 0; i < count; i++)
            got[i] = { ranges: views.slice(rangeEnds[i - 1] ?? 0, rangeEnds[i]), units: NONE }
        }),
      // One of them is bad: they are read apart, so that the others are not blamed.
      () => this.fetchAlone(count),
    )
  }

  /** Each row for itself, one after the other. */
  private fetchAlone(count: number, from = 0): Maybe<void> {
    for (let i = from; i < count; i++) {
      const alone = this.alone(i)
      if (!(alone instanceof Promise)) this.got[i] = alone
      else
        return alone.then(got => {
          this.got[i] = got
          return this.fetchAlone(count, i + 1)
        })
    }
  }

  /** What a row needs, in memory of its own. */
  private alone(i: number): Maybe<Pieces | Error> {
    this.reading(i)
    return attempt(
      () =>
        after(this.ownRanges(this.rangesOf(i)), ranges =>
          after(togetherToTheEnd(this.unitsOf(i).map(ref => () => this.ownUnit(ref))), units => ({
            ranges,
            units,
          })),
        ),
      error => error,
    )
  }

  private ownRanges(ranges: readonly ByteRange[]): Maybe<readonly Uint8Array[]> {
    if (ranges.length === 0) return []
    return after(this.reader.read(ranges), views =>
      views.map(view => {
        const own = this.memory.take(view.length)
        own.set(view)
        return own
      }),
    )
  }

  private ownUnit(ref: UnitRef): Maybe<readonly Uint8Array[]> {
    const ranges = plannedUnit(ref)
    return loadUnit(this.reader, ref, ranges, this.memory.take(unitBytes(ref, ranges)), this.memory)
  }

  // ---------------------------------------------------------------- rows that share blocks or units

  private fetchShared(cached: Cached, count: number, passed: number): Maybe<void> {
    const { draws, blocks, units, only } = this
    for (let i = 0; i < count; i++) {
      const draw = draws[i]
      if (this.needsOneUnit(i)) {
        blocks[i] = -1
        units[i] = NO_UNITS
        only[i] = this.wantOnly(cached, draw, i)
        continue
      }
      only[i] = -1
      const inBlock =
        cached.blocks[draw.source] !== undefined && this.rangeEnds[i] > (this.rangeEnds[i - 1] ?? 0)
      blocks[i] = inBlock ? this.wantBlock(cached, draw, i) : -1
      units[i] = this.need.units.length === 0 ? NO_UNITS : this.wantUnits(cached, draw, i)
    }
    const brought = cached.bring(draws[0], passed, this.reading)
    return brought instanceof Promise
      ? brought.then(() => this.divide(cached, count))
      : this.divide(cached, count)
  }

  /** The block of a row; none where another row of the block does not say what it needs. */
  private wantBlock(cached: Cached, draw: Draw, i: number): number {
    try {
      return cached.wantBlock(draw, i, this.epochOf(draw, this.epoch))
    } catch {
      return -1
    }
  }

  private needsOneUnit(i: number): boolean {
    const ranges = i === 0 ? 0 : this.rangeEnds[i - 1]
    const units = i === 0 ? 0 : this.unitEnds[i - 1]
    return this.rangeEnds[i] === ranges && this.unitEnds[i] === units + 1
  }

  private wantOnly(cached: Cached, draw: Draw, i: number): number {
    try {
      return cached.wantUnit(this.need.units[this.unitEnds[i] - 1], draw, i)
    } catch (error) {
      this.unplanned.set(i, asError(error))
      return -1
    }
  }

  private wantUnits(cached: Cached, draw: Draw, i: number): readonly number[] {
    try {
      return this.unitsOf(i).map(ref => cached.wantUnit(ref, draw, i))
    } catch (error) {
      this.unplanned.set(i, asError(error))
      return NO_UNITS
    }
  }

  /** Gives each row its part of what was brought for the claim. */
  private divide(cached: Cached, count: number): Maybe<void> {
    const rest: Promise<void>[] = []
    for (let i = 0; i < count; i++) {
      const only = this.only[i]
      const alone = only < 0 ? undefined : cached.alone(only)
      if (alone !== undefined) {
        this.got[i] = alone
        continue
      }
      const pieces = this.sharedPieces(cached, i, this.blocks[i], only < 0 ? this.units[i] : [only])
      if (!(pieces instanceof Promise)) this.got[i] = pieces
      else rest.push(pieces.then(got => void (this.got[i] = got)))
    }
    if (rest.length > 0) return Promise.all(rest).then(() => undefined)
  }

  /** The pieces of a row out of what it shares. What the cache has no room for, or could not read as a block, is read alone. */
  private sharedPieces(
    cached: Cached,
    i: number,
    block: number,
    units: readonly number[],
  ): Maybe<Pieces | Error> {
    if (units.length === 0 && block >= 0) {
      const ranges = this.piecesOf(cached, i, block)
      if (ranges !== undefined) return { ranges, units: NONE }
    }
    const shared = units.map(number => cached.shared(number))
    const failed = shared.find(pieces => pieces instanceof Error)
    if (failed !== undefined) return failed
    return attempt(
      () => {
        const read = block < 0 ? undefined : this.piecesOf(cached, i, block)
        return after(read ?? this.ownRanges(this.rangesOf(i)), ranges => {
          const refs = this.unitsOf(i)
          const load = shared.map(
            (pieces, k) => () => (pieces as readonly Uint8Array[]) ?? this.ownUnit(refs[k]),
          )
          return after(togetherToTheEnd(load), units => ({ ranges, units }))
        })
      },
      error => error,
    )
  }

  /** A row's own ranges, out of its block; undefined where that is not there. */
  private piecesOf(cached: Cached, i: number, block: number): Uint8Array[] | undefined {
    const pieces: Uint8Array[] = []
    for (let range = this.rangeEnds[i - 1] ?? 0; range < this.rangeEnds[i]; range++) {
      const piece = cached.piece(block, this.need.ranges[range])
      if (piece === undefined) return undefined
      pieces.push(piece)
    }
    return pieces
  }
}
