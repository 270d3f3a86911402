/**
 * Batches of like lengths. The positions of an epoch are cut into windows; in each, samples are sorted by length, cut into
 * batches, and the batches are shuffled:
 *
 *   the order     │ 7 2 9 4 1 8 3 6 … │ …       lengths, in windows of `window` samples
 *   sorted        │ 1 2 │ 3 4 │ 6 7 │ 8 9 │     cut into batches of equal size, or into bins of so many tokens
 *   shuffled      │ 6 7 │ 1 2 │ 8 9 │ 3 4 │     the batches of a window: these are the places of the epoch
 *
 * A window is arranged when one of its places is asked for: nothing is kept but the last few. Samples that make no whole
 * batch at the end of an epoch are its last ones in the order before: which are left out by `last: "drop"` is chance.
 */
import { hashText, Random } from '../../basics/random.js'
import type { Draw, Order } from '../order.js'
import { shuffle } from '../permutation.js'
import type { SourceOrder } from '../single.js'
import { Along } from './along.js'
import { type BinRule, Filling } from './rule.js'

/** Plain data; the tables are shared. */
export interface GroupData {
  /** What samples are sorted by: a number for each row of each source. */
  keys: Uint32Array[]
  /** Samples of a window: whole batches. */
  window: number
  seed: number
  /** Rows of a batch; or what a bin may hold, and the lengths of samples. */
  batch: number | { rule: BinRule; lengths: Uint32Array[] }
}

/** The order before. */
interface Inner extends Order {
  readonly sources: readonly SourceOrder[]
}

/** A window in its new order. */
interface Arranged {
  epoch: number
  window: number
  /** From a place in the window to the sample's position in it before. */
  order: Uint32Array
  /** Rows of each batch, in order. */
  sizes: Uint32Array
}

const GROUP_KEY = hashText('group')
/** Windows that are kept: of two epochs, and where a claim is planned ahead, two of each. */
const KEPT = 4

export class GroupedOrder implements Inner {
  readonly length: number
  readonly sources: Inner['sources']
  private readonly kept: Arranged[] = []
  private readonly sorter = new Sorter()
  private readonly random = new Random()
  private readonly along: Along

  constructor(
    private readonly inner: Inner,
    private readonly data: GroupData,
  ) {
    this.length = inner.length
    this.sources = inner.sources
    this.along = new Along(inner)
  }

  get window(): number {
    return this.data.window
  }

  draw(epoch: number, place: number, out: Draw): Draw {
    const { window } = this.data
    const number = Math.floor(place / window)
    const start = number * window
    return this.inner.draw(epoch, start + this.arranged(epoch, number).order[place - start], out)
  }

  /** Rows of each batch of a window, in order. */
  sizesOf(epoch: number, window: number): Uint32Array {
    return this.arranged(epoch, window).sizes
  }

  private arranged(epoch: number, window: number): Arranged {
    const way = window % KEPT
    const kept = this.kept[way]
    if (kept !== undefined && kept.window === window && kept.epoch === epoch) return kept
    return (this.kept[way] = this.arrange(epoch, window))
  }

  private arrange(epoch: number, window: number): Arranged {
    const { keys, batch, seed } = this.data
    const start = window * this.data.window
    const count = Math.min(this.data.window, this.length - start)
    // What makes no whole batch stays where it is, at the end.
    const sorted = typeof batch === 'number' ? count - (count % batch) : count
    const own = new Uint32Array(sorted)
    this.along.read(epoch, start, keys, own)
    const order = this.sorter.sort(own)
    let starts: number[]
    if (typeof batch === 'number') starts = evenly(sorted, batch)
    else {
      const lengths = batch.lengths === keys ? own : new Uint32Array(sorted)
      if (lengths !== own) this.along.read(epoch, start, batch.lengths, lengths)
      starts = cut(order, lengths, batch.rule)
    }

    const batches = Uint32Array.from({ length: starts.length - 1 }, (_, i) => i)
    shuffle(batches, this.random.key(seed, epoch, window, GROUP_KEY))
    const arranged = new Uint32Array(count)
    const sizes = new Uint32Array(batches.length)
    let next = 0
    for (let i = 0; i < batches.length; i++) {
      const [from, to] = [starts[batches[i]], starts[batches[i] + 1]]
      arranged.set(order.subarray(from, to), next)
      next += sizes[i] = to - from
    }
    for (; next < count; next++) arranged[next] = next
    return { epoch, window, order: arranged, sizes }
  }
}

/** Where batches of equal size begin, and the end. */
function evenly(count: number, size: number): number[] {
  return Array.from({ length: count / size + 1 }, (_, i) => i * size)
}

/** Where the bins begin into which samples are put in this order, and the end. */
function cut(order: Uint32Array, lengths: Uint32Array, rule: BinRule): number[] {
  const filling = new Filling(rule)
  const starts: number[] = []
  for (let i = 0; i < order.length; i++) if (filling.add(lengths[order[i]])) starts.push(i)
  starts.push(order.length)
  return starts
}

/** Sorts by small whole numbers, in linear time: a window of an epoch is sorted wherever a batch of it is made. */

/** A turn sorts by so many bits: its counts stay in the nearest cache. */
const BITS = 11
const DIGITS = 1 << BITS
const counts = new Uint32Array(DIGITS)

/** Memory for sorting, kept from one window to the next. */
class Sorter {
  private from = new Uint32Array(0)
  private to = new Uint32Array(0)

  /** The places 0 … n−1 of some keys in the order of the keys; equal keys keep their order. A view: good until the next call. */
  sort(keys: Uint32Array): Uint32Array {
    const n = keys.length
    if (this.from.length < n) {
      this.from = new Uint32Array(n)
      this.to = new Uint32Array(n)
    }
    let { from, to } = this
    let most = 0
    for (let i = 0; i < n; i++) {
      from[i] = i
      if (keys[i] > most) most = keys[i]
    }
    for (let shift = 0; shift < 32 && most >>> shift > 0; shift += BITS) {
      counts.fill(0)
      for (let i = 0; i < n; i++) counts[(keys[i] >>> shift) & (DIGITS - 1)]++
      let next = 0
      for (let digit = 0; digit < DIGITS; digit++) {
        const count = counts[digit]
        counts[digit] = next
        next += count
      }
      for (let i = 0; i < n; i++) {
        const item = from[i]
        to[counts[(keys[item] >>> shift) & (DIGITS - 1)]++] = item
      }
      ;[from, to] = [to, from]
    }
    return from.subarray(0, n)
  }
}
