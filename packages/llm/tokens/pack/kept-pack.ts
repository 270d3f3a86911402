/**
 * Rows that documents are packed into, made once and kept as an index: beside the first file of the corpus, or where indexes go
 * that can't lie there. It is good as long as the files, the marks of documents and the rules of packing are the same.
 */
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { crc32 } from '../../../core/codec/checksum.js'
import { canonicalJson } from '../../../core/define/hash.js'
import { type IndexFound, obtainIndex } from '../../../core/source/index/place.js'
import { writeIndex } from '../../../core/source/index/write.js'
import type { OpenContext } from '../../../core/source/source.js'
import type { Version } from '../../../core/store/store.js'
import { schemeOf } from '../../../core/store/stores.js'
import type { TokenFile } from '../formats/token-file.js'
import { buildBins } from './bins.js'
import type { Corpus } from './corpus.js'
import { buildDocuments } from './document-table.js'
import type { PackRules } from './places.js'

/** What the index says of the rows. */
export interface PackMeta {
  about: string
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
  const about = digest([
    FORMAT,
    pack,
    rules,
    documents,
    files.map(({ name, size, begin, dtype, version, index, borders }) => {
      const side = index ?? borders
      return [name, size, begin, dtype, stampOf(version), side && [side.size, stampOf(side.version)]]
    }),
  ])
  const kind = `tokens ${pack}`
  const { path } = files[0]
  const local = schemeOf(path) === undefined
  const index = await obtainIndex({
    data: `${path}.${about.slice(0, 12)}`,
    ...(local && { beside: join(dirname(path), `.${basename(path)}.${about.slice(0, 12)}.millrace`) }),
    problem: ({ kind: is, meta }) =>
      is === kind && (meta as unknown as PackMeta).about === about
        ? undefined
        : 'it was made for other files or rules',
    doubted: context.check === 'nothing',
    notice: context.notice,
    build: async target => {
      const corpus = await wanted.corpus()
      context.progress?.(0, 0, 'packing documents', 'documents')
      const built =
        pack === 'bestFit' ? buildBins(rules, corpus) : { ...buildDocuments(rules, corpus), most: 1, full: 0 }
      const { rows, padding, full, columns } = built
      const bytes = new Uint8Array(
        corpus.lengths.buffer,
        corpus.lengths.byteOffset,
        corpus.lengths.byteLength,
      )
      const lengths = crc32(bytes).toString(16)
      const meta: PackMeta = { about, rows, padding, full, lengths }
      writeIndex(target, kind, rows, { ...meta }, columns)
    },
  })
  return { index, meta: index.header.meta as unknown as PackMeta }
}

/** Changes when the columns or the rules of packing do. */
const FORMAT = 1

/** Of a local file size and time of change tell; inode and the like differ in a copy. */
export function stampOf(version: Version): unknown {
  return typeof version === 'string' ? version : version.mtimeMs
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 32)
}
