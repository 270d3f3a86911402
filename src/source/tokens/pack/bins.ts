/**
 * Bins: the rows that best-fit packing makes, in a form in which a row is found at once. Kept as an index (kept-pack.ts).
 *
 *   first[row]             first piece of each row behind the full ones, and the number of pieces at the end
 *   at[piece]              first token of the piece, counted through all files
 *   size[piece]            places that it takes
 *   whole[piece]           1: a document from its beginning; only where a token is put before documents
 *   longFirst[document]    first full row of each long document, and the number of full rows at the end
 *   longAt, longTokens     first token of a long document, counted through all files, and how many it has
 *
 * Columns are made while they are written: of a hundred million documents, none of them is held in memory.
 */
import type { NumberType } from '../../index/columns.js'
import { packBestFit, piecesOf, restOf } from './best-fit.js'
import type { Corpus } from './corpus.js'
import { MadeColumn } from './made-column.js'
import { type PackRules, placesOf } from './places.js'

export interface BinsBuilt {
  rows: number
  full: number
  /** Places that no token takes. */
  padding: number
  /** Pieces of a row, at most. */
  most: number
  columns: Record<string, MadeColumn>
}

export function buildBins(rules: PackRules, corpus: Corpus): BinsBuilt {
  const { length, long, bos } = rules
  const { count } = corpus
  const taken = (document: number): number => placesOf(rules, corpus.tokens(document))
  const packed = packBestFit(count, taken, length, long)
  const { others, full, padding } = packed

  const fullOf = (document: number): number => piecesOf(taken(document), length, long)
  let longs = 0
  for (let i = 0; i < count; i++) if (fullOf(i) > 0) longs++

  const documents: number[] = []
  const rests: number[] = []
  /** Tokens of the file before the rest of a document. What is put before the document is none of them. */
  const before = (document: number): number => {
    const all = taken(document)
    const offset = all - restOf(all, length, long)
    return offset === 0 || bos === undefined ? offset : offset - 1
  }
  const ofPieces = (type: NumberType, value: (document: number) => number): MadeColumn =>
    new MadeColumn(type, packed.pieces, function* (put) {
      for (let row = 0; row < others; row++) {
        const here = packed.documents(row, documents)
        let full = false
        for (let k = 0; k < here; k++) full = put(value(documents[k]))
        if (full) yield
      }
    })
  const ofLong = (type: NumberType, value: (document: number) => number): MadeColumn =>
    new MadeColumn(type, longs, function* (put) {
      for (let i = 0; i < count; i++) if (fullOf(i) > 0 && put(value(i))) yield
    })
  const columns: BinsBuilt['columns'] = {
    first: new MadeColumn('u32', others + 1, function* (put) {
      let next = 0
      put(0)
      for (let row = 0; row < others; row++) if (put((next += packed.count(row)))) yield
    }),
    at: ofPieces('f64', document => corpus.start(document) + before(document)),
    size: new MadeColumn(length <= 65536 ? 'u16' : 'u32', packed.pieces, function* (put) {
      for (let row = 0; row < others; row++) {
        const here = packed.rests(row, rests)
        let full = false
        for (let k = 0; k < here; k++) full = put(rests[k])
        if (full) yield
      }
    }),
    ...(bos !== undefined && {
      whole: ofPieces('u8', document => (taken(document) < length ? 1 : 0)),
    }),
    longFirst: new MadeColumn('u32', longs + 1, function* (put) {
      let next = 0
      put(0)
      for (let i = 0; i < count; i++) if (fullOf(i) > 0 && put((next += fullOf(i)))) yield
    }),
    longAt: ofLong('f64', document => corpus.start(document)),
    longTokens: ofLong('u32', document => corpus.tokens(document)),
  }
  return { rows: packed.rows, full, padding, most: Math.max(full > 0 ? 1 : 0, packed.most), columns }
}
