/** TFRecord files: finds them, finds or builds the index of each, and reads their records while a feed runs. */
import { PerColumns } from '../../core/basics/per-columns.js'
import type { PathsJson } from '../../core/define/types.js'
import { type DataFile, findDataFiles } from '../../core/source/find/data-files.js'
import type { ColumnLayout, Layout } from '../../core/source/layout.js'
import type { Columns, Manifest, OpenContext, SourceKind } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { type IndexedFile, indexedFiles } from '../indexed-files.js'
import { numberUnits } from '../packed/units.js'
import { withPath } from '../paths.js'
import { SplitFile, SplitRows } from '../rows-of-files.js'
import { obtainFileIndexes } from '../shared/index-of-files.js'
import { type Opened, openMany } from '../shared/index-of-source.js'
import { ExampleReader, targetsOf } from './example.js'
import { TFRECORD_INDEX, type TfrecordMeta } from './index.js'
import { dataOf } from './record.js'

/** The column with a record's bytes as they are. */
const RECORD = 'record'

interface TfrecordManifest extends Manifest {
  kind: 'tfrecord'
  files: IndexedFile[]
  /** Of the first records. */
  schema: ColumnLayout[]
  /** Whether the data's checksums are compared. */
  check: boolean
  /** Of compressed files. */
  unitStarts?: Float64Array
}

class TfrecordSource extends SplitRows<SplitFile> {
  private readonly reader = new ExampleReader()
  private readonly targets = new PerColumns(columns => targetsOf(columns.filter(name => name !== RECORD)))

  constructor(private readonly manifest: TfrecordManifest) {
    const { files, schema } = manifest
    const columns = [...schema.map(({ name }) => name).filter(name => name !== RECORD), RECORD]
    super(manifest, columns, i => new SplitFile(files[i]))
  }

  protected read(record: Uint8Array, _file: SplitFile, _row: number, columns: readonly string[]): Columns {
    const out: Columns = {}
    const data = dataOf(record, this.manifest.check)
    const targets = this.targets.of(columns)
    if (targets.length > 0) this.reader.read(data, targets, out)
    if (columns.includes(RECORD)) out[RECORD] = data
    return out
  }

  protected schema(): Layout {
    const { schema, files } = this.manifest
    return {
      schema: [...schema, { name: RECORD, type: 'bytes' }],
      chunks: `${this.count} records in ${files.length} ${files.length === 1 ? 'file' : 'files'}`,
    }
  }
}

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
