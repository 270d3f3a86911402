/**
 * The tables of packed rows, which are kept as an index (kept-pack.ts). Columns are made while they are written: of a hundred million
 * documents, none of them is held in memory.
 */
import { NUMBER_ARRAYS, type NumberColumn, type NumberType } from '../../../core/source/index/columns.js'
import { packBestFit, piecesOf, restOf } from './best-fit.js'
import type { Corpus } from './corpus.js'
import { type PackRules, placesOf } from './places.js'

/** Rows of packed documents. */
export interface Built {
  rows: number
  /** Rows that are full pieces of long documents. */
  full: number
  /** Places that no token takes. */
  padding: number
  columns: Record<string, MadeColumn>
}

/** Marks the rest of a long document: there is no token before it that would be put in. Beyond all places of tokens. */
const REST = 2 ** 47

/**
 * The rows that best-fit packing makes, in a form in which a row is found at once.
 *
 *   first[row]             first piece of each row behind the full ones, and the number of pieces at the end
 *   at[piece]              first token of the piece, counted through all files; negative, less 1, where the piece is not a
 *                          document from its beginning and a token is put before documents
 *   size[piece]            places that it takes
 *   longFirst[document]    first full row of each long document, and the number of full rows at the end
 *   longAt, longTokens     first token of a long document, counted through all files, and how many it has
 *   most                   documents of a row, at most
 */
export function buildBins(rules: PackRules, corpus: Corpus): Built {
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
  const columns: Built['columns'] = {
    at: ofPieces('f64', (row, out) => {
      const here = packed.marks(row, out)
      for (let k = 0; k < here; k++) if (out[k] >= REST) out[k] = REST - 1 - out[k]
      return here
    }),
    size: ofPieces(length <= 65536 ? 'u16' : 'u32', (row, out) => packed.sizes(row, out)),
    first: sums('u32', others, others, row => packed.count(row)),
    longFirst: sums('u32', longs, count, fullOf),
    longAt: chosen('f64', longs, count, fullOf, () => corpus.starts()),
    longTokens: chosen('u32', longs, count, fullOf, () => document => corpus.tokens(document)),
    most: new MadeColumn('u32', 1, function* (put) {
      if (put(most)) yield
    }),
  }
  return { rows: packed.rows, full, padding, columns }
}

/** Rows that a document becomes. */
function rowsOf({ length, long }: PackRules, places: number): number {
  if (places <= length) return places > 0 ? 1 : 0
  if (long === 'split') return Math.ceil(places / length)
  return long === 'truncate' ? 1 : 0
}

/**
 * Rows of one document each, or of a piece of one. A row is found by a search.
 *
 *   first[document]     first row of each document that has rows, and the number of rows at the end
 *   at, tokens          its first token, counted through all files, and how many it has
 */
export function buildDocuments(rules: PackRules, corpus: Corpus): Built {
  const { count } = corpus
  const rowsHere = (document: number): number => rowsOf(rules, placesOf(rules, corpus.tokens(document)))
  let documents = 0
  let rows = 0
  let used = 0
  for (let i = 0; i < count; i++) {
    const here = rowsHere(i)
    if (here === 0) continue
    documents++
    rows += here
    used += Math.min(placesOf(rules, corpus.tokens(i)), here * rules.length)
  }
  const columns = {
    first: sums(rows < 2 ** 32 ? 'u32' : 'f64', documents, count, rowsHere),
    at: chosen('f64', documents, count, rowsHere, () => corpus.starts()),
    tokens: chosen('u32', documents, count, rowsHere, () => document => corpus.tokens(document)),
  }
  return { rows, full: 0, padding: rows * rules.length - used, columns }
}

/** Running sums: the first row of each of `count` things, things without rows left out, and last the number of all rows. */
function sums(type: NumberType, length: number, count: number, rows: (i: number) => number): MadeColumn {
  return new MadeColumn(type, length + 1, function* (put) {
    let next = 0
    put(0)
    for (let i = 0; i < count; i++) if (rows(i) > 0 && put((next += rows(i)))) yield
  })
}

/** A value for each of `count` documents, `length` values in all: documents without rows have none. */
function chosen(
  type: NumberType,
  length: number,
  count: number,
  rows: (document: number) => number,
  value: () => (document: number) => number,
): MadeColumn {
  return new MadeColumn(type, length, function* (put) {
    const of = value()
    for (let i = 0; i < count; i++) if (rows(i) > 0 && put(of(i))) yield
  })
}

/** Takes a value. True: it is time to write, and the maker of values should yield. */
export type Put = (value: number) => boolean

/** Values that are written at a time. */
const CHUNK = 1 << 19

class MadeColumn implements NumberColumn {
  constructor(
    readonly type: NumberType,
    readonly length: number,
    /** Puts all values, and yields now and then. */
    private readonly make: (put: Put) => Iterable<void>,
  ) {}

  /** The values as bytes, piece by piece. */
  *pieces(): Generator<Uint8Array> {
    const Type = NUMBER_ARRAYS[this.type]
    let chunk = new Type(2 * CHUNK)
    let used = 0
    const put = (value: number): boolean => {
      if (used === chunk.length) {
        const larger = new Type(2 * used)
        larger.set(chunk)
        chunk = larger
      }
      chunk[used++] = value
      return used >= CHUNK
    }
    for (const _ of this.make(put)) {
      yield new Uint8Array(chunk.buffer, 0, used * chunk.BYTES_PER_ELEMENT)
      used = 0
    }
    if (used > 0) yield new Uint8Array(chunk.buffer, 0, used * chunk.BYTES_PER_ELEMENT)
  }
}
