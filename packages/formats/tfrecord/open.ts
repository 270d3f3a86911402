/** Opens TFRecord files: finds them, and finds or builds the index of each. tfrecord-source.ts reads them while the feed runs. */
import type { PathsJson } from '../../core/define/types.js'
import { type DataFile, findDataFiles } from '../../core/source/find/data-files.js'
import { obtainFileIndexes } from '../../core/source/index/of-files.js'
import { type Opened, openMany } from '../../core/source/index/of-source.js'
import type { ColumnLayout } from '../../core/source/layout.js'
import type { OpenContext, SourceKind } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { indexedFiles } from '../indexed-files.js'
import { numberUnits } from '../packed/units.js'
import { withPath } from '../paths.js'
import { TFRECORD_INDEX, type TfrecordMeta } from './index.js'
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
  const { path, check = true } = withPath(json)
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
  const manifest: TfrecordManifest = {
    ...indexedFiles('tfrecord', files, indexes, 'the files are empty'),
    schema: schemaOf(metas),
    check,
  }
  const unitStarts = numberUnits(manifest.files)
  return { manifest: unitStarts === undefined ? manifest : { ...manifest, unitStarts }, indexes }
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
  attach: manifest => new TfrecordSource(manifest as TfrecordManifest),
}
