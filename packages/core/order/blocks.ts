/**
 * Cuts a source into the blocks of a windowed shuffle. A block is a stretch of consecutive rows that is read together.
 * It lies within one run, and it is made of whole units, so that no unit is loaded for two blocks:
 *
 *   runs    │                                  │                    │
 *   units   │  │  │  │  │           │     │    │   │   │   │    │   │     a unit may be larger than a block
 *   blocks  │        │  │           │          │           │        │     should be: it is a block by itself
 *
 * Where every row is a unit of its own, all blocks of a run but the last have the same size.
 */

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

/** Rows that a block should have. The last block of a run may be shorter; a large unit makes it larger. */
export function blockSize(count: number, window: number): number {
  const least = Math.min(SMALL_BLOCK, Math.floor(window / FEWEST_BLOCKS_A_WINDOW))
  const wanted = Math.min(LARGEST_BLOCK, Math.max(1, least, Math.floor(window / BLOCKS_A_WINDOW)))
  return Math.max(wanted, Math.ceil(count / MOST_BLOCKS))
}

export interface Blocks {
  /** First row of each block, and the count at the end: block b is rows starts[b] … starts[b + 1] − 1. */
  starts: Float64Array
  /** First block of each run, and the number of blocks at the end. */
  ofRuns: Uint32Array
  /** Rows of the largest block. */
  largest: number
}

/** Blocks of `size` rows, the last of a run excepted: for sources in which every row is a unit of its own. */
export function equalBlocks(count: number, runs: Float64Array, size: number): Blocks {
  const ofRuns = new Uint32Array(runs.length + 1)
  for (let run = 0; run < runs.length; run++) {
    const rows = (runs[run + 1] ?? count) - runs[run]
    ofRuns[run + 1] = ofRuns[run] + Math.ceil(rows / size)
  }
  const starts = new Float64Array(ofRuns[runs.length] + 1).fill(count)
  for (let run = 0; run < runs.length; run++)
    for (let block = ofRuns[run]; block < ofRuns[run + 1]; block++)
      starts[block] = runs[run] + (block - ofRuns[run]) * size
  return { starts, ofRuns, largest: size }
}

/**
 * Blocks of whole units: as many as fit into `size` rows, and at least one. `units` has the first row of each, in
 * ascending order; units with equal starts share their rows. The end of a run ends a unit, too.
 */
export function unitBlocks(count: number, runs: Float64Array, units: Float64Array, size: number): Blocks {
  const starts: number[] = []
  const ofRuns = new Uint32Array(runs.length + 1)
  let largest = 1
  let unit = 0
  for (let run = 0; run < runs.length; run++) {
    const to = runs[run + 1] ?? count
    let start = runs[run]
    if (start < to) {
      starts.push(start)
      // The end of the last unit that the block has so far.
      let whole = start
      while (unit < units.length && units[unit] <= start) unit++
      for (let border = start; border < to; whole = border) {
        border = units[unit] < to ? units[unit++] : to
        if (border - start <= size || whole === start) continue
        largest = Math.max(largest, whole - start)
        starts.push((start = whole))
      }
      largest = Math.max(largest, to - start)
    }
    ofRuns[run + 1] = starts.length
  }
  starts.push(count)
  return { starts: Float64Array.from(starts), ofRuns, largest }
}
