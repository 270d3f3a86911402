/**
 * A source whose units are blocks of consecutive rows, around one whose units are single rows. A windowed order
 * draws from a few dozen blocks at a time: reading each as a whole, once, is sequential reading.
 */
import { lastAtMost } from '../../basics/search.js'
import type { ByteRange, Source } from '../source.js'

/** Rows whose bytes lie this close together (a tar header or two) are read as one piece. */
const GAP = 4096
/** Plans of the blocks in use are kept: a window holds some 256 blocks, and two windows overlap. */
const KEPT = 768

/** A source of blocks, and the source of rows within it. */
export interface BlockedSource extends Source {
  readonly within: Source
}

interface BlockPlan {
  /** What is read: the merged ranges of all rows. */
  pieces: ByteRange[]
}

/** `blocks` holds the first row of each block, and the number of rows at its end. */
export function inBlocks(source: Source, blocks: Float64Array): BlockedSource {
  const plans = new Map<string, BlockPlan>()

  // The last entry is no block but the end.
  const blockOf = (row: number): number => lastAtMost(blocks, row, 0, blocks.length - 2)

  const planOf = (block: number, columns: readonly string[]): BlockPlan => {
    const key = `${block} ${columns.join()}`
    let plan = plans.get(key)
    if (plan === undefined) {
      const ranges: ByteRange[] = []
      for (let row = blocks[block]; row < blocks[block + 1]; row++) ranges.push(...source.plan(row, columns))
      plan = { pieces: joined(ranges) }
      if (plans.size >= KEPT) plans.delete(plans.keys().next().value!)
      plans.set(key, plan)
    }
    return plan
  }

  return {
    within: source,
    count: source.count,
    units: blocks.length - 1,
    columns: source.columns,
    runs: source.runs,
    indexed: source.indexed,
    id: row => source.id(row),
    key: row => source.key(row),
    index: name => source.index(name),
    keyHash: source.keyHash?.bind(source),
    where: source.where?.bind(source),
    foresee: source.foresee?.bind(source),
    unitOf: blockOf,
    plan: (block, columns) => planOf(block, columns).pieces,
    sample(row, pieces, columns) {
      const { pieces: planned } = planOf(blockOf(row), columns)
      const own = source.plan(row, columns).map(range => {
        const i = planned.findIndex(piece => piece.file === range.file && contains(piece, range))
        const at = range.offset - planned[i].offset
        return pieces[i].subarray(at, at + range.length)
      })
      return source.sample(row, own, columns)
    },
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
