/**
 * Tells the cache when a unit will be used next. The order is arithmetic, so the cache need not guess from the past: it gives
 * up the unit that is wanted last.
 *
 * Units and blocks are used by rows, so the question is asked by a row that has used one: its *user*, a number over the rows
 * of all sources, once as users of blocks and once as users of units. A row knows its block, and the rows that share its
 * unit. Of orders that can't be inverted, such as weights, nothing is known: what was used longest ago leaves.
 *
 * Time is counted in draws of the feed. A source of a blend has a line of its own, on which the feed moves more
 * slowly; its distances are stretched accordingly.
 */
import { lastAtMost } from '../../basics/search.js'
import type { CompiledOrder } from '../../order/compile.js'
import type { Draw } from '../../order/order.js'
import type { SourceOrder } from '../../order/single.js'
import { WindowOrder } from '../../order/window.js'
import type { Source } from '../../source/source.js'

/** Rows of a unit that are asked for their positions; of larger units so many, evenly chosen. */
const ASKED = 256

/** Above all positions: the later something was used, the sooner it is taken to be wanted. */
const NEVER_KNOWN = 2 ** 52

/** From the first to the one behind the last. */
type Rows = [from: number, to: number]

export class Future {
  /** First user of each source, and how many there are of each kind. */
  private readonly firstUsers: number[]
  private readonly users: number
  /** The latest draw seen of each source, on its own line, and when that was, in draws of the feed. */
  private readonly drawn: number[]
  private seen = 0

  constructor(
    private readonly order: CompiledOrder,
    private readonly sources: readonly Source[],
  ) {
    let first = 0
    this.firstUsers = sources.map(source => {
      first += source.count
      return first - source.count
    })
    this.users = first
    this.drawn = sources.map(() => 0)
  }

  /** The user that a draw is, of its block or of its units. */
  user({ source, row }: Draw, of: 'block' | 'unit'): number {
    return this.firstUsers[source] + row + (of === 'unit' ? this.users : 0)
  }

  /** Notes how far the feed has come: in draws, from the first row of a claim. */
  see(draw: Draw): number {
    this.drawn[draw.source] = draw.drawn
    this.seen = this.drawn.reduce((sum, n) => sum + n, 0)
    return this.seen
  }

  /** For draws of a source whose order tells nothing of the future: the later, the less. Undefined for other sources. */
  recency(source: number): number | undefined {
    const order = this.order.sources[source]
    return order instanceof WindowOrder || order.inverse !== undefined ? undefined : NEVER_KNOWN - this.seen
  }

  /** The first draw from `now` on that may want what a user has used. Where it is wanted now: the end of that, negative. */
  next(user: number, now: number): number {
    const number = user % this.users
    let source = this.firstUsers.length - 1
    while (this.firstUsers[source] > number) source--
    const row = number - this.firstUsers[source]
    const pace = this.seen === 0 ? 1 : this.seen / Math.max(1, this.drawn[source])
    const own = this.drawn[source] - (this.seen - now) / pace
    const distance = this.distance(source, this.rowsWith(source, row, user >= this.users), Math.max(0, own))
    if (distance === undefined) return NEVER_KNOWN - this.seen
    return distance < 0 ? distance * pace - now : now + distance * pace
  }

  /** The rows that share a unit with a row, or its block. */
  private rowsWith(source: number, row: number, unit: boolean): Rows {
    const order = this.order.sources[source]
    const { unitStarts, count } = this.sources[source]
    const starts = unit ? unitStarts : order instanceof WindowOrder ? order.blocks : undefined
    if (starts === undefined) return [row, row + 1]
    const last = lastAtMost(starts, row)
    return [starts[last], starts[last + 1] ?? count]
  }

  /** Draws of the source, from one of its draws on, until one of some rows may be wanted; negative: until none is any more. */
  private distance(source: number, rows: Rows, drawn: number): number | undefined {
    const order = this.order.sources[source]
    const epoch = Math.floor(drawn / order.length)
    const position = drawn - epoch * order.length
    if (order instanceof WindowOrder) {
      const [from, to] = order.spanOfRows(epoch, ...rows)
      if (position < to) return from > position ? from - position : position - to
      return order.length - position + order.spanOfRows(epoch + 1, ...rows)[0]
    }
    if (order.inverse === undefined) return undefined
    const here = soonest(order, rows, epoch, position)
    return here < Infinity ? here - position : order.length - position + soonest(order, rows, epoch + 1, 0)
  }
}

/** The first position from `position` on at which one of some rows comes. */
function soonest(order: SourceOrder, [from, to]: Rows, epoch: number, position: number): number {
  const step = Math.max(1, (to - from) / ASKED)
  let soonest = Infinity
  for (let at = from; at < to; at += step) {
    const place = order.inverse!(epoch, Math.floor(at))
    if (place >= position && place < soonest) soonest = place
  }
  return soonest
}
