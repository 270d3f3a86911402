/** Opens TFRecord files: finds them, and finds or builds the index of each. tfrecord-source.ts reads them while the feed runs. */
import { createHash } from 'node:crypto'
import { SourceError } from '../../core/basics/errors.js'
import type { PathsJson } from '../../core/define/types.js'
import { joined } from '../../core/source/combine/combined.js'
import { type DataFile, findDataFiles } from '../../core/source/find/data-files.js'
import type { ColumnLayout } from '../../core/source/layout.js'
import type { OpenContext, SourceKind } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { Stores } from '../../core/store/stores.js'
import { numberUnits } from '../packed/units.js'
import { obtainFileIndexes } from '../shared/index-of-files.js'
import { type Opened, openMany } from '../shared/index-of-source.js'
import { TFRECORD_INDEX, type TfrecordMeta } from './index.js'
import { PackedTfrecord } from './packed-tfrecord.js'
import { type TfrecordManifest, TfrecordSource } from './tfrecord-source.js'

export interface TfrecordJson {
  path: PathsJson
  /** Whether the checksum of each record's data is compared; so it is by default. */
  check?: boolean
}

async function openTfrecord(
  json: string | string[] | TfrecordJson,
  context: OpenContext,
): Promise<TfrecordManifest> {
  const { path, check = true } = typeof json === 'string' || Array.isArray(json) ? { path: json } : json
  using stores = new Stores()
  const files = await findDataFiles(path, context.root, stores, { source: 'tfrecord', what: 'file' })
  return await openMany('tfrecord', files, check, context, context =>
    openIndexes(files, check, context, stores),
  )
}

async function openIndexes(
  files: readonly DataFile[],
  check: boolean,
  context: OpenContext,
  stores: Stores,
): Promise<Opened<TfrecordManifest>> {
  const indexes = await obtainFileIndexes(TFRECORD_INDEX, files, context, stores, 'indexing TFRecord files')
  const metas = indexes.map(({ header }) => header.meta as unknown as TfrecordMeta)
  const hash = createHash('sha256')
  const parts = files.map(({ name, bytes }, i) => {
    const { count } = indexes[i].header
    hash.update(`${name}\n${count}\n${metas[i].digest}\n`)
    return { name, count, bytes }
  })
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  if (count === 0)
    throw new SourceError(`no record in ${files.map(({ file }) => file).join(', ')}: the files are empty`, {
      file: files[0].file,
    })
  const manifest: TfrecordManifest = {
    kind: 'tfrecord',
    fingerprint: { kind: 'tfrecord', count, digest: hash.digest('hex').slice(0, 32), parts },
    stamp: joined(files.map(({ version }, i) => `${timeOf(version)} ${indexes[i].header.checksum}`)),
    indexBytes: indexes.reduce((sum, { header }) => sum + header.bytes, 0),
    files: files.map(({ file, name, version: was }, i) => {
      const { path: index, header } = indexes[i]
      const { codec } = metas[i]
      return {
        file,
        name,
        index,
        checksum: header.checksum,
        count: header.count,
        was,
        ...(codec && { codec }),
      }
    }),
    schema: schemaOf(metas),
    check,
  }
  const unitStarts = numberUnits(manifest.files)
  return { manifest: unitStarts === undefined ? manifest : { ...manifest, unitStarts }, indexes }
}

/** What tells that a file was written again. */
function timeOf(version: Version): string | number {
  return typeof version === 'string' ? version : version.mtimeMs
}

function schemaOf(metas: readonly TfrecordMeta[]): ColumnLayout[] {
  const columns = new Map<string, ColumnLayout>()
  for (const { schema } of metas) {
    for (const column of schema) if (!columns.has(column.name)) columns.set(column.name, column)
  }
  return [...columns.values()]
}

export const tfrecord: SourceKind<PathsJson | TfrecordJson> = {
  open: openTfrecord,
  attach(manifest) {
    const { unitStarts } = manifest as TfrecordManifest
    if (unitStarts === undefined) return new TfrecordSource(manifest as TfrecordManifest)
    return new PackedTfrecord(manifest as TfrecordManifest, unitStarts)
  },
}
