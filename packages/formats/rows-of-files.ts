/** What sources of files have in common: which file holds a row, what the row is called, and where its bytes lie. */

import type { NumberArray } from '../core/source/index/columns.js'
import type { IndexFile } from '../core/source/index/file.js'
import type { Layout } from '../core/source/layout.js'
import type { ByteRange, Columns, IndexColumn, Leaf, Need, Pieces, Source } from '../core/source/source.js'
import type { Version } from '../core/store/store.js'
import { attachIndex, type IndexedFile } from './indexed-files.js'
import { PackedUnits, Seek } from './packed/units.js'
import { fileKey } from './shared/file-key.js'
import { FileRows, OpenIndexes } from './shared/file-rows.js'
import { UnitRefs } from './shared/unit-refs.js'

export abstract class RowsOfFiles implements Source {
  readonly count: number
  readonly runs: Float64Array
  readonly indexed: readonly string[] = ['key', 'shard']
  protected readonly rows: FileRows
  /** The column with a file's name. */
  protected readonly fileColumn: string = 'shard'

  constructor(
    private readonly named: readonly { name: string; count: number }[],
    readonly columns: readonly string[],
  ) {
    this.rows = new FileRows(named.map(({ count }) => count))
    this.count = this.rows.count
    this.runs = this.rows.runs
  }

  id(row: number): string {
    const inFile = this.rows.locate(row)
    return `${this.named[this.rows.file].name}:${inFile}`
  }

  key(row: number): string {
    const inFile = this.rows.locate(row)
    return `${this.keyOf(this.named[this.rows.file].name)}:${inFile}`
  }

  index(name: string): IndexColumn | undefined {
    if (name === 'key') return { type: 'string', at: row => this.key(row) }
    if (name !== this.fileColumn) return undefined
    const shard = (row: number): string => {
      this.rows.locate(row)
      return this.named[this.rows.file].name
    }
    return { type: 'string', at: shard }
  }

  abstract need(row: number, epoch: number, columns: readonly string[], out: Need): void
  abstract sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns

  /** A file's part of keys. */
  protected keyOf(name: string): string {
    return fileKey(name)
  }
}

/** What is known of a file once one of its rows was asked for. */
export class SplitFile {
  /** Where each row begins, and the end of the last. */
  readonly starts: NumberArray
  protected readonly index: IndexFile
  private readonly was: Version
  private table: Seek | undefined

  constructor(readonly manifest: IndexedFile) {
    const { index, was } = attachIndex(manifest)
    this.index = index
    this.was = was
    this.starts = this.index.numbers('start')
  }

  /** Of a compressed file. */
  get seek(): Seek {
    return (this.table ??= new Seek(this.index, this.manifest.file, this.was))
  }

  /** The bytes of a row of a file that is not compressed. */
  range(row: number): ByteRange {
    const offset = this.starts[row]
    return { file: this.manifest.file, offset, length: this.starts[row + 1] - offset, was: this.was }
  }
}

/** What is kept of a unit is the same whatever is wanted of it. */
const WHOLE: readonly string[] = []

/** Rows that lie in files one after the other. Those of compressed files lie in units, which are decompressed as a whole. */
export abstract class SplitRows<File extends SplitFile> extends RowsOfFiles {
  readonly unitStarts?: Float64Array
  private readonly files: OpenIndexes<File>
  private readonly units: PackedUnits | undefined
  private readonly refs = new UnitRefs(this as unknown as Leaf)

  constructor(
    { files, unitStarts }: { files: readonly IndexedFile[]; unitStarts?: Float64Array },
    columns: readonly string[],
    open: (file: number) => File,
  ) {
    super(files, columns)
    this.files = new OpenIndexes(files.length, open)
    if (unitStarts === undefined) return
    this.unitStarts = unitStarts
    this.units = new PackedUnits(unitStarts, files, file => this.file(file).seek)
  }

  /** The wanted columns of a row of a file, given its bytes. */
  protected abstract read(bytes: Uint8Array, file: File, row: number, columns: readonly string[]): Columns

  where(row: number): { file: string; offset: number } {
    const { file, offset } = this.units?.range(this.units.of(row)) ?? this.ownRange(row)
    return { file, offset }
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    if (columns.length === 0) return
    if (this.units === undefined) out.ranges.push(this.ownRange(row))
    else out.units.push(this.refs.of(this.units.of(row), WHOLE))
  }

  planUnit(unit: number): ByteRange[] {
    return [this.units!.range(unit)]
  }

  unitBytes(unit: number): number {
    return this.units!.bytes(unit)
  }

  load(unit: number, [piece]: Uint8Array[], into: Uint8Array): Uint8Array[] {
    return [this.units!.load(unit, piece, into)]
  }

  sample(row: number, _epoch: number, columns: readonly string[], { ranges, units }: Pieces): Columns {
    if (columns.length === 0) return {}
    const inFile = this.rows.locate(row)
    const file = this.file()
    if (this.units === undefined) return this.read(ranges[0], file, inFile, columns)
    const from = file.starts[inFile] - this.units.made(this.units.of(row))
    const length = file.starts[inFile + 1] - file.starts[inFile]
    return this.read(units[0][0].subarray(from, from + length), file, inFile, columns)
  }

  layout(): Layout {
    return { ...this.schema(), ...this.units?.layout() }
  }

  protected abstract schema(): Layout

  /** By number; otherwise the one that was located last. */
  protected file(file = this.rows.file): File {
    return this.files.of(file)
  }

  private ownRange(row: number): ByteRange {
    const inFile = this.rows.locate(row)
    return this.file().range(inFile)
  }
}
