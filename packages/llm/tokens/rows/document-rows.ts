/** Rows of one document each, or of a piece of one (pack/document-table.ts). */
import type { NumberArray } from '../../../core/source/index/columns.js'
import { type PackRules, tokensWith } from '../pack/places.js'
import type { Stretches } from '../token-rows.js'
import { type KeptRows, openKept } from './kept-rows.js'
import { addPiece } from './piece.js'
import type { RowPlace, RowPlaces } from './row-places.js'
import { Stream } from './stream.js'

export class DocumentRows implements RowPlaces {
  readonly count: number
  readonly moves = false
  readonly crosses = false
  private readonly stream: Stream
  private readonly rules: PackRules
  private readonly first: NumberArray
  private readonly at: NumberArray
  private readonly tokens: NumberArray

  constructor(data: KeptRows) {
    const index = openKept(data)
    this.count = data.count
    this.rules = data.rules
    this.stream = new Stream(data.runs)
    this.first = index.numbers('first')
    this.at = index.numbers('at')
    this.tokens = index.numbers('tokens')
  }

  stretches(row: number, _epoch: number, out: Stretches): void {
    const { rules, stream } = this
    const number = this.documentOf(row)
    const from = (row - this.first[number]) * rules.length
    const document = { start: this.at[number], all: this.tokens[number] }
    addPiece(rules, stream, document, from, this.tokensFrom(number, from), 0, out)
  }

  places(row: number): number {
    const number = this.documentOf(row)
    return this.tokensFrom(number, (row - this.first[number]) * this.rules.length) - this.rules.extra
  }

  private documentOf(row: number): number {
    return this.first.length === this.count + 1 ? row : lastFirst(this.first, row)
  }

  /** Tokens of a document's row that begins with one of them. */
  private tokensFrom(document: number, from: number): number {
    const { rules } = this
    return Math.min(rules.length + rules.extra, tokensWith(rules, this.tokens[document]) - from)
  }

  begin(row: number): RowPlace {
    const number = this.documentOf(row)
    const from = (row - this.first[number]) * this.rules.length
    // What is put before a document is no token of the file.
    const offset = from === 0 || this.rules.bos === undefined ? from : from - 1
    return this.stream.locate(this.at[number] + Math.min(offset, this.tokens[number] - 1))
  }
}

/** The last entry but one that is not above a row: entries are first rows, and their number at the end. */
export function lastFirst(firsts: NumberArray, row: number): number {
  let low = 0
  let high = firsts.length - 2
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2)
    if (firsts[middle] <= row) low = middle
    else high = middle - 1
  }
  return low
}
