/** TFRecord files while a feed runs: a record is a row. */
import { PerColumns } from '../../core/basics/per-columns.js'
import type { ColumnLayout, Layout } from '../../core/source/layout.js'
import type { Columns, Manifest } from '../../core/source/source.js'
import type { IndexedFile } from '../indexed-files.js'
import { SplitFile, SplitRows } from '../rows-of-files.js'
import { ExampleReader, targetsOf } from './example.js'
import { dataOf } from './record.js'

/** The column with a record's bytes as they are. */
const RECORD = 'record'

export interface TfrecordManifest extends Manifest {
  kind: 'tfrecord'
  files: IndexedFile[]
  /** Of the first records. */
  schema: ColumnLayout[]
  /** Whether the data's checksums are compared. */
  check: boolean
  /** Of compressed files. */
  unitStarts?: Float64Array
}

export class TfrecordSource extends SplitRows<SplitFile> {
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
