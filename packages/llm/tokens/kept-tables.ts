/** Tables that are made once, when a feed is opened, and kept as an index; threads map them. */
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { SourceError } from '../../core/basics/errors.js'
import { canonicalJson } from '../../core/define/hash.js'
import type { NumberColumn } from '../../core/source/index/columns.js'
import { IndexFile } from '../../core/source/index/file.js'
import { type IndexFound, obtainIndex } from '../../core/source/index/place.js'
import { writeIndex } from '../../core/source/index/write.js'
import type { OpenContext } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { schemeOf } from '../../core/store/stores.js'

/** Tables that are looked for. */
export interface Wanted<Meta> {
  kind: string
  /** The file that they are of. */
  path: string
  /** All that decides them: those that were made of something else are made anew. */
  about: unknown
  /** They may lie beside the file, and not in the cache folder alone. */
  beside: boolean
  make(): Promise<{ count: number; meta: Meta; columns: Record<string, NumberColumn> }>
}

export async function obtainTables<Meta>(
  { kind, path, about, beside, make }: Wanted<Meta>,
  { check, notice }: OpenContext,
): Promise<{ index: IndexFound; meta: Meta }> {
  const made = digest(about)
  const name = made.slice(0, 12)
  const index = await obtainIndex({
    data: `${path}.${name}`,
    ...(beside &&
      schemeOf(path) === undefined && { beside: join(dirname(path), `.${basename(path)}.${name}.millrace`) }),
    problem: header =>
      header.kind === kind && header.meta.about === made ? undefined : 'it was made for other files or rules',
    doubted: check === 'nothing',
    notice,
    build: async target => {
      const { count, meta, columns } = await make()
      writeIndex(target, kind, count, { about: made, ...meta }, columns)
    },
  })
  return { index, meta: index.header.meta as Meta }
}

/** Maps an index. `what` it is, for the message that it is another one now. */
export function attachKept({ path, checksum }: { path: string; checksum: number }, what: string): IndexFile {
  const index = new IndexFile(path, true)
  if (index.header.checksum === checksum) return index
  throw new SourceError(`${path}, ${what} was replaced during the run: start again`, { file: path })
}

/** A digest of plain data. */
export function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 32)
}

/** Identifies a version: a local file by its time of change, since inode and the like differ in a copy. */
export function stampOf(version: Version): unknown {
  return typeof version === 'string' ? version : version.mtimeMs
}
