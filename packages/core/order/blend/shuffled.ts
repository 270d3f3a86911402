/**
 * The shuffled choice among the sources of a blend. Units are cut into blocks of 1,024; `apportion.ts` says how many of a block belong to
 * each source, and how many did before it; inside the block the sources are shuffled.
 */
import { hashText, Random } from '../../basics/random.js'
import { shuffle } from '../permutation.js'
import { BLOCK, BLOCKS, scheduleExtras } from './apportion.js'
import type { Choice, ChoiceData, Pick } from './choice.js'

export class ShuffledChoice implements Choice {
  /** The blocks used last, by number modulo their number. */
  private readonly kept: (Block | undefined)[] = [undefined, undefined, undefined, undefined]

  constructor(
    private readonly data: ChoiceData,
    private readonly seed: number,
  ) {}

  at(unit: number, out: Pick): Pick {
    const number = Math.floor(unit / BLOCK)
    const block = this.block(number)
    const inBlock = unit - number * BLOCK
    const one = block.labels[inBlock]
    out.one = one
    out.before = beforeBlock(this.data, one, number) + block.ranks[inBlock]
    return out
  }

  counts(unit: number): Float64Array {
    const { shares } = this.data
    const number = Math.floor(unit / BLOCK)
    const counts = Float64Array.from(shares, (_, one) => beforeBlock(this.data, one, number))
    const { labels } = this.block(number)
    for (let i = 0; i < unit - number * BLOCK; i++) counts[labels[i]]++
    return counts
  }

  private block(number: number): Block {
    const way = number % this.kept.length
    const kept = this.kept[way]
    if (kept?.number === number) return kept
    return (this.kept[way] = new Block(this.data, this.seed, number))
  }
}

/** Extra units of each source before each block of a round. */
export function extrasOf(data: ChoiceData): Uint16Array {
  data.extras ??= scheduleExtras(data.shares)
  return data.extras
}

/** Units of a source before a block. */
function beforeBlock(data: ChoiceData, one: number, block: number): number {
  const { shares } = data
  const round = Math.floor(block / BLOCKS)
  const inRound = block - round * BLOCKS
  const share = shares[one]
  const even = Math.floor(share / BLOCKS) * inRound
  return round * share + even + extrasOf(data)[inRound * shares.length + one]
}

/** The sources of 1,024 units, shuffled, and for each unit how many of its source come before it in the block. */
class Block {
  readonly labels = new Uint16Array(BLOCK)
  readonly ranks = new Uint16Array(BLOCK)

  constructor(
    data: ChoiceData,
    seed: number,
    readonly number: number,
  ) {
    let filled = 0
    const sources = data.shares.length
    for (let one = 0; one < sources; one++) {
      const count = beforeBlock(data, one, number + 1) - beforeBlock(data, one, number)
      this.labels.fill(one, filled, (filled += count))
    }
    // Keyed by the first unit, which no other block of this choice has, whatever the weights.
    shuffle(this.labels, new Random().key(seed, 0, data.from + number * BLOCK, hashText(data.stream)))
    const seen = new Uint16Array(sources)
    for (let i = 0; i < BLOCK; i++) this.ranks[i] = seen[this.labels[i]]++
  }
}
