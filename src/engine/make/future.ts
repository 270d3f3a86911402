/**
 * Tells the block cache when a unit will be used next. The order is arithmetic, so the cache need not guess from the
 * past: it gives up the unit that is wanted last.
 *
 * Time is counted in draws of the feed. A source of a blend has a line of its own, on which the feed moves more
 * slowly; its distances are stretched accordingly.
 */
import type { CompiledOrder } from '../../order/compile.js'
import type { Draw } from '../../order/order.js'
import { WindowOrder } from '../../order/window.js'
import type { Source } from '../../source/source.js'

export class Future {
  /** First unit of each source, as the cache counts them. */
  private readonly firstUnits: number[]
  /** The latest draw seen of each source, on its own line, and when that was, in draws of the feed. */
  private readonly drawn: number[]
  private seen = 0

  constructor(
    private readonly order: CompiledOrder,
    private readonly sources: readonly Source[],
  ) {
    let first = 0
    this.firstUnits = sources.map(source => {
      first += source.units
      return first - source.units
    })
    this.drawn = sources.map(() => 0)
  }

  /** The unit of a draw, and a note that the feed has come this far. */
  unit(draw: Draw): number {
    this.drawn[draw.source] = draw.drawn
    this.seen = this.drawn.reduce((sum, n) => sum + n, 0)
    return this.firstUnits[draw.source] + this.sources[draw.source].unitOf(draw.row)
  }

  /** Draws of the feed so far. */
  get now(): number {
    return this.seen
  }

  /** The first draw from now on that may want a unit. */
  next(unit: number): number {
    let source = this.firstUnits.length - 1
    while (this.firstUnits[source] > unit) source--
    const distance = this.distance(source, unit - this.firstUnits[source])
    const pace = this.seen === 0 ? 1 : this.seen / Math.max(1, this.drawn[source])
    return this.seen + distance * pace
  }

  /** Draws of the source until the unit may be wanted. */
  private distance(source: number, unit: number): number {
    const order = this.order.sources[source]
    if (!(order instanceof WindowOrder)) return 0
    const epoch = Math.floor(this.drawn[source] / order.length)
    const position = this.drawn[source] - epoch * order.length
    const [from, to] = order.spanOf(epoch, unit)
    if (position < to) return Math.max(0, from - position)
    return order.length - position + order.spanOf(epoch + 1, unit)[0]
  }
}
