/**
 * The contract of an order: which row stands at position p of epoch e. It is a pure function: compiled from the same plain
 * data, it gives the same answer in every thread.
 */

/** One draw: a row of one of the feed's sources. `source` is 0 unless the feed blends several. */
export interface Draw {
  source: number
  row: number
  /** How many draws of this source came before, through all its epochs: its place on the source's own line. */
  drawn: number
  /** The source's own epoch that it belongs to: that of the feed, but in a blend how often all rows of the source came before. */
  epoch: number
}

export interface Order {
  /** Positions in an epoch. */
  readonly length: number
  /** Writes the draw at (epoch, position) into `out`. */
  draw(epoch: number, position: number, out: Draw): Draw
  /** Of one source, where that is quicker than draw after draw: writes the rows from a position on into `out`. */
  rows?(epoch: number, position: number, out: Uint32Array): void
}
