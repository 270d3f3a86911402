/** Parquet files while a feed runs: which file and unit hold a row. Each file's index is mapped when one of its rows is first asked for. */
import { lastAtMost } from '../../basics/search.js'
import type { UnitColumn } from '../columnar/view.js'
import { OpenIndexes } from '../file-rows.js'
import type {
  ByteRange,
  Column,
  IndexColumn,
  Layout,
  Leaf,
  Manifest,
  Need,
  Pieces,
  Present,
} from '../source.js'
import { UnitRefs } from '../unit-refs.js'
import { type FileManifest, ParquetFile } from './file.js'
import { layoutOf } from './layout.js'

export interface ParquetManifest extends Manifest {
  kind: 'parquet'
  files: FileManifest[]
  columns: string[]
  /** First row of each unit of all files, as f64. */
  unitStarts: SharedArrayBuffer
  /** Whether checksums that pages have are compared. */
  checksums: boolean
  /** Names of classes, by column. */
  classes: Record<string, string[]>
}

export class ParquetSource implements Leaf {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly unitStarts: Float64Array
  readonly indexed = ['key', 'file']
  readonly asInUnits = true
  /** First row and first unit of each file, and their number at the end. */
  private readonly starts: Float64Array
  private readonly firstUnits: Float64Array
  private readonly files: OpenIndexes<ParquetFile>
  /** Where the last row was found: the next is mostly there too. */
  private last = 0
  private readonly refs = new UnitRefs(this)

  constructor(private readonly manifest: ParquetManifest) {
    const { files } = manifest
    this.starts = new Float64Array(files.length + 1)
    this.firstUnits = new Float64Array(files.length + 1)
    files.forEach(({ count, units }, i) => {
      this.starts[i + 1] = this.starts[i] + count
      this.firstUnits[i + 1] = this.firstUnits[i] + units
    })
    this.count = this.starts[files.length]
    this.columns = manifest.columns
    this.runs = this.starts.filter((_, i) => i < files.length && files[i].count > 0)
    this.unitStarts = new Float64Array(manifest.unitStarts)
    this.files = new OpenIndexes(files.length, i => new ParquetFile(files[i], manifest.checksums))
  }

  id(row: number): string {
    this.locate(row)
    return `${this.manifest.files[this.last].name}:${row - this.starts[this.last]}`
  }

  key(row: number): string {
    this.locate(row)
    const { name } = this.manifest.files[this.last]
    return `${name.replace(/\.(parquet|pq)(?=#\d+$|$)/i, '')}:${row - this.starts[this.last]}`
  }

  index(name: string): IndexColumn | undefined {
    if (name === 'key') return { type: 'string', at: row => this.key(row) }
    if (name !== 'file') return undefined
    return {
      type: 'string',
      at: row => {
        this.locate(row)
        return this.manifest.files[this.last].name
      },
    }
  }

  where(row: number): { file: string; offset: number } {
    const file = this.fileOf(row)
    return { file: file.manifest.file, offset: file.offset(this.unitOf(row) - this.firstUnits[this.last]) }
  }

  present(row: number): Present {
    return this.fileOf(row).present
  }

  layout(): Layout {
    const { files, classes } = this.manifest
    return layoutOf(
      files.map((_, i) => this.file(i).layout()),
      classes,
    )
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

  sample(row: number, _epoch: number, columns: readonly string[], { units }: Pieces): Record<string, Column> {
    if (units.length === 0) return {}
    const file = this.fileOf(row)
    const unit = this.unitOf(row)
    return file.sample(unit - this.firstUnits[this.last], row - this.unitStarts[unit], columns, units[0])
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
  *eachFile(): Generator<{ file: ParquetFile; row: number; units: [number, number] }> {
    for (let i = 0; i < this.manifest.files.length; i++)
      yield { file: this.file(i), row: this.starts[i], units: [this.firstUnits[i], this.firstUnits[i + 1]] }
  }

  private fileOf(row: number): ParquetFile {
    this.locate(row)
    return this.file(this.last)
  }

  private file(i: number): ParquetFile {
    return this.files.of(i)
  }

  /** The unit that holds a row of the file that was located. */
  private unitOf(row: number): number {
    return lastAtMost(this.unitStarts, row, this.firstUnits[this.last], this.firstUnits[this.last + 1] - 1)
  }

  /** The file that a unit is of, and its number there. */
  private ownUnit(unit: number): [ParquetFile, number] {
    const i = lastAtMost(this.firstUnits, unit, 0, this.firstUnits.length - 2)
    return [this.file(i), unit - this.firstUnits[i]]
  }

  /** Sets `last` to the file that holds a row. */
  private locate(row: number): void {
    const { starts } = this
    if (row >= starts[this.last] && row < starts[this.last + 1]) return
    this.last = lastAtMost(starts, row, 0, starts.length - 2)
  }
}
