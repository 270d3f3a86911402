/**
 * Rows that documents are packed into, made once and kept as an index: beside the first file of the corpus, or where indexes go
 * that can't lie there. It is good as long as the files, the marks of documents and the rules of packing are the same.
 */
import { crc32 } from '../../../core/codec/checksum.js'
import type { IndexFound } from '../../../core/source/index/place.js'
import type { OpenContext } from '../../../core/source/source.js'
import type { TokenFile } from '../formats/token-file.js'
import { obtainTables, stampOf } from '../kept-tables.js'
import type { Corpus } from './corpus.js'
import type { PackRules } from './places.js'
import { buildBins, buildDocuments } from './tables.js'

/** Facts that the index has besides its columns. */
export interface PackMeta {
  rows: number
  /** Places that no token takes. */
  padding: number
  full: number
  /** A digest of the lengths of all documents, for the order hash. */
  lengths: string
}

export interface PackWanted {
  pack: 'bestFit' | 'document'
  files: readonly TokenFile[]
  rules: PackRules
  /** All else that decides which documents there are: their marks, their borders, and which are chosen. */
  documents: unknown
  corpus(): Promise<Corpus>
}

export async function obtainPack(
  wanted: PackWanted,
  context: OpenContext,
): Promise<{ index: IndexFound; meta: PackMeta }> {
  const { pack, files, rules, documents } = wanted
  const sizes = files.map(({ name, size, begin, dtype, version, index, borders }) => {
    const side = index ?? borders
    return [name, size, begin, dtype, stampOf(version), side && [side.size, stampOf(side.version)]]
  })
  const make = async () => {
    const corpus = await wanted.corpus()
    context.progress?.(0, 0, 'packing documents', 'documents')
    const build = pack === 'bestFit' ? buildBins : buildDocuments
    const { rows, padding, full, columns } = build(rules, corpus)
    const { buffer, byteOffset, byteLength } = corpus.lengths
    const lengths = crc32(new Uint8Array(buffer, byteOffset, byteLength)).toString(16)
    return { count: rows, meta: { rows, padding, full, lengths }, columns }
  }
  const about = [FORMAT, pack, rules, documents, sizes]
  return obtainTables({ kind: `tokens ${pack}`, path: files[0].path, about, beside: true, make }, context)
}

/** Changes when the columns or the rules of packing do. */
const FORMAT = 1
