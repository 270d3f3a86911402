/** Parquet files while a feed runs: which file and unit hold a row. Each file's index is mapped when one of its rows is first asked for. */
import { lastAtMost } from '../../core/basics/search.js'
import type { UnitColumn } from '../../core/source/columnar/view.js'
import type {
  ByteRange,
  Columns,
  IndexColumn,
  Layout,
  Leaf,
  Manifest,
  Need,
  Pieces,
  Present,
} from '../../core/source/source.js'
import { RowsOfFiles } from '../rows-of-files.js'
import { FileRows, OpenIndexes } from '../shared/file-rows.js'
import { UnitRefs } from '../shared/unit-refs.js'
import { type FileManifest, ParquetFile } from './file.js'
import { layoutOf } from './layout.js'
import type { Partition } from './partitions.js'

export interface ParquetManifest extends Manifest {
  kind: 'parquet'
  files: FileManifest[]
  columns: string[]
  /** First row of each unit of all files, as f64. */
  unitStarts: SharedArrayBuffer
  /** Columns that the folders of the files tell. */
  partitions: Partition[]
  /** Whether checksums that pages have are compared. */
  checksums: boolean
  /** Names of classes, by column. */
  classes: Record<string, string[]>
}

export class ParquetSource extends RowsOfFiles implements Leaf {
  readonly unitStarts: Float64Array
  override readonly indexed: readonly string[]
  protected override readonly fileColumn = 'file'
  readonly asInUnits = true
  /** First unit of each file, and their number at the end. */
  private readonly firstUnits: Float64Array
  private readonly files: OpenIndexes<ParquetFile>
  private readonly refs = new UnitRefs(this)

  constructor(private readonly manifest: ParquetManifest) {
    const { files } = manifest
    super(files, manifest.columns)
    this.firstUnits = new FileRows(files.map(({ units }) => units)).starts
    this.indexed = ['key', 'file', ...manifest.partitions.map(({ name }) => name)]
    this.unitStarts = new Float64Array(manifest.unitStarts)
    this.files = new OpenIndexes(files.length, i => new ParquetFile(files[i], manifest.checksums))
  }

  protected override keyOf(name: string): string {
    return name.replace(/\.(parquet|pq)(?=#\d+$|$)/i, '')
  }

  override index(name: string): IndexColumn | undefined {
    return this.ofFolders(name) ?? super.index(name)
  }

  /** A column that folders tell. */
  ofFolders(name: string): IndexColumn | undefined {
    const { type, values } = this.manifest.partitions.find(one => one.name === name) ?? {}
    return type && { type, at: row => values?.[this.numberOf(row)] ?? undefined }
  }

  where(row: number): { file: string; offset: number } {
    const file = this.fileOf(row)
    return {
      file: file.manifest.file,
      offset: file.offset(this.unitOf(row) - this.firstUnits[this.rows.file]),
    }
  }

  present(row: number): Present {
    const { present } = this.fileOf(row)
    const reported = this.manifest.partitions.filter(({ values }) => values[this.rows.file] !== null)
    return reported.length === 0
      ? present
      : { ...present, columns: [...present.columns, ...reported.map(({ name }) => name)] }
  }

  layout(): Layout {
    const { files, classes, partitions } = this.manifest
    const layout = layoutOf(
      files.map((_, i) => this.file(i).layout()),
      classes,
    )
    const reported = partitions.map(({ name, type }) => ({
      name,
      type: `${type === 'number' ? 'i32' : 'text'}, of the path`,
    }))
    return { ...layout, schema: [...layout.schema, ...reported] }
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (!this.fileOf(row).needs(columns)) return
    const unit = this.unitOf(row)
    out.units.push(this.refs.of(unit, columns))
    out.row = row - this.unitStarts[unit]
  }

  planUnit(unit: number, columns: readonly string[]): ByteRange[] {
    const [file, own] = this.ownUnit(unit)
    return file.plan(own, columns)
  }

  unitBytes(unit: number, columns: readonly string[]): number {
    const [file, own] = this.ownUnit(unit)
    return file.bytes(own, columns)
  }

  load(unit: number, pieces: Uint8Array[], into: Uint8Array, columns: readonly string[]): Uint8Array[] {
    const [file, own] = this.ownUnit(unit)
    return file.load(own, pieces, into, columns)
  }

  sample(row: number, _epoch: number, columns: readonly string[], { units }: Pieces): Columns {
    const file = this.fileOf(row)
    let sample: Columns = {}
    if (units.length > 0) {
      const unit = this.unitOf(row)
      sample = file.sample(
        unit - this.firstUnits[this.rows.file],
        row - this.unitStarts[unit],
        columns,
        units[0],
      )
    }
    for (const { name, values } of this.manifest.partitions) {
      const value = values[this.rows.file]
      if (value !== null && columns.includes(name)) sample[name] = value
    }
    return sample
  }

  unitColumns(
    unit: number,
    columns: readonly string[],
    pieces: readonly Uint8Array[],
  ): (UnitColumn | undefined)[] {
    const [file, own] = this.ownUnit(unit)
    return file.unitColumns(own, columns, pieces)
  }

  /** The files, each with its first row and units. */
  *eachFile(): Generator<{ file: ParquetFile; rows: [number, number]; units: [number, number] }> {
    const { rows, firstUnits } = this
    for (let i = 0; i < this.manifest.files.length; i++)
      yield {
        file: this.file(i),
        rows: [rows.starts[i], rows.starts[i + 1]],
        units: [firstUnits[i], firstUnits[i + 1]],
      }
  }

  private fileOf(row: number): ParquetFile {
    return this.file(this.numberOf(row))
  }

  private numberOf(row: number): number {
    this.rows.locate(row)
    return this.rows.file
  }

  private file(i: number): ParquetFile {
    return this.files.of(i)
  }

  /** The unit that holds a row of the file that was located. */
  private unitOf(row: number): number {
    return lastAtMost(
      this.unitStarts,
      row,
      this.firstUnits[this.rows.file],
      this.firstUnits[this.rows.file + 1] - 1,
    )
  }

  /** The file that a unit is of, and its number there. */
  private ownUnit(unit: number): [ParquetFile, number] {
    const i = lastAtMost(this.firstUnits, unit, 0, this.firstUnits.length - 2)
    return [this.file(i), unit - this.firstUnits[i]]
  }
}
