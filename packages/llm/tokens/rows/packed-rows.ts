/** Rows of documents, whose places lie in an index (pack/tables.ts). */

import type { NumberArray } from '../../../core/source/index/columns.js'
import { attachKept } from '../kept-tables.js'
import { type PackRules, tokensWith } from '../pack/places.js'
import type { Stretches } from '../token-rows.js'
import { INSERTED } from './row-columns.js'
import type { RowPlace, RowPlaces } from './row-places.js'
import { Stream, type StreamRuns } from './stream.js'

/** Plain data. */
export interface KeptRows {
  pack: 'bestFit' | 'document'
  runs: StreamRuns
  rules: PackRules
  count: number
  /** bestFit: rows that are full pieces of long documents. */
  full: number
  path: string
  checksum: number
}

/** What both have: an index, which threads map, and the stream that its places are of. */
abstract class PackedRows {
  readonly count: number
  readonly moves = false
  readonly crosses = false
  protected readonly stream: Stream
  protected readonly rules: PackRules
  protected readonly first: NumberArray
  protected readonly at: NumberArray

  constructor(
    data: KeptRows,
    protected readonly index = attachKept(data, 'where packed rows are kept,'),
  ) {
    this.count = data.count
    this.rules = data.rules
    this.stream = new Stream(data.runs)
    this.first = index.numbers('first')
    this.at = index.numbers('at')
  }

  /** Adds the row of a document that begins with its token `from`, or as much as there is of it. */
  protected addRow(document: { start: number; all: number }, from: number, out: Stretches): void {
    addPiece(this.rules, this.stream, document, from, this.tokensFrom(document.all, from), 0, out)
  }

  /** Tokens of the row that begins with one of them. */
  protected tokensFrom(all: number, from: number): number {
    const { rules } = this
    return Math.min(rules.length + rules.extra, tokensWith(rules, all) - from)
  }
}

/** Rows of one document each, or of a piece of one. */
export class DocumentRows extends PackedRows implements RowPlaces {
  private readonly tokens = this.index.numbers('tokens')

  stretches(row: number, _epoch: number, out: Stretches): void {
    const number = this.documentOf(row)
    const from = (row - this.first[number]) * this.rules.length
    this.addRow({ start: this.at[number], all: this.tokens[number] }, from, out)
  }

  places(row: number): number {
    const number = this.documentOf(row)
    const from = (row - this.first[number]) * this.rules.length
    return this.tokensFrom(this.tokens[number], from) - this.rules.extra
  }

  private documentOf(row: number): number {
    return this.first.length === this.count + 1 ? row : lastFirst(this.first, row)
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
function lastFirst(firsts: NumberArray, row: number): number {
  let low = 0
  let high = firsts.length - 2
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2)
    if (firsts[middle] <= row) low = middle
    else high = middle - 1
  }
  return low
}

/**
 * Adds tokens `from` to `from` + `tokens` − 1 of a document, counted with what is put in, from `place` on. `start`: its first token,
 * counted through all files; `all`: how many it has there.
 */
function addPiece(
  rules: PackRules,
  stream: Stream,
  document: { start: number; all: number },
  from: number,
  tokens: number,
  place: number,
  out: Stretches,
): void {
  const { bos, eod } = rules
  const { start, all } = document
  const to = from + tokens
  const lead = bos === undefined ? 0 : 1
  const first = out.count
  if (bos !== undefined && from === 0) out.add(INSERTED, bos, 1, place)
  const low = Math.max(from, lead)
  const high = Math.min(to, lead + all)
  if (high > low)
    stream.stretches(start + low - lead, start + high - lead, place + low - from, out, out.count > first)
  if (eod !== undefined && to === lead + all + 1)
    out.add(INSERTED, eod, 1, place + tokens - 1, out.count > first)
}

/** Rows of several documents each, as best-fit packing made them. */
export class BinRows extends PackedRows implements RowPlaces {
  private readonly full: number
  private readonly size = this.index.numbers('size')
  private readonly longFirst = this.index.numbers('longFirst')
  private readonly longAt = this.index.numbers('longAt')
  private readonly longTokens = this.index.numbers('longTokens')

  constructor(data: KeptRows) {
    super(data)
    this.full = data.full
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
    const long = lastFirst(this.longFirst, row)
    const from = (row - this.longFirst[long]) * this.rules.length
    this.addRow({ start: this.longAt[long], all: this.longTokens[long] }, from, out)
  }
}
