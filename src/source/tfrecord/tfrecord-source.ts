/** TFRecord files while a feed runs: a record is one range of its file. Each index is mapped when one of its rows is asked for. */
import { SourceError } from '../../basics/errors.js'
import type { Version } from '../../store/store.js'
import { FileRows } from '../file-rows.js'
import { fileKey } from '../find/file-key.js'
import type { NumberArray } from '../index/columns.js'
import { IndexFile } from '../index/file.js'
import type { ColumnLayout, Layout } from '../layout.js'
import type { Column, IndexColumn, Manifest, Need, Pieces, Source } from '../source.js'
import { ExampleReader, type Targets, targetsOf } from './example.js'
import { dataOf } from './record.js'

/** The column with a record's bytes as they are. */
const RECORD = 'record'

export interface TfrecordFile {
  file: string
  /** Name in ids. */
  name: string
  index: string
  /** Of the index's header, so that a maker doesn't attach to another index than the one that was opened. */
  checksum: number
  count: number
  /** The file as it was when the feed was opened. */
  was: Version
}

export interface TfrecordManifest extends Manifest {
  kind: 'tfrecord'
  files: TfrecordFile[]
  /** Of the first records. */
  schema: ColumnLayout[]
  /** Whether the data's checksums are compared. */
  check: boolean
}

/** What is known of a file once one of its rows was asked for. */
interface Opened {
  /** Where each record begins, and the end of the last. */
  starts: NumberArray
  was: Version
}

export class TfrecordSource implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly indexed = ['key', 'shard']
  private readonly rows: FileRows
  private readonly opened: (Opened | undefined)[]
  private readonly reader = new ExampleReader()
  /** Looked up by the very array of column names: the engine uses the same one for every row. */
  private readonly targets = new WeakMap<readonly string[], Targets>()

  constructor(private readonly manifest: TfrecordManifest) {
    this.rows = new FileRows(manifest.files.map(({ count }) => count))
    this.count = this.rows.count
    this.runs = this.rows.runs
    this.columns = [...manifest.schema.map(({ name }) => name).filter(name => name !== RECORD), RECORD]
    this.opened = new Array(manifest.files.length)
  }

  id(row: number): string {
    const record = this.rows.locate(row)
    return `${this.manifest.files[this.rows.file].name}:${record}`
  }

  key(row: number): string {
    const record = this.rows.locate(row)
    return `${fileKey(this.manifest.files[this.rows.file].name)}:${record}`
  }

  index(name: string): IndexColumn | undefined {
    if (name === 'key') return { type: 'string', at: row => this.key(row) }
    if (name !== 'shard') return undefined
    const shard = (row: number): string => {
      this.rows.locate(row)
      return this.manifest.files[this.rows.file].name
    }
    return { type: 'string', at: shard }
  }

  where(row: number): { file: string; offset: number } {
    const record = this.rows.locate(row)
    return { file: this.manifest.files[this.rows.file].file, offset: this.file().starts[record] }
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (columns.length === 0) return
    const record = this.rows.locate(row)
    const { starts, was } = this.file()
    const offset = starts[record]
    const { file } = this.manifest.files[this.rows.file]
    out.ranges.push({ file, offset, length: starts[record + 1] - offset, was })
  }

  sample(
    _row: number,
    _epoch: number,
    columns: readonly string[],
    { ranges }: Pieces,
  ): Record<string, Column> {
    const out: Record<string, Column> = {}
    if (columns.length === 0) return out
    const data = dataOf(ranges[0], this.manifest.check)
    const targets = this.targetsFor(columns)
    if (targets.length > 0) this.reader.read(data, targets, out)
    if (columns.includes(RECORD)) out[RECORD] = data
    return out
  }

  layout(): Layout {
    const { schema, files } = this.manifest
    return {
      schema: [...schema, { name: RECORD, type: 'bytes' }],
      chunks: `${this.count} records in ${files.length} ${files.length === 1 ? 'file' : 'files'}`,
    }
  }

  private targetsFor(columns: readonly string[]): Targets {
    let targets = this.targets.get(columns)
    if (targets === undefined) {
      targets = targetsOf(columns.filter(column => column !== RECORD))
      this.targets.set(columns, targets)
    }
    return targets
  }

  /** The file that was located last. */
  private file(): Opened {
    return (this.opened[this.rows.file] ??= openFile(this.manifest.files[this.rows.file]))
  }
}

function openFile({ file, index: path, checksum, was }: TfrecordFile): Opened {
  const index = new IndexFile(path, true)
  if (index.header.checksum !== checksum) {
    throw new SourceError(
      `${file}: its index was rebuilt after the feed was opened: the file has changed, start again`,
      { file },
    )
  }
  return {
    starts: index.numbers('start'),
    was: typeof was === 'string' ? was : { ...was, probes: index.numbers('probes') },
  }
}
