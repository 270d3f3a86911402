/** Rows of several documents each, as best-fit packing made them (pack/bins.ts). */
import type { NumberArray } from '../../../core/source/index/columns.js'
import { type PackRules, tokensWith } from '../pack/places.js'
import type { Stretches } from '../token-rows.js'
import { lastFirst } from './document-rows.js'
import { type KeptRows, openKept } from './kept-rows.js'
import { addPiece } from './piece.js'
import type { RowPlace, RowPlaces } from './row-places.js'
import { Stream } from './stream.js'

export class BinRows implements RowPlaces {
  readonly count: number
  readonly moves = false
  readonly crosses = false
  private readonly stream: Stream
  private readonly full: number
  private readonly rules: PackRules
  private readonly first: NumberArray
  private readonly at: NumberArray
  private readonly size: NumberArray
  private readonly longFirst: NumberArray
  private readonly longAt: NumberArray
  private readonly longTokens: NumberArray

  constructor(data: KeptRows) {
    const index = openKept(data)
    this.count = data.count
    this.full = data.full
    this.rules = data.rules
    this.stream = new Stream(data.runs)
    this.first = index.numbers('first')
    this.at = index.numbers('at')
    this.size = index.numbers('size')
    this.longFirst = index.numbers('longFirst')
    this.longAt = index.numbers('longAt')
    this.longTokens = index.numbers('longTokens')
  }

  stretches(row: number, _epoch: number, out: Stretches): void {
    if (row < this.full) {
      this.fullRow(row, out)
      return
    }
    const { rules, first, stream } = this
    const { extra, bos, eod } = rules
    let place = 0
    for (let piece = first[row - this.full]; piece < first[row - this.full + 1]; piece++) {
      const size = this.size[piece]
      const at = this.at[piece]
      if (bos === undefined && eod === undefined) stream.stretches(at, at + size + extra, place, out)
      else this.piece(at < 0 ? -1 - at : at, size + extra, at >= 0, place, out)
      place += size
    }
  }

  begin(row: number): RowPlace {
    const start =
      row < this.full ? this.longAt[lastFirst(this.longFirst, row)] : this.at[this.first[row - this.full]]
    return this.stream.locate(start)
  }

  id(row: number): string {
    return `#${row}`
  }

  /** The last `tokens` of a document, of which `start` is the first in the file, with what is put in; `whole`: they are all of it. */
  private piece(start: number, tokens: number, whole: boolean, place: number, out: Stretches): void {
    const { rules, stream } = this
    const { bos, eod } = rules
    const inFile = tokens - (whole && bos !== undefined ? 1 : 0) - (eod === undefined ? 0 : 1)
    const lead = bos !== undefined && !whole ? 1 : 0
    // A piece that is not the beginning of its document is taken from its second token on: behind what is put before it.
    const document = { start: start - lead, all: inFile + lead }
    addPiece(rules, stream, document, 2 * lead, tokens, place, out)
  }

  /** A full piece of a long document. */
  private fullRow(row: number, out: Stretches): void {
    const { rules, stream } = this
    const long = lastFirst(this.longFirst, row)
    const from = (row - this.longFirst[long]) * rules.length
    const document = { start: this.longAt[long], all: this.longTokens[long] }
    const tokens = Math.min(rules.length + rules.extra, tokensWith(rules, document.all) - from)
    addPiece(rules, stream, document, from, tokens, 0, out)
  }
}
