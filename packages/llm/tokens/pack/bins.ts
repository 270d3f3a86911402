/**
 * Bins: the rows that best-fit packing makes, in a form in which a row is found at once. Kept as an index (kept-pack.ts).
 *
 *   first[row]             first piece of each row behind the full ones, and the number of pieces at the end
 *   at[piece]              first token of the piece, counted through all files; negative, less 1, where the piece is not a
 *                          document from its beginning and a token is put before documents
 *   size[piece]            places that it takes
 *   longFirst[document]    first full row of each long document, and the number of full rows at the end
 *   longAt, longTokens     first token of a long document, counted through all files, and how many it has
 *   most                   documents of a row, at most
 *
 * Columns are made while they are written: of a hundred million documents, none of them is held in memory.
 */
import type { NumberType } from '../../../core/source/index/columns.js'
import { packBestFit, piecesOf, restOf } from './best-fit.js'
import type { Corpus } from './corpus.js'
import { MadeColumn } from './made-column.js'
import { type PackRules, placesOf } from './places.js'

export interface BinsBuilt {
  rows: number
  full: number
  /** Places that no token takes. */
  padding: number
  columns: Record<string, MadeColumn>
}

/** Marks the rest of a long document: there is no token before it that would be put in. Beyond all places of tokens. */
const REST = 2 ** 47

export function buildBins(rules: PackRules, corpus: Corpus): BinsBuilt {
  const { length, long, bos } = rules
  const { count } = corpus
  const taken = (document: number): number => placesOf(rules, corpus.tokens(document))
  const fullOf = (document: number): number => piecesOf(taken(document), length, long)
  const start = corpus.starts()
  /** Where the rest of a document begins in its file. What is put before the document is no token of the file. */
  const mark = (document: number): number => {
    const all = taken(document)
    if (all < length) return start(document)
    const offset = all - restOf(all, length, long)
    return bos === undefined ? start(document) + offset : REST + start(document) + offset - 1
  }
  const packed = packBestFit({ count, taken, mark }, length, long)
  const { others, full, padding } = packed
  let longs = 0
  for (let i = 0; i < count; i++) if (fullOf(i) > 0) longs++

  const found: number[] = []
  let most = full > 0 ? 1 : 0
  const ofPieces = (type: NumberType, find: (row: number, out: number[]) => number): MadeColumn =>
    new MadeColumn(type, packed.pieces, function* (put) {
      for (let row = 0; row < others; row++) {
        const here = find(row, found)
        if (here > most) most = here
        let full = false
        for (let k = 0; k < here; k++) full = put(found[k])
        if (full) yield
      }
    })
  const ofLong = (type: NumberType, value: () => (document: number) => number): MadeColumn =>
    new MadeColumn(type, longs, function* (put) {
      const of = value()
      for (let i = 0; i < count; i++) if (fullOf(i) > 0 && put(of(i))) yield
    })
  const columns: BinsBuilt['columns'] = {
    at: ofPieces('f64', (row, out) => {
      const here = packed.marks(row, out)
      for (let k = 0; k < here; k++) if (out[k] >= REST) out[k] = REST - 1 - out[k]
      return here
    }),
    size: ofPieces(length <= 65536 ? 'u16' : 'u32', (row, out) => packed.sizes(row, out)),
    first: new MadeColumn('u32', others + 1, function* (put) {
      let next = 0
      put(0)
      for (let row = 0; row < others; row++) if (put((next += packed.count(row)))) yield
    }),
    longFirst: new MadeColumn('u32', longs + 1, function* (put) {
      let next = 0
      put(0)
      for (let i = 0; i < count; i++) if (fullOf(i) > 0 && put((next += fullOf(i)))) yield
    }),
    longAt: ofLong('f64', () => corpus.starts()),
    longTokens: ofLong('u32', () => document => corpus.tokens(document)),
    most: new MadeColumn('u32', 1, function* (put) {
      if (put(most)) yield
    }),
  }
  return { rows: packed.rows, full, padding, columns }
}
