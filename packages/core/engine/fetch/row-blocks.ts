/**
 * A windowed order draws from a few dozen blocks of rows at a time. What the rows of a block need for themselves is read as
 * one, and kept: each block is read once, and the disk reads in sequence.
 */
import { lastAtMost } from '../../basics/search.js'
import type { SourceOrder } from '../../order/single.js'
import { WindowOrder } from '../../order/window.js'
import type { ByteRange, Need, Source } from '../../source/source.js'

/** Rows whose bytes lie this close together (a tar header or two) are read as one piece. */
const GAP = 4096
/** Plans of the blocks in use are kept: a window holds some 256 blocks, and two windows overlap. */
const KEPT = 768

/** The blocks of an order by windows; undefined where it has none of several rows. */
export function blocksOf(order: SourceOrder): Float64Array | undefined {
  return order instanceof WindowOrder && order.blocks.length <= order.length ? order.blocks : undefined
}

export class RowBlocks {
  /** What is read of a block: the joined ranges of all its rows. */
  private readonly plans = new Map<number, ByteRange[]>()
  private plannedEpoch = 0

  constructor(
    private readonly source: Source,
    private readonly columns: readonly string[],
    /** First row of each block, and the number of rows at the end. */
    private readonly blocks: Float64Array,
  ) {}

  get count(): number {
    return this.blocks.length - 1
  }

  blockOf(row: number): number {
    // The last entry is no block but the end.
    return lastAtMost(this.blocks, row, 0, this.blocks.length - 2)
  }

  /** The ranges to read of a block. */
  plan(block: number, epoch: number): ByteRange[] {
    if (this.source.movesWithEpoch && epoch !== this.plannedEpoch) this.plans.clear()
    this.plannedEpoch = epoch
    let plan = this.plans.get(block)
    if (plan === undefined) {
      plan = this.planAnew(block, epoch)
      if (this.plans.size >= KEPT) this.plans.delete(this.plans.keys().next().value!)
      this.plans.set(block, plan)
    }
    return plan
  }

  private planAnew(block: number, epoch: number): ByteRange[] {
    const need: Need = { ranges: [], units: [] }
    for (let row = this.blocks[block]; row < this.blocks[block + 1]; row++)
      this.source.need(row, epoch, this.columns, need)
    return joined(need.ranges)
  }
}

/** The piece of a range that was read as a part of one of these. */
export function pieceOf(
  range: ByteRange,
  reads: readonly ByteRange[],
  pieces: readonly Uint8Array[],
): Uint8Array {
  let i = 0
  while (reads[i].file !== range.file || !contains(reads[i], range)) i++
  const at = range.offset - reads[i].offset
  return pieces[i].subarray(at, at + range.length)
}

function contains(read: ByteRange, range: ByteRange): boolean {
  return range.offset >= read.offset && range.offset + range.length <= read.offset + read.length
}

/** Joins neighbours. Rows of a block lie one behind the other, so one pass is enough. */
function joined(ranges: readonly ByteRange[]): ByteRange[] {
  const reads: ByteRange[] = []
  for (const range of ranges) {
    const last = reads.at(-1)
    const gap = last && last.file === range.file ? range.offset - (last.offset + last.length) : Infinity
    if (last && gap >= 0 && gap <= GAP) last.length = range.offset + range.length - last.offset
    else reads.push({ ...range })
  }
  return reads
}
