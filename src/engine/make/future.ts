/**
 * Tells the cache when a unit will be used next. The order is arithmetic, so the cache need not guess from the past: it gives
 * up the unit that is wanted last.
 *
 * Units are used by rows, so the question is asked by a row that has used one: its *user*, a number over the rows of all
 * sources. A row knows its block (windowed orders), or the rows that share its unit (orders that can be inverted). Of
 * other orders, such as weights, nothing is known: the unit that was used longest ago leaves.
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

export class Future {
  /** First user of each source. */
  private readonly firstUsers: number[]
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
    this.drawn = sources.map(() => 0)
  }

  /** The user that a draw is. */
  user({ source, row }: Draw): number {
    return this.firstUsers[source] + row
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

  /** The first draw from `now` on that may want what a user has used. */
  next(user: number, now: number): number {
    let source = this.firstUsers.length - 1
    while (this.firstUsers[source] > user) source--
    const pace = this.seen === 0 ? 1 : this.seen / Math.max(1, this.drawn[source])
    const own = this.drawn[source] - (this.seen - now) / pace
    const distance = this.distance(source, user - this.firstUsers[source], Math.max(0, own))
    return distance === undefined ? NEVER_KNOWN - this.seen : now + distance * pace
  }

  /** Draws of the source, from one of its draws on, until a row's unit may be wanted. */
  private distance(source: number, row: number, drawn: number): number | undefined {
    const order = this.order.sources[source]
    const epoch = Math.floor(drawn / order.length)
    const position = drawn - epoch * order.length
    if (order instanceof WindowOrder) {
      const block = order.blockOf(row)
      const [from, to] = order.spanOf(epoch, block)
      if (position < to) return Math.max(0, from - position)
      return order.length - position + order.spanOf(epoch + 1, block)[0]
    }
    if (order.inverse === undefined) return undefined
    const here = this.soonest(order, source, row, epoch, position)
    return here < Infinity
      ? here - position
      : order.length - position + this.soonest(order, source, row, epoch + 1, 0)
  }

  /** The first position from `position` on at which a row comes that shares a unit with `row`. */
  private soonest(order: SourceOrder, source: number, row: number, epoch: number, position: number): number {
    const { unitStarts, count } = this.sources[source]
    const unit = unitStarts === undefined ? -1 : lastAtMost(unitStarts, row)
    const [from, to] =
      unitStarts === undefined ? [row, row + 1] : [unitStarts[unit], unitStarts[unit + 1] ?? count]
    const step = Math.max(1, (to - from) / ASKED)
    let soonest = Infinity
    for (let at = from; at < to; at += step) {
      const place = order.inverse!(epoch, Math.floor(at))
      if (place >= position && place < soonest) soonest = place
    }
    return soonest
  }
}
