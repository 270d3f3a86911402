/**
 * The windowed shuffle: nearly the mixing of a global shuffle, with the reads of a sequential one.
 *
 *   shards ──cut──► blocks of whole units ──permuted──► a line of blocks ──mixed within windows──► positions
 *
 * The line is mixed twice: samples are permuted within windows of half the asked size, and then again within
 * windows that are shifted by half of theirs. No border between windows remains to be seen, and the samples of
 * any second-pass window come from at most two first-pass windows that lie side by side: `window` samples is what
 * a cache must hold for every block to be read once an epoch. A sample ends up anywhere in a stretch of `window`
 * positions with equal chance, just as far as one pass over whole windows would carry it.
 *
 *   first pass   │      0      │      1      │      2      │      3      │     each window/2 samples
 *   second pass  │  0   │      1      │      2      │      3      │  4   │     shifted by window/4
 *
 * All three permutations are keyed by (seed, epoch). Memory is 12 bytes a block for an epoch; two epochs are kept,
 * because makers begin the next one before this one ends.
 */
import { lastAtMost } from '../basics/search.js'
import { type Blocks, blockSize, equalBlocks, unitBlocks } from './blocks.js'
import { type Permutation, permutation } from './permutation.js'

/** Plain data that makes a windowed order in any thread. */
export interface WindowData {
  count: number
  /** Samples that may be in flight at a time. */
  window: number
  /** First row of each shard, ascending from 0. Blocks never reach over the end of a shard. */
  runs: Float64Array
  /**
   * First row of each unit, ascending from 0; equal starts are units that share their rows. A block is made of whole
   * units. Absent: every row is a unit of its own.
   */
  units?: Float64Array
  seed: number
  stream?: string | number
}

export class WindowOrder {
  readonly length: number
  /** First row of each block, and the count at the end: block b is rows blocks[b] … blocks[b + 1] − 1. */
  readonly blocks: Float64Array
  /** Rows of a full block; blocks that are one large unit have more. */
  readonly blockSize: number
  /** Rows of the largest block: a cache needs room for `window` rows and two such blocks. */
  readonly largestBlock: number
  /** Length of the windows of both passes, and how far those of the second are shifted. */
  private readonly span: number
  private readonly shift: number
  private readonly blocksOfRuns: Blocks['ofRuns']
  private readonly epochs: (Epoch | undefined)[] = [undefined, undefined]

  constructor(private readonly data: WindowData) {
    const { count, window, runs, units } = data
    this.length = count
    this.blockSize = blockSize(count, window)
    // A window that holds everything is the global shuffle.
    this.span = window >= count ? Math.max(1, count) : Math.ceil(window / 2)
    this.shift = this.span >> 1
    const blocks = units
      ? unitBlocks(count, runs, units, this.blockSize)
      : equalBlocks(count, runs, this.blockSize)
    this.blocks = blocks.starts
    this.blocksOfRuns = blocks.ofRuns
    this.largestBlock = blocks.largest
  }

  /** The row that stands at a position. */
  at(epoch: number, position: number): number {
    const { first, second, order, starts } = this.epoch(epoch)
    const place = first.at(second.at(position))
    // No slot is longer than the largest block, so at least this many end before the place.
    const slot = lastAtMost(starts, place, Math.floor(place / this.largestBlock))
    return this.blocks[order[slot]] + (place - starts[slot])
  }

  /** The position at which a row comes. */
  inverse(epoch: number, row: number): number {
    const { first, second, permuted, starts } = this.epoch(epoch)
    const block = this.blockOf(row)
    const place = starts[permuted.inverse(block)] + (row - this.blocks[block])
    return second.inverse(first.inverse(place))
  }

  /** The block that holds a row. */
  blockOf(row: number): number {
    const { runs, units } = this.data
    const run = lastAtMost(runs, row, 0)
    const first = this.blocksOfRuns[run]
    return units === undefined
      ? first + Math.floor((row - runs[run]) / this.blockSize)
      : lastAtMost(this.blocks, row, first, this.blocksOfRuns[run + 1] - 1)
  }

  /** Number of windows in an epoch: those of the second pass, in which samples are handed out. */
  get windows(): number {
    return this.length === 0 ? 0 : this.windowOf(this.length - 1) + 1
  }

  /** The window in which a position lies; it is the same in every epoch. */
  windowOf(position: number): number {
    return Math.floor((position + this.shift) / this.span)
  }

  /** First position of a window. */
  windowStart(window: number): number {
    return Math.min(this.length, Math.max(0, window * this.span - this.shift))
  }

  /** The blocks from which the samples of a window are drawn, in their order on the line: about `window` samples. */
  blocksOf(epoch: number, window: number): Uint32Array {
    const { order, starts } = this.epoch(epoch)
    const from = Math.floor(this.windowStart(window) / this.span) * this.span
    const to = Math.min(this.length, Math.ceil(this.windowStart(window + 1) / this.span) * this.span)
    if (from >= to) return new Uint32Array(0)
    return order.slice(lastAtMost(starts, from, 0), lastAtMost(starts, to - 1, 0) + 1)
  }

  /** Positions between which the rows of a block come, the end excluded: no earlier, no later. */
  spanOf(epoch: number, block: number): [from: number, to: number] {
    const { permuted, starts } = this.epoch(epoch)
    const slot = permuted.inverse(block)
    return this.spanOfPlaces(starts[slot], starts[slot + 1])
  }

  /** Positions between which rows from … to − 1 come, such as those of a unit: no earlier, no later. */
  spanOfRows(epoch: number, from: number, to: number): [from: number, to: number] {
    const { permuted, starts } = this.epoch(epoch)
    const { blocks } = this
    let [first, end] = [this.length, 0]
    if (from >= to) return [first, end]
    for (let block = this.blockOf(from); blocks[block] < to; block++) {
      const start = starts[permuted.inverse(block)]
      const a = start + Math.max(from - blocks[block], 0)
      const b = start + Math.min(to, blocks[block + 1]) - blocks[block]
      const span = this.spanOfPlaces(a, b)
      first = Math.min(first, span[0])
      end = Math.max(end, span[1])
    }
    return [first, end]
  }

  /** Positions to which both passes may carry what stands at places a … b − 1 of the line. */
  private spanOfPlaces(a: number, b: number): [from: number, to: number] {
    const from = Math.floor(a / this.span) * this.span
    const to = Math.min(this.length, Math.ceil(b / this.span) * this.span)
    return [this.windowStart(this.windowOf(from)), this.windowStart(this.windowOf(to - 1) + 1)]
  }

  private epoch(epoch: number): Epoch {
    const kept = this.epochs[epoch & 1]
    if (kept !== undefined && kept.epoch === epoch) return kept
    const { seed, stream = '' } = this.data
    const key = (part: string) => ({ seed, epoch, stream: `${part}/${stream}` })
    const permuted = permutation(this.blocks.length - 1, key('blocks'))
    const order = new Uint32Array(permuted.n)
    permuted.fill(order, 0)
    const starts = new Float64Array(order.length + 1)
    for (let slot = 0; slot < order.length; slot++)
      starts[slot + 1] = starts[slot] + this.blocks[order[slot] + 1] - this.blocks[order[slot]]
    const first = new Windows(this.length, this.span, 0, window => key(`first ${window}`))
    const second = new Windows(this.length, this.span, this.shift, window => key(`second ${window}`))
    return (this.epochs[epoch & 1] = { epoch, permuted, order, starts, first, second })
  }
}

/** What is known of one epoch. */
interface Epoch {
  epoch: number
  /** From a slot on the line to the block there; `order` is the same as a table. */
  permuted: Permutation
  order: Uint32Array
  /** Where each slot begins on the line of samples, and the count at the end. */
  starts: Float64Array
  first: Windows
  second: Windows
}

/** One pass: the line 0…count−1 is cut into windows and each is permuted within itself. */
class Windows {
  /** The permutations of the windows used last, by the window's number modulo their number. */
  private readonly kept: (Permutation | undefined)[] = [undefined, undefined, undefined, undefined]
  private readonly keptWindow = [-1, -1, -1, -1]

  constructor(
    private readonly count: number,
    private readonly span: number,
    private readonly shift: number,
    private readonly key: (window: number) => { seed: number; epoch: number; stream: string },
  ) {}

  at(position: number): number {
    const window = Math.floor((position + this.shift) / this.span)
    const start = Math.max(0, window * this.span - this.shift)
    return start + this.window(window, start).at(position - start)
  }

  inverse(place: number): number {
    const window = Math.floor((place + this.shift) / this.span)
    const start = Math.max(0, window * this.span - this.shift)
    return start + this.window(window, start).inverse(place - start)
  }

  private window(window: number, start: number): Permutation {
    const way = window % 4
    if (this.keptWindow[way] !== window) {
      const end = Math.min(this.count, (window + 1) * this.span - this.shift)
      this.kept[way] = permutation(end - start, this.key(window))
      this.keptWindow[way] = window
    }
    return this.kept[way]!
  }
}
