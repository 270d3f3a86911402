/**
 * The windowed shuffle: nearly the mixing of a global shuffle, with the reads of a sequential one.
 *
 *   shards ──cut──► blocks of consecutive rows ──permuted──► a line of blocks ──mixed within windows──► positions
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
import { type Permutation, permutation } from './permutation.js'

/** Plain data that makes a windowed order in any thread. */
export interface WindowData {
  count: number
  /** Samples that may be in flight at a time. */
  window: number
  /** First row of each shard, ascending from 0. Blocks never reach over the end of a shard. */
  runs: Float64Array
  seed: number
  stream?: string | number
}

/**
 * A window should hold this many blocks. A batch is drawn from as many places as a window has blocks, so with as
 * many as a usual batch has rows its mixture is nearly that of a global shuffle; `order-quality` shows it.
 */
const BLOCKS_A_WINDOW = 256

/** Small windows get fewer blocks, of this many rows: reads of single rows would be what a window is to avoid. */
const SMALL_BLOCK = 8
const FEWEST_BLOCKS_A_WINDOW = 32

/** Larger blocks bring nothing: reading along a thousand samples is sequential by any measure. */
const LARGEST_BLOCK = 1024

/** Tables of 12 MB an epoch at most, in every thread: beyond a billion rows blocks grow instead. */
const MOST_BLOCKS = 2 ** 20

/** Rows of a full block. The last block of a shard may be shorter. */
export function blockSize(count: number, window: number): number {
  const least = Math.min(SMALL_BLOCK, Math.floor(window / FEWEST_BLOCKS_A_WINDOW))
  const wanted = Math.min(LARGEST_BLOCK, Math.max(1, least, Math.floor(window / BLOCKS_A_WINDOW)))
  return Math.max(wanted, Math.ceil(count / MOST_BLOCKS))
}

export class WindowOrder {
  readonly length: number
  /** First row of each block, and the count at the end: block b is rows blocks[b] … blocks[b + 1] − 1. */
  readonly blocks: Float64Array
  /** Rows of a full block. */
  readonly blockSize: number
  /** Length of the windows of both passes, and how far those of the second are shifted. */
  private readonly span: number
  private readonly shift: number
  private readonly firstBlocks: Uint32Array
  private readonly epochs: (Epoch | undefined)[] = [undefined, undefined]

  constructor(private readonly data: WindowData) {
    const { count, window, runs } = data
    this.length = count
    this.blockSize = blockSize(count, window)
    // A window that holds everything is the global shuffle.
    this.span = window >= count ? Math.max(1, count) : Math.ceil(window / 2)
    this.shift = this.span >> 1
    this.firstBlocks = new Uint32Array(runs.length + 1)
    for (let run = 0; run < runs.length; run++) {
      const rows = (runs[run + 1] ?? count) - runs[run]
      this.firstBlocks[run + 1] = this.firstBlocks[run] + Math.ceil(rows / this.blockSize)
    }
    this.blocks = new Float64Array(this.firstBlocks[runs.length] + 1).fill(count)
    for (let run = 0; run < runs.length; run++)
      for (let block = this.firstBlocks[run]; block < this.firstBlocks[run + 1]; block++)
        this.blocks[block] = runs[run] + (block - this.firstBlocks[run]) * this.blockSize
  }

  /** The row that stands at a position. */
  at(epoch: number, position: number): number {
    const { first, second, order, starts } = this.epoch(epoch)
    const place = first.at(second.at(position))
    const slot = lastAtMost(starts, place, Math.floor(place / this.blockSize))
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
    const run = lastAtMost(this.data.runs, row, 0)
    return this.firstBlocks[run] + Math.floor((row - this.data.runs[run]) / this.blockSize)
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
    const from = Math.floor(starts[slot] / this.span) * this.span
    const to = Math.min(this.length, Math.ceil(starts[slot + 1] / this.span) * this.span)
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
