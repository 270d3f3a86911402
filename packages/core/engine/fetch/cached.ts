/**
 * What rows share, out of the cache: blocks of rows (windowed orders) and units of many rows. A claim takes all that it needs,
 * loads what is not there, all of it together, and only then waits for what other makers load: so no two wait for each other.
 */

import { SourceError } from '../../basics/errors.js'
import { after, attempt, type Maybe, together } from '../../basics/maybe.js'
import { MAX_MAKERS } from '../../batch/ring.js'
import type { CompiledOrder } from '../../order/compile.js'
import type { Draw } from '../../order/order.js'
import type { UnitColumn } from '../../source/columnar/view.js'
import { bytesOf, loadUnit, plannedUnit, readPacked, unitBytes } from '../../source/load-unit.js'
import type { ByteRange, Leaf, Pieces, Source, UnitRef } from '../../source/source.js'
import { leavesOf } from '../../source/source-wrapper.js'
import { BlockCache, type Lease, type Taken, type UnitRequest } from '../../store/block-cache.js'
import type { ReadMemory } from '../../store/read-memory.js'
import type { Reader } from '../../store/reader.js'
import type { CacheHandle } from '../plan/job.js'
import { Future } from './future.js'
import { blocksOf, pieceOf, RowBlocks } from './row-blocks.js'

/** Pieces that a loaded unit of a few columns may have, and one of many for each: its list of them is kept beside it. */
const MOST_PIECES = 1024

const NO_RANGES: readonly Uint8Array[] = []

/** Pieces of something shared; undefined: there is no room for it; an error: it can't be read. */
export type Shared = readonly Uint8Array[] | Error | undefined

/** How something that rows share is brought. */
interface Plan {
  /** What is read of it. */
  ranges: readonly ByteRange[]
  /** What it takes in the cache: bytes, and pieces at most. */
  bytes: number
  pieces: number
  load(into: Uint8Array): Maybe<readonly Uint8Array[]>
}

/** Something that the rows of a claim share. */
interface Wanted {
  number: number
  source: number
  user: number
  row: number
  plan: Plan
  /** Of a unit: by which it was asked for. */
  ref?: UnitRef
  /** Once it was taken. */
  taken?: Taken
  shared: Shared
  /** What a row has that needs it alone; made for the first such row. */
  alone?: Pieces
  /** The columns of a unit, where its leaf tells them; found when they are first asked for. */
  columns?: UnitColumns
}

/** Columns of a unit, one for each that was asked for. */
export type UnitColumns = readonly (UnitColumn | undefined)[]

/** Plans of units that are kept: those of a window, mostly. */
const KEPT_PLANS = 64

export class Cached {
  private readonly cache: BlockCache
  private readonly future: Future
  /** Blocks of each source that a windowed order reads. */
  readonly blocks: (RowBlocks | undefined)[]
  /** The first number of each source's blocks, and of each leaf's units, as the cache counts them. */
  private readonly firstBlocks: number[] = []
  private readonly firstUnits = new Map<Leaf, number>()
  /** How many there are of all of them. */
  private readonly numbers: number
  /** What the claim needs, by number, and in the order in which it was asked for. */
  private readonly wanted = new Map<number, Wanted>()
  private readonly list: Wanted[] = []
  private readonly leases: Lease[] = []
  /** Plans of the units that were asked for last, each with the reference by which it was. */
  private readonly plans: ({ ref: UnitRef; plan: Plan } | undefined)[] = new Array(KEPT_PLANS)
  private closed = false
  /** What is asked of the cache, one after the other. */
  private readonly request: { -readonly [Name in keyof UnitRequest]: UnitRequest[Name] } = {
    bytes: 0,
    pieces: 0,
    user: 0,
    now: [],
    nextUse: (user, now) => this.future.next(user, now),
  }

  constructor(
    private readonly handle: CacheHandle,
    maker: number,
    order: CompiledOrder,
    private readonly sources: readonly Source[],
    columns: (source: number) => readonly string[],
    private readonly reader: Reader,
    private readonly memory: ReadMemory,
  ) {
    this.cache = new BlockCache(handle.data, handle.alone ? MAX_MAKERS + handle.ring : maker)
    this.future = new Future(order, sources)
    this.blocks = sources.map((source, i) => {
      const blocks = blocksOf(order.sources[i])
      return blocks && new RowBlocks(source, columns(i), blocks)
    })
    let first = 0
    sources.forEach((source, i) => {
      this.firstBlocks[i] = first
      first += this.blocks[i]?.count ?? 0
      for (const leaf of leavesOf(source) ?? []) {
        if (this.firstUnits.has(leaf)) continue
        this.firstUnits.set(leaf, first)
        first += leaf.unitStarts.length
      }
    })
    this.numbers = first
  }

  /** Forgets the claim before. */
  begin(): void {
    for (const lease of this.leases) lease.release()
    this.leases.length = this.list.length = 0
    this.wanted.clear()
  }

  /** The block that holds a row's own ranges; the claim needs it. */
  wantBlock(draw: Draw, i: number, epoch: number): number {
    const blocks = this.blocks[draw.source]!
    const block = blocks.blockOf(draw.row)
    // Where rows need other bytes in another epoch, the same block is something else there.
    const moved = this.sources[draw.source].movesWithEpoch ? epoch * this.numbers : 0
    const number = this.firstBlocks[draw.source] + block + moved
    if (!this.wanted.has(number)) {
      const ranges = blocks.plan(block, epoch)
      this.want({
        number,
        source: draw.source,
        user: this.future.user(draw, 'block'),
        row: i,
        plan: {
          ranges,
          bytes: bytesOf(ranges),
          pieces: ranges.length,
          load: into => readPacked(this.reader, ranges, into),
        },
        shared: undefined,
      })
    }
    return number
  }

  private want(one: Wanted): void {
    this.wanted.set(one.number, one)
    this.list.push(one)
  }

  /** A unit that the claim needs. */
  wantUnit(ref: UnitRef, draw: Draw, i: number): number {
    const { leaf, unit, columns } = ref
    const first = this.firstUnits.get(leaf)
    if (first === undefined || !Number.isInteger(unit) || !(unit >= 0 && unit < leaf.unitStarts.length))
      throw noUnit(ref, first !== undefined)
    const number = first + unit
    const known = this.wanted.get(number)
    if (known === undefined) {
      this.want({
        number,
        source: draw.source,
        user: this.future.user(draw, 'unit'),
        row: i,
        plan: this.planOf(ref, number),
        ref,
        shared: undefined,
      })
    } else if (known.ref !== ref && String(known.ref!.columns) !== String(columns)) {
      throw new SourceError(
        `unit ${unit} is asked for with the columns ${known.ref!.columns}, and with ${columns}: need should ask once, with all of them`,
      )
    }
    return number
  }

  private planOf(ref: UnitRef, number: number): Plan {
    const kept = this.plans[number % KEPT_PLANS]
    if (kept?.ref === ref) return kept.plan
    const ranges = plannedUnit(ref)
    const plan: Plan = {
      ranges,
      bytes: unitBytes(ref, ranges),
      pieces: ref.leaf.load === undefined ? ranges.length : Math.max(MOST_PIECES, 2 * ref.columns.length),
      load: into => loadUnit(this.reader, ref, ranges, into, this.memory),
    }
    this.plans[number % KEPT_PLANS] = { ref, plan }
    return plan
  }

  /** The piece of a row's own range, out of its block; undefined where the block is not there. */
  piece(number: number, range: ByteRange): Uint8Array | undefined {
    const {
      shared,
      plan: { ranges },
    } = this.wanted.get(number)!
    return Array.isArray(shared) ? pieceOf(range, ranges, shared) : undefined
  }

  /** What became of something that the claim needs, after `bring`. */
  shared(number: number): Shared {
    return this.wanted.get(number)!.shared
  }

  /** What a row has that needs this and nothing else: the same for all such rows of the claim. */
  alone(number: number): Pieces | Error | undefined {
    const one = this.wanted.get(number)!
    const { shared } = one
    if (shared === undefined || shared instanceof Error) return shared
    one.alone ??= { ranges: NO_RANGES, units: [shared] }
    return one.alone
  }

  /** The columns of a unit; undefined where it is not there, or its leaf does not tell them. */
  columns(number: number): UnitColumns | undefined {
    const one = this.wanted.get(number)!
    if (one.columns !== undefined || one.shared === undefined || one.shared instanceof Error)
      return one.columns
    const { leaf, unit, columns } = one.ref!
    one.columns = leaf.unitColumns?.(unit, columns, one.shared)
    return one.columns
  }

  /**
   * Brings all that the claim needs. `first` is its first draw, `passed` the position before which all of the ring is made.
   * `reading` is told which row something is read for.
   */
  bring(first: Draw, passed: number, reading: (i: number) => void): Maybe<void> {
    this.future.see(first)
    const now = this.cache.passed(this.handle.ring, passed)
    return this.round(this.list, now, reading)
  }

  close(): void {
    this.closed = true
    this.begin()
  }

  private round(
    wanted: readonly Wanted[],
    now: readonly number[],
    reading: (i: number) => void,
  ): Maybe<void> {
    const loading: Promise<void>[] = []
    const waiting: Wanted[] = []
    for (const one of wanted) {
      this.request.user = one.user
      this.request.bytes = one.plan.bytes
      this.request.pieces = one.plan.pieces
      this.request.now = now
      this.request.recency = this.future.recency(one.source)
      one.taken = this.cache.take(one.number, this.request)
      if (one.taken === undefined) continue
      if (!one.taken.loads) waiting.push(one)
      else {
        const filled = this.fill(one, reading)
        if (filled instanceof Promise) loading.push(filled)
      }
    }
    if (loading.length > 0) return Promise.all(loading).then(() => this.waitFor(waiting, now, reading))
    return this.waitFor(waiting, now, reading)
  }

  /** Waits for what others load. What they failed to load is taken again. */
  private waitFor(
    waiting: readonly Wanted[],
    now: readonly number[],
    reading: (i: number) => void,
  ): Maybe<void> {
    if (waiting.length === 0) return
    const again = (there: readonly boolean[]): Maybe<void> =>
      this.round(
        waiting.filter((_, i) => !there[i]),
        now,
        reading,
      )
    const there = together(waiting.map(one => this.wait(one, reading)))
    if (there instanceof Promise) return there.then(again)
    if (!there.every(one => one)) return again(there)
  }

  /** Waits for what another loads. False: that failed, and it has to be taken again. */
  private wait(one: Wanted, reading: (i: number) => void): Maybe<boolean> {
    reading(one.row)
    const there = this.handle.alone ? this.cache.waitHere(one.taken!) : this.cache.wait(one.taken!)
    return after(there, there => {
      if (there) this.lend(one)
      return there
    })
  }

  private fill(one: Wanted, reading: (i: number) => void): Maybe<void> {
    reading(one.row)
    return attempt(
      () =>
        after(
          this.cache.fill(one.taken!, into => one.plan.load(into)),
          () => this.lend(one),
        ),
      error => {
        one.shared = error
      },
    )
  }

  private lend(one: Wanted): void {
    const lease = this.cache.lease(one.taken!)
    one.shared = lease.pieces
    // The ring may have been closed while something was waited for.
    if (this.closed) lease.release()
    else this.leases.push(lease)
  }
}

function noUnit({ leaf, unit }: UnitRef, known: boolean): SourceError {
  return new SourceError(
    known
      ? `need asks for unit ${unit}, and there are ${leaf.unitStarts.length}: units are numbered from 0`
      : 'need asks for a unit of another source: push { leaf, unit, columns }, with the source itself as leaf',
  )
}
