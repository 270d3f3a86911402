/** Numbers of samples, such as their lengths, in the order in which these come. */
import type { Draw, Order } from '../order.js'

/** Reads along an order. It keeps memory for the next time. */
export class Along {
  private rows = new Uint32Array(0)
  private readonly draw: Draw = { source: 0, row: 0, drawn: 0, epoch: 0 }

  constructor(private readonly order: Order) {}

  /** Writes the numbers of the samples from a position on into `out`. `numbers` has one for each row of each source. */
  read(epoch: number, position: number, numbers: readonly Uint32Array[], out: Uint32Array): void {
    const { order, draw } = this
    if (order.rows === undefined) {
      for (let i = 0; i < out.length; i++) {
        order.draw(epoch, position + i, draw)
        out[i] = numbers[draw.source][draw.row]
      }
      return
    }
    if (this.rows.length < out.length) this.rows = new Uint32Array(out.length)
    const rows = this.rows.subarray(0, out.length)
    const [own] = numbers
    order.rows(epoch, position, rows)
    for (let i = 0; i < out.length; i++) out[i] = own[rows[i]]
  }
}
