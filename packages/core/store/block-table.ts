/**
 * The table of the block cache, in shared memory: which unit lies where, which makers use it, when it is wanted next.
 *
 * For each block of the table (fixed number, "free" or in use) there are columns:
 *
 *   state       FREE, LOADING, READY: the last thing written when a block is made, the first when it is given up
 *   generation  grows whenever loading ends, well or badly: what waiting makers sleep on
 *   loader      the maker that loads it
 *   first, pages, pieces   its place in the data, and how many pieces it has
 *   leases      one bit for each maker that uses it
 *   unit, user, nextUse    which unit it holds, what used it last, and the position at which it is wanted next; negative: it is
 *                          wanted now, until the position that this is the negative of
 *
 * Everything else is derived: `order` (block numbers; the first `count` are those in use, by address; the rest are
 * free), a chained hash table from units to blocks, and the sums. So a maker may die at any instruction: `rebuild`
 * derives it again from the columns. All changes happen under the cache's lock.
 */
import { choosePlace, type Place, type PlacedBlocks } from './block-place.js'

const FREE = 0
export const LOADING = 1
export const READY = 2

/** Counters since the beginning. `waits` are hits that had to wait for another maker's load. */
const COUNTERS = ['hits', 'waits', 'loads', 'evictions', 'refusals', 'bytesLoaded'] as const
export type Counter = (typeof COUNTERS)[number]
const PLACES = Object.fromEntries(COUNTERS.map((name, i) => [name, i])) as Record<Counter, number>

/** Rings that may share a cache; more of them share the last place. */
export const MOST_RINGS = 64

const LOCK = 0
const COUNT = 1
const PAGES = 2
const HEADER = 16 // words: a cache line, so that the lock's neighbours are quiet

export class BlockTable {
  /** Word `lockAt` of `words` is the cache's lock. */
  readonly words: Int32Array
  readonly lockAt = LOCK
  readonly state: Int32Array
  readonly generation: Int32Array
  readonly loader: Int32Array
  readonly first: Int32Array
  readonly pages: Int32Array
  readonly pieces: Int32Array
  readonly unit: Float64Array
  private readonly user: Float64Array
  readonly nextUse: Float64Array
  /** The position of the oldest claim of each ring that is not made yet; Infinity where there is none. */
  private readonly rings: Float64Array
  private readonly leases: Int32Array
  private readonly leaseWords: number
  private readonly order: Int32Array
  private readonly heads: Int32Array
  private readonly chain: Int32Array
  private readonly counters: Float64Array
  /** This thread's own copy of what `place` looks at, in the order of addresses. */
  private readonly byAddress: PlacedBlocks

  /** Bytes of shared memory that the books of so many blocks and makers take. */
  static bytes(blocks: number, makers: number): number {
    return (
      8 * (COUNTERS.length + 3 * blocks + MOST_RINGS) +
      4 * (HEADER + (8 + leaseWords(makers)) * blocks + buckets(blocks))
    )
  }

  /** Attaches to books in shared memory; `fresh` opens new ones. */
  constructor(
    buffer: SharedArrayBuffer,
    readonly blocks: number,
    makers: number,
    /** Pages of data that there are to give. */
    readonly totalPages: number,
    fresh = false,
  ) {
    let at = 0
    const doubles = (length: number) => new Float64Array(buffer, (at += 8 * length) - 8 * length, length)
    const ints = (length: number) => new Int32Array(buffer, (at += 4 * length) - 4 * length, length)
    this.counters = doubles(COUNTERS.length)
    this.unit = doubles(blocks)
    this.user = doubles(blocks)
    this.nextUse = doubles(blocks)
    this.rings = doubles(MOST_RINGS)
    this.words = ints(HEADER)
    this.state = ints(blocks)
    this.generation = ints(blocks)
    this.loader = ints(blocks)
    this.first = ints(blocks)
    this.pages = ints(blocks)
    this.pieces = ints(blocks)
    this.order = ints(blocks)
    this.chain = ints(blocks)
    this.leaseWords = leaseWords(makers)
    this.leases = ints(blocks * this.leaseWords)
    this.heads = ints(buckets(blocks))
    const [first, pages, nextUse] = [new Int32Array(blocks), new Int32Array(blocks), new Float64Array(blocks)]
    this.byAddress = { count: 0, first, pages, nextUse }
    if (!fresh) return
    this.rings.fill(Infinity)
    this.rebuild()
  }

  /** Blocks in use. */
  get count(): number {
    return this.words[COUNT]
  }

  /** Pages of all blocks in use. */
  get usedPages(): number {
    return this.words[PAGES]
  }

  /** The block that holds a unit, or is being loaded with it; −1 if there is none. */
  find(unit: number): number {
    let block = this.heads[this.bucket(unit)]
    while (block >= 0 && this.unit[block] !== unit) block = this.chain[block]
    return block
  }

  /** Notes how far a ring has come: Infinity when it is gone. A late number costs a second load, so it needs no lock. */
  note(ring: number, at: number): void {
    this.rings[ring] = at
  }

  /**
   * The positions of the rings that have come least far, and furthest. What is wanted no more from the first on is free to
   * leave; where that is not enough, the rings that lag behind are left to themselves.
   */
  progress(): [least: number, most: number] {
    let [least, most] = [Infinity, 0]
    for (const at of this.rings) {
      if (at === Infinity) continue
      least = Math.min(least, at)
      most = Math.max(most, at)
    }
    return [Math.min(least, most), most]
  }

  /** The best place for so many pages. `refresh` tells the next use of units whose noted one is not after `now`. */
  place(pages: number, now: number, refresh: (user: number, now: number) => number): Place | undefined {
    const { count, order, byAddress } = this
    const free = count < this.blocks ? this.freePlace(pages) : undefined
    if (free !== undefined) return free
    for (let i = 0; i < count; i++) {
      const block = order[i]
      const stays = this.state[block] === LOADING || this.leased(block)
      byAddress.first[i] = this.first[block]
      byAddress.pages[i] = this.pages[block]
      byAddress.nextUse[i] = stays ? -Infinity : this.noted(block, now, refresh)
    }
    byAddress.count = count
    return choosePlace(byAddress, pages, this.totalPages, count === this.blocks ? 1 : 0)
  }

  /** The first place that is free. Where there is one, no block is asked for its next use, which takes long. */
  private freePlace(pages: number): Place | undefined {
    const { count, order } = this
    let page = 0
    for (let i = 0; i <= count; i++) {
      const end = i < count ? this.first[order[i]] : this.totalPages
      if (end - page >= pages) return { page, from: i, to: i, soonest: Infinity }
      if (i < count) page = end + this.pages[order[i]]
    }
    return undefined
  }

  /** The position of a block's next use, asked for again when the noted one has passed. */
  private noted(block: number, now: number, refresh: (user: number, now: number) => number): number {
    let next = this.nextUse[block]
    if (Math.abs(next) <= now) this.nextUse[block] = next = refresh(this.user[block], now)
    return next < 0 ? now : next
  }

  /** Notes what uses a block now. When it is used next is only asked where memory is short, unless it is known by `recency`. */
  usedBy(block: number, user: number, recency?: number): void {
    this.user[block] = user
    if (recency !== undefined) this.nextUse[block] = recency
  }

  /** Makes a loading block at a place from which all others have gone, leased by its loader. */
  add(place: Place, pages: number, unit: number, user: number, nextUse: number, loader: number): number {
    const { order, count } = this
    const block = order[count]
    order.copyWithin(place.from + 1, place.from, count)
    order[place.from] = block
    this.words[COUNT] = count + 1
    this.words[PAGES] += pages
    this.first[block] = place.page
    this.pages[block] = pages
    this.pieces[block] = 0
    this.unit[block] = unit
    this.user[block] = user
    this.nextUse[block] = nextUse
    this.loader[block] = loader
    this.clearLeases(block)
    this.lease(block, loader)
    this.link(block)
    Atomics.store(this.state, block, LOADING)
    return block
  }

  /** Pages of the blocks that must leave a place. */
  pagesOf({ from, to }: Place): number {
    let pages = 0
    for (let i = from; i < to; i++) pages += this.pages[this.order[i]]
    return pages
  }

  /** Removes the blocks that must leave a place. */
  evict(place: Place): void {
    for (let i = place.to - 1; i >= place.from; i--) this.removeAt(i)
    this.tally('evictions', place.to - place.from)
  }

  /** Removes a block whose load failed; makers that wait for it wake up and find their leases gone. */
  remove(block: number): void {
    this.removeAt(this.order.subarray(0, this.count).indexOf(block))
    this.announce(block)
  }

  /** Marks a loaded block ready, in as many of its pages as it really needs. */
  finish(block: number, pages: number, pieces: number): void {
    this.words[PAGES] -= this.pages[block] - pages
    this.pages[block] = pages
    this.pieces[block] = pieces
    Atomics.store(this.state, block, READY)
    this.announce(block)
  }

  lease(block: number, maker: number): void {
    Atomics.or(this.leases, block * this.leaseWords + (maker >> 5), 1 << (maker & 31))
  }

  /** The one change that needs no lock: it only ever allows more. */
  unlease(block: number, maker: number): void {
    Atomics.and(this.leases, block * this.leaseWords + (maker >> 5), ~(1 << (maker & 31)))
  }

  leasedBy(block: number, maker: number): boolean {
    return (Atomics.load(this.leases, block * this.leaseWords + (maker >> 5)) & (1 << (maker & 31))) !== 0
  }

  leased(block: number): boolean {
    const at = block * this.leaseWords
    // Leases are taken under the lock, which the caller has; to be given back meanwhile does no harm.
    for (let i = at; i < at + this.leaseWords; i++) if (this.leases[i] !== 0) return true
    return false
  }

  /** Gives up what a dead maker held: its leases, and the blocks it was loading. */
  forget(maker: number): void {
    for (let block = 0; block < this.blocks; block++) {
      if (this.state[block] === FREE) continue
      if (this.state[block] === LOADING && this.loader[block] === maker) this.remove(block)
      else this.unlease(block, maker)
    }
  }

  /** Derives order and hash anew from the columns. */
  rebuild(): void {
    const numbers = Array.from({ length: this.blocks }, (_, block) => block)
    const used = numbers
      .filter(block => this.state[block] !== FREE)
      .sort((a, b) => this.first[a] - this.first[b])
    this.order.set([...used, ...numbers.filter(block => this.state[block] === FREE)])
    this.words[COUNT] = used.length
    this.words[PAGES] = used.reduce((sum, block) => sum + this.pages[block], 0)
    this.heads.fill(-1)
    for (const block of used) this.link(block)
  }

  tally(counter: Counter, amount = 1): void {
    this.counters[PLACES[counter]] += amount
  }

  tallies(): Record<Counter, number> {
    return Object.fromEntries(COUNTERS.map((name, i) => [name, this.counters[i]])) as Record<Counter, number>
  }

  private removeAt(i: number): void {
    const { order, count } = this
    const block = order[i]
    Atomics.store(this.state, block, FREE)
    this.clearLeases(block)
    this.unlink(block)
    order.copyWithin(i, i + 1, count)
    order[count - 1] = block
    this.words[COUNT] = count - 1
    this.words[PAGES] -= this.pages[block]
  }

  private announce(block: number): void {
    Atomics.add(this.generation, block, 1)
    Atomics.notify(this.generation, block)
  }

  private clearLeases(block: number): void {
    const at = block * this.leaseWords
    for (let i = at; i < at + this.leaseWords; i++) Atomics.store(this.leases, i, 0)
  }

  private link(block: number): void {
    const bucket = this.bucket(this.unit[block])
    this.chain[block] = this.heads[bucket]
    this.heads[bucket] = block
  }

  private unlink(block: number): void {
    const bucket = this.bucket(this.unit[block])
    if (this.heads[bucket] === block) {
      this.heads[bucket] = this.chain[block]
      return
    }
    let before = this.heads[bucket]
    while (this.chain[before] !== block) before = this.chain[before]
    this.chain[before] = this.chain[block]
  }

  /** Units are numbered in a row, so that their low bits spread well enough. */
  private bucket(unit: number): number {
    return unit % this.heads.length
  }
}

function leaseWords(makers: number): number {
  return Math.ceil(makers / 32)
}

function buckets(blocks: number): number {
  return 2 * blocks
}
