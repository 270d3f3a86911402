/** The document indices of an .idx, in their order: which sequences make one of Megatron's documents. Read in pieces. */
import { SourceError } from '../../../core/basics/errors.js'
import type { Stores } from '../../../core/store/stores.js'
import { readIndex } from '../../tokens/formats/borders/indexed.js'
import { indexPlaces } from '../../tokens/formats/megatron.js'
import type { TokenIndex } from '../../tokens/formats/token-file.js'

const PIECE = 1 << 16

export class DocumentIndices {
  private readonly values = new Float64Array(PIECE)
  private readonly words = new Uint32Array(2 * PIECE)
  private first = -1

  constructor(
    private readonly index: TokenIndex,
    private readonly stores: Stores,
  ) {}

  /** Entry i; a promise only where it must be read. */
  at(i: number): number | Promise<number> {
    if (this.first >= 0 && i >= this.first && i < this.first + PIECE) return this.values[i - this.first]
    return this.load(i)
  }

  private async load(i: number): Promise<number> {
    const { index, words, values } = this
    const first = i - (i % PIECE)
    const count = Math.min(PIECE, index.documents + 1 - first)
    const offset = indexPlaces(index).documentIndices + 8 * first
    await readIndex(index, this.stores, Buffer.from(words.buffer, 0, 8 * count), offset)
    for (let k = 0; k < count; k++) values[k] = words[2 * k] + 2 ** 32 * (words[2 * k + 1] | 0)
    this.first = first
    return values[i - first]
  }
}

/** What is wrong with a document index, given the one before it; undefined: nothing. */
export function indexProblem(
  index: TokenIndex,
  i: number,
  value: number,
  before: number,
): string | undefined {
  const { sequences, documents } = index
  if (i === 0 && value !== 0) return `document index 0 is ${value}, not 0`
  if (!(value >= before)) return `document index ${i} is ${value}, less than the one before it, ${before}`
  if (value > sequences) return `document index ${i} is ${value}, but there are ${sequences} sequences`
  if (i === documents && value !== sequences)
    return `the last document index is ${value}, not ${sequences}, the number of sequences`
  return undefined
}

export function wrongIndex({ path: file }: TokenIndex, problem: string): SourceError {
  return new SourceError(
    `${file}: ${problem}: the index is damaged (millrace tokens verify tells all that is wrong)`,
    { file },
  )
}
