/**
 * The block cache: units in shared memory, within a fixed budget. The maker that needs a unit first loads it; the others wait
 * for that load, and all use the same bytes in place. When memory runs out, the order says when each unit is wanted next, and
 * the one that is wanted last leaves. All rings of a process that read the same data in the same order share one (ranks of
 * one feed).
 *
 *   block-place.ts   where a block goes, and which blocks must leave for it
 *   block-table.ts   which unit lies where, and which makers use it
 *   SharedLock       lets one maker at a time change the table
 *
 * The data is one SharedArrayBuffer of pages. A block is a contiguous run of them: the unit's bytes, and at the very
 * end (offset, length) of each piece as two doubles.
 *
 * Made in the main thread with `createBlockCache`, posted as it is, attached in every maker:
 *
 *   const cache = new BlockCache(data, maker)
 *   const taken = cache.take(unit, { bytes, pieces, user, now, nextUse })
 *   if (taken === undefined) …                    // no room: read for yourself
 *   else if (taken.loads) cache.fill(taken, into => pack(into, decompress(read(ranges))))
 *   else if (!cache.wait(taken)) …                // its load failed: take it again
 *   const lease = cache.lease(taken)
 *   try { decode(lease.pieces) } finally { lease.release() }
 *
 * A maker that wants several units takes all of them, fills those that it has to load, and only then waits for the others:
 * so no two makers wait for each other.
 */
import { setTimeout } from 'node:timers/promises'
import { BudgetError } from '../basics/errors.js'
import { after, attempt, type Maybe } from '../basics/maybe.js'
import { SharedLock } from '../system/memory/shared-lock.js'
import { BlockTable, type Counter, LOADING, READY } from './block-table.js'

export { MOST_RINGS } from './block-table.js'

const PAGE = 4096 // aligned for any SIMD load and for direct I/O; half of one is lost a unit
const PIECE = 16 // bytes of a piece's (offset, length)
const USUAL_UNIT = 16 << 10 // bytes: the table has room for so many blocks, and smaller units leave memory unused
const MOST_BLOCKS = 4096 // making room looks at every block, some 30 ns each, while the others wait
const ALIGN = 64 // packed pieces begin on a cache line
const NAP_MS = 100 // a wake-up may be lost with the thread that owed it: look again

/** The cache as plain data: survives postMessage, and is the same memory in every thread. */
export interface BlockCacheData {
  books: SharedArrayBuffer
  memory: SharedArrayBuffer
  blocks: number
  makers: number
}

export interface BlockCacheOptions {
  /** The budget: books and data together. */
  bytes: number
  /** Makers are numbered from 0 to makers − 1; the main thread attaches besides them. */
  makers: number
  /** Most units held at once; by default as many as 16 KiB go into the budget, but no more than 4096. */
  blocks?: number
}

export interface UnitRequest {
  /** Bytes that the unit needs at most; what `load` leaves unused at the end is given back. */
  bytes: number
  /** How many pieces `load` returns at most; 1 unless said. */
  pieces?: number
  /** What uses the unit now, as a number from which `nextUse` can tell when it is used again. */
  user: number
  /**
   * Uses before this position are over: that of the oldest claim in flight. Where nothing may leave by that, others are tried
   * in turn.
   */
  now: readonly number[]
  /**
   * The first position from `now` on at which a unit is used that `user` used last; Infinity if it is not. A negative
   * number: it is wanted from now on, up to the position that it is the negative of.
   */
  nextUse(user: number, now: number): number
  /** Where the future is not known: what to note in its place, less for a later use. */
  recency?: number
}

/** Writes a unit into `into`, which has as many bytes as were asked for, and returns its pieces: views of `into`. */
export type Load = (into: Uint8Array) => Maybe<readonly Uint8Array[]>

/** A unit that this maker has a lease of, but that may not be there yet. */
export interface Taken {
  readonly block: number
  /** This maker must load it. */
  readonly loads: boolean
  readonly bytes: number
  readonly pieces: number
}

/** A unit in use: its pieces stay where they are until it is released. */
export interface Lease {
  readonly pieces: readonly Uint8Array[]
  /** Gives the unit back; a second call does nothing. */
  release(): void
}

export type BlockCacheStats = Record<Counter, number> & { units: number; bytes: number; capacity: number }

export function createBlockCache({ bytes, makers, blocks: wanted }: BlockCacheOptions): BlockCacheData {
  const blocks = wanted ?? Math.min(MOST_BLOCKS, Math.max(16, Math.floor(bytes / USUAL_UNIT)))
  const books = BlockTable.bytes(blocks, makers + 1)
  const pages = Math.floor((bytes - books) / PAGE)
  if (pages < 1) {
    throw new BudgetError(
      `a block cache of ${bytes} bytes has no room for data, since its books take ${books}: ` +
        'raise the option "cache"',
    )
  }
  const data: BlockCacheData = {
    books: new SharedArrayBuffer(books),
    memory: new SharedArrayBuffer(pages * PAGE),
    blocks,
    makers,
  }
  openBooks(data, true)
  return data
}

/** A ring is gone: nothing is kept for it. */
export function forgetRing(data: BlockCacheData, ring: number): void {
  openBooks(data).note(ring, Infinity)
}

export class BlockCache {
  private readonly table: BlockTable
  private readonly lock: SharedLock
  private readonly memory: SharedArrayBuffer
  /** How many leases this thread has of a block: the table knows only whether it has any. */
  private readonly mine = new Map<number, number>()
  /** The pieces of blocks that were leased before, so that claims of one block are given the same list. */
  private readonly opened = new Map<number, { generation: number; pieces: readonly Uint8Array[] }>()

  /** Attaches to the cache as one of its makers; the main thread gives no number. */
  constructor(
    data: BlockCacheData,
    readonly maker = data.makers,
  ) {
    this.table = openBooks(data)
    this.lock = new SharedLock(this.table.words, this.table.lockAt, maker)
    this.memory = data.memory
  }

  /**
   * Notes that all claims of a ring before a position are made. Gives the position before which no ring wants anything any
   * more, and that of the ring that has come furthest.
   */
  passed(ring: number, position: number): readonly [number, number] {
    this.table.note(ring, position)
    return this.table.progress()
  }

  /**
   * Leases a unit (a whole number from 0) without waiting; where it is not there, makes a block that the caller must fill.
   * Undefined if there is no room that is worth taking: everything is leased, or all that could leave is wanted sooner
   * than this unit will be again. Then the caller reads for itself.
   */
  take(unit: number, request: UnitRequest): Taken | undefined {
    const { table, maker } = this
    return this.locked(() => {
      const block = table.find(unit)
      if (block < 0) return this.add(unit, request)
      const loading = table.state[block] === LOADING
      if (loading && table.loader[block] === maker) {
        throw new Error(`the load of unit ${unit} asks the cache for unit ${unit}: it would wait for itself`)
      }
      table.usedBy(block, request.user, request.recency)
      table.lease(block, maker)
      table.tally(loading ? 'waits' : 'hits')
      const { bytes, pieces = 1 } = request
      return { block, loads: false, bytes, pieces }
    })
  }

  /** Loads a block that this maker has made. If that fails, the block goes, and another maker may try. */
  fill(taken: Taken, load: Load): Maybe<void> {
    const { block, bytes } = taken
    const into = new Uint8Array(this.memory, this.table.first[block] * PAGE, bytes)
    return attempt(
      () => after(load(into), pieces => this.filled(taken, into, pieces)),
      error => {
        this.locked(() => this.table.remove(block))
        throw error
      },
    )
  }

  /** Waits until a taken block is ready. False if its load failed and the block, with the lease, is gone. */
  wait({ block }: Taken): boolean {
    const { table, maker } = this
    for (;;) {
      const generation = Atomics.load(table.generation, block)
      // While the lease stands the block can't become another unit's, so that its state is that of this unit.
      if (!table.leasedBy(block, maker)) return false
      if (Atomics.load(table.state, block) === READY) return true
      Atomics.wait(table.generation, block, generation, NAP_MS)
    }
  }

  /** The same without blocking the thread, which may be the one that loads it. */
  async waitHere(taken: Taken): Promise<boolean> {
    const { generation, state } = this.table
    while (this.table.leasedBy(taken.block, this.maker)) {
      const seen = Atomics.load(generation, taken.block)
      if (Atomics.load(state, taken.block) === READY) return true
      await Atomics.waitAsync(generation, taken.block, seen, NAP_MS).value
    }
    return false
  }

  /** The pieces of a taken block that is filled, or was waited for. */
  lease({ block }: Taken): Lease {
    const pieces = this.piecesOf(block)
    this.mine.set(block, (this.mine.get(block) ?? 0) + 1)
    let held = true
    const release = () => {
      if (held) this.giveBack(block)
      held = false
    }
    return { pieces, release }
  }

  /**
   * Called by the main thread once a maker's thread has ended: frees what it held, and lets others load what it was
   * loading. A new thread may take the maker's number only when this is done. It takes microseconds, unless another
   * maker died with the lock in its hands; then it waits until that one is to be forgotten as well.
   */
  async forget(maker: number): Promise<void> {
    while (!this.lock.seize(maker)) {
      if (this.lock.acquire(NAP_MS)) return this.forgetNow(maker)
      await setTimeout(NAP_MS)
    }
    this.table.rebuild()
    this.forgetNow(maker)
  }

  /** Taken without the lock, so that it never waits: numbers of one moment, give or take a unit. */
  stats(): BlockCacheStats {
    const { table } = this
    const bytes = table.usedPages * PAGE
    return { ...table.tallies(), units: table.count, bytes, capacity: this.memory.byteLength }
  }

  private forgetNow(maker: number): void {
    try {
      this.table.forget(maker)
    } finally {
      this.lock.release()
    }
  }

  private add(unit: number, { bytes, pieces = 1, user, now: nows, nextUse }: UnitRequest): Taken | undefined {
    const { table } = this
    const pages = Math.max(1, Math.ceil((bytes + pieces * PIECE) / PAGE))
    for (let i = 0; i < nows.length; i++) {
      const now = nows[i]
      if (i > 0 && now === nows[i - 1]) continue
      const place = table.place(pages, now, nextUse)
      const next = nextUse(user, now)
      const soon = next < 0 ? now : next
      if (place === undefined) continue
      // A tie is no reason to load: blocks of one window would only push each other out. But a large unit is better loaded
      // once, and a few small ones again, than the large one for each of its rows.
      const wantedSooner = place.soonest <= soon && place.soonest < Infinity
      if (wantedSooner && (place.soonest < soon || 2 * table.pagesOf(place) > pages)) continue
      table.evict(place)
      return { block: table.add(place, pages, unit, user, next, this.maker), loads: true, bytes, pieces }
    }
    table.tally('refusals')
    return undefined
  }

  private filled({ block, pieces: most }: Taken, into: Uint8Array, pieces: readonly Uint8Array[]): void {
    const { table } = this
    const start = into.byteOffset
    const ends = pieces.map(piece => endInside(piece, into))
    if (pieces.length > most) throw new Error(`load returned ${pieces.length} pieces, ${most} were announced`)
    const pages = Math.max(1, Math.ceil((Math.max(0, ...ends) + pieces.length * PIECE) / PAGE))
    const list = this.pieceList(start, pages, pieces.length)
    list.set(pieces.flatMap(piece => [piece.byteOffset - start, piece.length]))
    this.locked(() => {
      table.finish(block, pages, pieces.length)
      table.tally('loads')
      table.tally(
        'bytesLoaded',
        pieces.reduce((sum, piece) => sum + piece.length, 0),
      )
    })
  }

  /** The pieces of a block that is ready: the same list as long as `generation`, which counts loads, is the same. */
  private piecesOf(block: number): readonly Uint8Array[] {
    const generation = Atomics.load(this.table.generation, block)
    const kept = this.opened.get(block)
    if (kept?.generation === generation) return kept.pieces
    const start = this.table.first[block] * PAGE
    const list = this.pieceList(start, this.table.pages[block], this.table.pieces[block])
    const pieces: Uint8Array[] = []
    for (let i = 0; i < list.length; i += 2)
      pieces.push(new Uint8Array(this.memory, start + list[i], list[i + 1]))
    this.opened.set(block, { generation, pieces })
    return pieces
  }

  private giveBack(block: number): void {
    const others = this.mine.get(block)! - 1
    if (others > 0) this.mine.set(block, others)
    else {
      this.mine.delete(block)
      this.table.unlease(block, this.maker)
    }
  }

  /** The (offset, length) pairs at the end of a block. */
  private pieceList(start: number, pages: number, pieces: number): Float64Array {
    return new Float64Array(this.memory, start + pages * PAGE - pieces * PIECE, 2 * pieces)
  }

  private locked<T>(work: () => T): T {
    this.lock.acquire()
    try {
      return work()
    } finally {
      this.lock.release()
    }
  }
}

/** Bytes that pieces of these lengths take when packed, for `bytes` of a request. */
export function packedBytes(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + Math.ceil(length / ALIGN) * ALIGN, 0)
}

/** Places for pieces of these lengths in `into`, each on its own cache line. */
export function packed(into: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  let at = 0
  return lengths.map(length => {
    const place = into.subarray(at, at + length)
    if (place.length < length) {
      throw new Error(
        `the unit's pieces take more than the ${into.length} bytes that were announced for them, each from a multiple of ${ALIGN} on`,
      )
    }
    at += Math.ceil(length / ALIGN) * ALIGN
    return place
  })
}

/** Copies pieces into `into`, and returns the copies: for a load that made them elsewhere. */
export function pack(into: Uint8Array, pieces: readonly Uint8Array[]): Uint8Array[] {
  const copies = packed(
    into,
    pieces.map(({ length }) => length),
  )
  // Some may lie in `into` already, where the copies of others go.
  const whole = pieces.map(piece => (piece.buffer === into.buffer ? piece.slice() : piece))
  copies.forEach((copy, i) => void copy.set(whole[i]))
  return copies
}

function openBooks({ books, memory, blocks, makers }: BlockCacheData, fresh = false): BlockTable {
  return new BlockTable(books, blocks, makers + 1, memory.byteLength / PAGE, fresh)
}

/** Where a piece ends inside the memory it was to be written to. */
function endInside(piece: Uint8Array, into: Uint8Array): number {
  const end = piece.byteOffset + piece.length - into.byteOffset
  if (piece.buffer !== into.buffer || piece.byteOffset < into.byteOffset || end > into.length) {
    throw new Error('load returned a piece that lies outside of the memory it was given: use `pack`')
  }
  return end
}
