/** Files that have an index each: what manifests of them have in common. */

import { createHash } from 'node:crypto'
import { SourceError } from '../core/basics/errors.js'
import { joined } from '../core/source/combine/combined.js'
import type { DataFile } from '../core/source/find/data-files.js'
import { attachedIndex, type IndexFile } from '../core/source/index/file.js'
import type { IndexFound } from '../core/source/index/place.js'
import type { Manifest } from '../core/source/source.js'
import type { Version } from '../core/store/store.js'
import type { PackedCodec, PackedFile } from './packed/units.js'

/** A file as a manifest has it. */
export interface IndexedFile extends PackedFile {
  /** Name in ids. */
  name: string
  /** Of the index's header, so that a maker doesn't attach to another index than the one that was opened. */
  checksum: number
  /** The file as it was when the feed was opened. */
  was: Version
}

/** What the header of each index tells. */
interface Meta {
  /** Of the file's contents, as far as they decide which rows there are. */
  digest: string
  codec?: PackedCodec
}

/** What follows from the files and their indexes. Where there is no row, `none` says what to do. */
export function indexedFiles<Kind extends string>(
  kind: Kind,
  files: readonly DataFile[],
  indexes: readonly IndexFound[],
  none: string,
): Pick<Manifest, 'fingerprint' | 'indexBytes' | 'stamp'> & { kind: Kind; files: IndexedFile[] } {
  const hash = createHash('sha256')
  const metas = indexes.map(({ header }) => header.meta as unknown as Meta)
  const counts = indexes.map(({ header }) => header.count)
  files.forEach(({ name }, i) => {
    hash.update(`${name}\n${counts[i]}\n${metas[i].digest}\n`)
  })
  const count = counts.reduce((sum, n) => sum + n, 0)
  if (count === 0)
    throw new SourceError(`no row in ${files.map(({ file }) => file).join(', ')}: ${none}`, {
      file: files[0].file,
    })
  const parts = files.map(({ name, bytes }, i) => ({ name, count: counts[i], bytes }))
  return {
    kind,
    fingerprint: { kind, count, digest: hash.digest('hex').slice(0, 32), parts },
    stamp: joined(files.map(({ version }, i) => `${timeOf(version)} ${indexes[i].header.checksum}`)),
    indexBytes: indexes.reduce((sum, { header }) => sum + header.bytes, 0),
    files: files.map(({ file, name, version: was }, i) => {
      const { path: index, header } = indexes[i]
      const { codec } = metas[i]
      return { file, name, index, checksum: header.checksum, count: counts[i], was, ...(codec && { codec }) }
    }),
  }
}

/** What tells that a file was written again. */
export const timeOf = (version: Version): string | number =>
  typeof version === 'string' ? version : version.mtimeMs

/** Maps the index of a file. `was`: what every read of the file is compared with. */
export function attachIndex({ file, index: path, checksum, was }: IndexedFile): {
  index: IndexFile
  was: Version
} {
  const index = attachedIndex(path, checksum, file)
  return { index, was: typeof was === 'string' ? was : { ...was, probes: index.numbers('probes') } }
}
