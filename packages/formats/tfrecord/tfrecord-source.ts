/** TFRecord files while a feed runs: a record is one range of its file (packed-tfrecord.ts: of compressed files). Each index is mapped when one of its rows is asked for. */
import { SourceError } from '../../core/basics/errors.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import { IndexFile } from '../../core/source/index/file.js'
import type { ColumnLayout, Layout } from '../../core/source/layout.js'
import type { Column, IndexColumn, Manifest, Need, Pieces, Source } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { type PackedFile, Seek } from '../packed/units.js'
import { fileKey } from '../shared/file-key.js'
import { FileRows, OpenIndexes } from '../shared/file-rows.js'
import { ExampleReader, type Targets, targetsOf } from './example.js'
import { dataOf } from './record.js'

/** The column with a record's bytes as they are. */
const RECORD = 'record'

export interface TfrecordFile extends PackedFile {
  /** Name in ids. */
  name: string
  /** Of the index's header, so that a maker doesn't attach to another index than the one that was opened. */
  checksum: number
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
  /** Of compressed files. */
  unitStarts?: Float64Array
}

/** What is known of a file once one of its rows was asked for. */
interface Opened {
  /** Where each record begins, and the end of the last. */
  starts: NumberArray
  was: Version
  /** Of a compressed file. */
  seek?: Seek
}

export class TfrecordSource implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly indexed = ['key', 'shard']
  protected readonly rows: FileRows
  private readonly opened: OpenIndexes<Opened>
  private readonly reader = new ExampleReader()
  /** Looked up by the very array of column names: the engine uses the same one for every row. */
  private readonly targets = new WeakMap<readonly string[], Targets>()

  constructor(protected readonly manifest: TfrecordManifest) {
    this.rows = new FileRows(manifest.files.map(({ count }) => count))
    this.count = this.rows.count
    this.runs = this.rows.runs
    this.columns = [...manifest.schema.map(({ name }) => name).filter(name => name !== RECORD), RECORD]
    this.opened = new OpenIndexes(manifest.files.length, i => openFile(manifest.files[i]))
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
    return columns.length === 0 ? {} : this.read(ranges[0], columns)
  }

  /** The wanted columns of a record. */
  protected read(record: Uint8Array, columns: readonly string[]): Record<string, Column> {
    const out: Record<string, Column> = {}
    const data = dataOf(record, this.manifest.check)
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

  /** By number; otherwise the one that was located last. */
  protected file(file = this.rows.file): Opened {
    return this.opened.of(file)
  }
}

function openFile({ file, index: path, checksum, codec, was: version }: TfrecordFile): Opened {
  const index = new IndexFile(path, true)
  if (index.header.checksum !== checksum) {
    throw new SourceError(
      `${file}: its index was rebuilt after the feed was opened: the file has changed, start again`,
      { file },
    )
  }
  const was = typeof version === 'string' ? version : { ...version, probes: index.numbers('probes') }
  return {
    starts: index.numbers('start'),
    was,
    ...(codec && { seek: new Seek(index, file, was) }),
  }
}
