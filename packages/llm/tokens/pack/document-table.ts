/**
 * Rows of one document each, or of a piece of one. A row is found by a search.
 *
 *   first[document]     first row of each document that has rows, and the number of rows at the end
 *   at, tokens          its first token, counted through all files, and how many it has
 */
import type { NumberType } from '../../../core/source/index/columns.js'
import type { Corpus } from './corpus.js'
import { MadeColumn } from './made-column.js'
import { type PackRules, placesOf } from './places.js'

export interface DocumentsBuilt {
  rows: number
  padding: number
  columns: Record<string, MadeColumn>
}

/** Rows that a document becomes. */
function rowsOf({ length, long }: PackRules, places: number): number {
  if (places <= length) return places > 0 ? 1 : 0
  if (long === 'split') return Math.ceil(places / length)
  return long === 'truncate' ? 1 : 0
}

export function buildDocuments(rules: PackRules, corpus: Corpus): DocumentsBuilt {
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
  const ofDocuments = (type: NumberType, value: () => (document: number) => number): MadeColumn =>
    new MadeColumn(type, documents, function* (put) {
      const of = value()
      for (let i = 0; i < count; i++) if (rowsHere(i) > 0 && put(of(i))) yield
    })
  const first = new MadeColumn(rows < 2 ** 32 ? 'u32' : 'f64', documents + 1, function* (put) {
    let next = 0
    put(0)
    for (let i = 0; i < count; i++) if (rowsHere(i) > 0 && put((next += rowsHere(i)))) yield
  })
  const at = ofDocuments('f64', () => corpus.starts())
  const tokens = ofDocuments('u32', () => document => corpus.tokens(document))
  return { rows, padding: rows * rules.length - used, columns: { first, at, tokens } }
}
