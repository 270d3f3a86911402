/** One HDF5 file while a feed runs: its index, mapped, and the datasets that were asked for. */
import { PerColumns } from '../../core/basics/per-columns.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import type { Version } from '../../core/store/store.js'
import { attachIndex, type IndexedFile } from '../indexed-files.js'
import { Dataset, LIES } from './dataset.js'
import { type Hdf5Tables, tablesOf } from './index-tables.js'
import { type Form, formOf, membersOf } from './value.js'

export interface FileManifest extends IndexedFile {
  /** Where the rows of several groups follow each other: the group that this is, such as `demo_3`. */
  group?: string
  /** The dataset of each set, by its number in the index: where all samples of the file are rows of the same. */
  datasets: number[]
  /** Rows of a unit of each set; 0: its rows share nothing. */
  unitRows: number[]
}

/** Datasets of a set that are kept: where a sample is a group, there are as many as samples. */
const MOST_KEPT = 4096

/** From so many bytes on, a value is read straight into the batch, and not together with its neighbours. */
const LARGE = 64 << 10

/** A dataset, and its columns. `rows`: a sample is a row of it, and not all of it. */
export class FileDataset extends Dataset {
  private readonly forms = new PerColumns(columns => this.makeForms(columns))

  constructor(
    tables: Hdf5Tables,
    number: number,
    private readonly name: string,
    readonly rows: boolean,
  ) {
    super(tables, number)
  }

  /** Bytes of one sample's value. */
  get sampleBytes(): number {
    return this.rows ? this.rowBytes : this.bytes
  }

  /** Whether a value is a part of a unit. */
  get isUnit(): boolean {
    return this.lies === LIES.chunked && !(this.plain && this.rows)
  }

  /** Whether a value is read straight into the batch. */
  get isLarge(): boolean {
    return this.sampleBytes >= LARGE && this.lies !== LIES.heap && this.kind.type.is === 'number'
  }

  /** Where a value lies that is a range; −1: nowhere. */
  place(local: number): { offset: number; length: number } {
    if (this.lies === LIES.heap) {
      const { offset, bytes } = this.value(this.rows ? local : 0)
      return { offset: offset === 0 ? -1 : offset, length: bytes }
    }
    return { offset: this.rows ? this.rowOffset(local) : this.start, length: this.sampleBytes }
  }

  /** The wanted columns of it. */
  formsOf(columns: readonly string[]): readonly Form[] {
    return this.forms.of(columns)
  }

  private makeForms(columns: readonly string[]): readonly Form[] {
    const dims = this.rows ? this.dims.slice(1) : this.dims
    const { members } = membersOf(this.name, this.kind.type)
    const wanted = members.filter(({ column }) => columns.includes(column))
    return wanted.map(member => formOf(member, dims, this.element))
  }
}

export class Hdf5File {
  /** What every read of the file is compared with. */
  readonly was: Version
  private readonly tables: Hdf5Tables
  /** By set, then by number: two sets may name one dataset. */
  private readonly kept: Map<number, FileDataset>[]

  constructor(
    readonly manifest: FileManifest,
    private readonly names: readonly string[],
    private readonly rows: boolean,
    /** Another group of the same file, whose index is mapped already. */
    sibling?: Hdf5File,
  ) {
    this.kept = names.map(() => new Map())
    if (sibling !== undefined) {
      this.was = sibling.was
      this.tables = sibling.tables
      return
    }
    const { index, was } = attachIndex(manifest)
    this.was = was
    this.tables = tablesOf(index)
  }

  get file(): string {
    return this.manifest.file
  }

  /** A dataset by its number; `set`: which of the definition's it is. */
  dataset(number: number, set: number): FileDataset {
    const kept = this.kept[set]
    let found = kept.get(number)
    if (found === undefined) {
      if (kept.size >= MOST_KEPT) kept.clear()
      found = new FileDataset(this.tables, number, this.names[set], this.rows)
      kept.set(number, found)
    }
    return found
  }

  /** The numbers of a dataset that the index keeps. */
  valuesOf(number: number): NumberArray {
    const first = this.tables.firstValue[number]
    return this.tables.values.subarray(first, first + this.manifest.count)
  }

  /** What `inspect` tells of a dataset besides its type. */
  notesOf(number: number): { axes: string; note: string } {
    return { axes: this.tables.axes.at(number), note: this.tables.note.at(number) }
  }
}
