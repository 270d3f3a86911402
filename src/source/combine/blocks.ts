/**
 * Makes blocks of consecutive rows the units of a source whose units are single rows. A windowed order draws from a few
 * dozen blocks at a time: each block is read once and as a whole, so the disk reads in sequence.
 */
import { lastAtMost } from '../../basics/search.js'
import { Around } from '../around.js'
import type { ByteRange, Column, Source } from '../source.js'

/** Rows whose bytes lie this close together (a tar header or two) are read as one piece. */
const GAP = 4096
/** Plans of the blocks in use are kept: a window holds some 256 blocks, and two windows overlap. */
const KEPT = 768

/** A source of blocks, and the source of rows within it. */
export interface BlockedSource extends Source {
  readonly within: Source
}

/** `blocks` holds the first row of each block, and the number of rows at its end. */
export function inBlocks(source: Source, blocks: Float64Array): BlockedSource {
  return new InBlocks(source, blocks)
}

class InBlocks extends Around implements BlockedSource {
  /** A block is kept as it was read. `sample` loads the one row that it is asked for. */
  override readonly load = undefined
  override readonly loadedBytes = undefined
  /** What is read of a block, for the columns that were asked for: the merged ranges of all its rows. */
  private readonly plans = new Map<string, ByteRange[]>()

  constructor(
    readonly within: Source,
    private readonly blocks: Float64Array,
  ) {
    super(within, { units: blocks.length - 1 })
  }

  override unitOf(row: number): number {
    // The last entry is no block but the end.
    return lastAtMost(this.blocks, row, 0, this.blocks.length - 2)
  }

  override plan(block: number, columns: readonly string[]): ByteRange[] {
    const key = `${block} ${columns.join()}`
    let plan = this.plans.get(key)
    if (plan === undefined) {
      plan = this.planAnew(block, columns)
      if (this.plans.size >= KEPT) this.plans.delete(this.plans.keys().next().value!)
      this.plans.set(key, plan)
    }
    return plan
  }

  override sample(
    row: number,
    pieces: readonly Uint8Array[],
    columns: readonly string[],
  ): Record<string, Column> {
    const { within } = this
    const planned = this.plan(this.unitOf(row), columns)
    const own = within.plan(row, columns).map(range => {
      const i = planned.findIndex(piece => piece.file === range.file && contains(piece, range))
      const at = range.offset - planned[i].offset
      return pieces[i].subarray(at, at + range.length)
    })
    return within.sample(row, within.load === undefined ? own : within.load(row, own), columns)
  }

  private planAnew(block: number, columns: readonly string[]): ByteRange[] {
    const ranges: ByteRange[] = []
    for (let row = this.blocks[block]; row < this.blocks[block + 1]; row++)
      ranges.push(...this.within.plan(row, columns))
    return joined(ranges)
  }
}

function contains(piece: ByteRange, range: ByteRange): boolean {
  return range.offset >= piece.offset && range.offset + range.length <= piece.offset + piece.length
}

/** Joins neighbours. Rows of a block lie one behind the other, so one pass is enough. */
function joined(ranges: readonly ByteRange[]): ByteRange[] {
  const pieces: ByteRange[] = []
  for (const range of ranges) {
    const last = pieces.at(-1)
    const gap = last && last.file === range.file ? range.offset - (last.offset + last.length) : Infinity
    if (last && gap >= 0 && gap <= GAP) last.length = range.offset + range.length - last.offset
    else pieces.push({ ...range })
  }
  return pieces
}
