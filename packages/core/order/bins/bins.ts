/**
 * The bins of an epoch: where each begins on the line of its samples. All samples have to be looked at for that, so it is
 * done once an epoch, and threads share the result (tables.ts). It is a pure function of the order and the lengths: a
 * thread that does not find the table of an epoch makes it for itself, and gives it to the others.
 */
import type { Order } from '../order.js'
import { Along } from './along.js'
import { GroupedOrder } from './group.js'
import { type BinRule, Filling } from './rule.js'
import { type SharedTables, tableOf, takeUp, writeTable } from './tables.js'

/** Plain data; the tables are shared. */
export interface BinsData {
  rule: BinRule
  /** Tokens of each row of each source. */
  lengths: Uint32Array[]
  shared: SharedTables
}

/** Samples that are looked at in one go while a table is made ahead: about a millisecond. */
const SLICE = 16384
/** Lengths that are read together. */
const READ = 4096
/** Tables of epochs that this thread made for itself, and which it keeps. */
const KEPT = 4

export class Bins {
  private readonly own = new Map<number, Uint32Array>()
  /** The table of the next epoch, as far as it is made. */
  private ahead: { epoch: number; cutting: Cutting } | undefined

  constructor(
    private readonly data: BinsData,
    private readonly order: Order,
  ) {}

  /** Bins of an epoch. */
  count(epoch: number): number {
    return tableOf(this.data.shared, epoch)?.count ?? this.made(epoch).length - 1
  }

  /** Where a bin begins: the place of its first sample. For the bin behind the last, the end of the epoch. */
  first(epoch: number, bin: number): number {
    return tableOf(this.data.shared, epoch)?.start(bin) ?? this.made(epoch)[bin]
  }

  /**
   * Makes a part of the table of an epoch that will be wanted. Called by a worker between two claims; one of them makes the
   * table, the others go on.
   */
  prepare(epoch: number, worker: number): void {
    const { shared } = this.data
    // So few are looked at in no time, when they are wanted.
    if (this.order.length <= SLICE || tableOf(shared, epoch) !== undefined || this.own.has(epoch)) return
    if (!takeUp(shared, epoch, worker)) return
    if (this.ahead?.epoch !== epoch) this.ahead = { epoch, cutting: this.cutting(epoch) }
    const { cutting } = this.ahead
    if (!cutting.advance(SLICE)) return
    this.ahead = undefined
    this.keep(epoch, cutting.starts)
  }

  private made(epoch: number): Uint32Array {
    const kept = this.own.get(epoch)
    if (kept !== undefined) return kept
    const cutting = this.ahead?.epoch === epoch ? this.ahead.cutting : this.cutting(epoch)
    cutting.advance(Infinity)
    return this.keep(epoch, cutting.starts)
  }

  private keep(epoch: number, starts: Uint32Array): Uint32Array {
    if (!writeTable(this.data.shared, epoch, starts) || this.order.length <= SLICE) {
      if (this.own.size >= KEPT) this.own.delete(this.own.keys().next().value!)
      this.own.set(epoch, starts)
    }
    return starts
  }

  private cutting(epoch: number): Cutting {
    return new Cutting(this.order, epoch, this.data)
  }
}

/** Cuts an epoch into bins, a part at a time. */
export class Cutting {
  private table = new Uint32Array(1024)
  private count = 0
  /** The next sample. */
  private place = 0
  private readonly filling: Filling
  private readonly along: Along
  private readonly lengths = new Uint32Array(READ)

  constructor(
    private readonly order: Order,
    private readonly epoch: number,
    private readonly of: { rule: BinRule; lengths: Uint32Array[] },
  ) {
    this.filling = new Filling(of.rule)
    this.along = new Along(order)
  }

  /** Where each bin begins, and the end; when all is cut. */
  get starts(): Uint32Array {
    return this.table.subarray(0, this.count)
  }

  /** Goes on, over so many samples or a few more. True: all is cut. */
  advance(samples: number): boolean {
    const { order } = this
    if (this.count > 0 && this.table[this.count - 1] === order.length) return true
    const to = Math.min(order.length, this.place + samples)
    if (order instanceof GroupedOrder) this.byWindows(order, to)
    else this.bySamples(order, to)
    if (this.place < order.length) return false
    this.push(order.length)
    return true
  }

  private bySamples(order: Order, to: number): void {
    while (this.place < to) {
      const lengths = this.lengths.subarray(0, Math.min(this.lengths.length, order.length - this.place))
      this.along.read(this.epoch, this.place, this.of.lengths, lengths)
      for (let i = 0; i < lengths.length; i++) if (this.filling.add(lengths[i])) this.push(this.place + i)
      this.place += lengths.length
    }
  }

  private byWindows(order: GroupedOrder, to: number): void {
    while (this.place < to) {
      const sizes = order.sizesOf(this.epoch, this.place / order.window)
      for (const size of sizes) {
        this.push(this.place)
        this.place += size
      }
    }
  }

  private push(start: number): void {
    if (this.count === this.table.length) {
      const larger = new Uint32Array(2 * this.count)
      larger.set(this.table)
      this.table = larger
    }
    this.table[this.count++] = start
  }
}
