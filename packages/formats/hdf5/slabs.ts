/**
 * The units of one dataset in all files. A unit is a slab: all chunks that hold the same rows; loaded, these rows stand in it one
 * behind the other. Where a sample is a group, a unit is all of its dataset.
 */
import { lastAtMost } from '../../core/basics/search.js'
import type { Columns, IndexColumn, Need, Pieces, Source } from '../../core/source/source.js'
import type { ByteRange } from '../../core/store/store.js'
import type { FileDataset, FileManifest } from './hdf5-file.js'

/** The source of the files, as far as its units go. */
interface SlabSource extends Source {
  /** First row of each file, and the count at the end. */
  readonly starts: Float64Array
  datasetOf(row: number, set: number): FileDataset | undefined
  fileAt(i: number): Pick<ByteRange, 'file' | 'was'>
}

export class Slabs implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly unitStarts: Float64Array
  /** The first unit of each file, and how many there are at the end. */
  private readonly first: Float64Array
  private readonly rows: readonly number[]

  constructor(
    private readonly source: SlabSource,
    private readonly set: number,
    files: readonly FileManifest[],
  ) {
    const { starts } = source
    this.count = source.count
    this.columns = source.columns
    this.runs = source.runs
    // Where rows share nothing in a file, each is a unit by itself.
    this.rows = files.map(({ unitRows }) => Math.max(1, unitRows[set]))
    this.first = new Float64Array(files.length + 1)
    files.forEach(({ count }, f) => {
      this.first[f + 1] = this.first[f] + Math.ceil(count / this.rows[f])
    })
    this.unitStarts = new Float64Array(this.first[files.length])
    files.forEach((_, f) => {
      for (let unit = this.first[f], row = starts[f]; unit < this.first[f + 1]; unit++, row += this.rows[f])
        this.unitStarts[unit] = row
    })
  }

  unitOf(file: number, local: number): number {
    return this.first[file] + Math.floor(local / this.rows[file])
  }

  planUnit(unit: number): ByteRange[] {
    const { dataset, file, from, count } = this.slabsOf(unit)
    const ranges: ByteRange[] = []
    if (dataset !== undefined) dataset.pushSlabs(from, count, file, ranges)
    return ranges
  }

  unitBytes(unit: number): number {
    const { dataset, from, count } = this.slabsOf(unit)
    return dataset === undefined ? 0 : dataset.roomOf(from, count)
  }

  load(unit: number, pieces: Uint8Array[], into: Uint8Array): Uint8Array[] {
    const { dataset, from, count } = this.slabsOf(unit)
    if (dataset === undefined) return [into.subarray(0, 0)]
    const loaded = into.subarray(0, dataset.rowsOf(from, count) * dataset.rowBytes)
    dataset.unpack(from, count, pieces, 0, loaded)
    return [loaded]
  }

  /** The bytes of a sample's value in the unit that has it. */
  valueIn(dataset: FileDataset, local: number, loaded: Uint8Array): Uint8Array {
    if (!dataset.rows) return loaded
    const at = (local % dataset.slabRows) * dataset.rowBytes
    return loaded.subarray(at, at + dataset.rowBytes)
  }

  id(row: number): string {
    return this.source.id(row)
  }

  key(row: number): string {
    return this.source.key(row)
  }

  index(name: string): IndexColumn | undefined {
    return this.source.index(name)
  }

  need(row: number, epoch: number, columns: readonly string[], out: Need): void {
    this.source.need(row, epoch, columns, out)
  }

  sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns {
    return this.source.sample(row, epoch, columns, got)
  }

  /** The slabs of a unit; no dataset where its rows are ranges. */
  private slabsOf(unit: number): {
    dataset: FileDataset | undefined
    file: Pick<ByteRange, 'file' | 'was'>
    from: number
    count: number
  } {
    const f = lastAtMost(this.first, unit, 0, this.first.length - 2)
    const dataset = this.source.datasetOf(this.unitStarts[unit], this.set)
    const file = this.source.fileAt(f)
    if (dataset === undefined || !dataset.isUnit) return { dataset: undefined, file, from: 0, count: 0 }
    return dataset.rows
      ? { dataset, file, from: unit - this.first[f], count: 1 }
      : { dataset, file, from: 0, count: dataset.slabs }
  }
}
