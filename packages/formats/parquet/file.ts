/** One Parquet file while a feed runs: which bytes a unit needs for some columns, and how they become columns of the cache. */
import { DecodeError } from '../../core/basics/errors.js'
import { PerColumns } from '../../core/basics/per-columns.js'
import { type ColumnRoom, splitUnit, unitBytesOf } from '../../core/source/columnar/room.js'
import { type UnitColumn, viewsOf } from '../../core/source/columnar/view.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import type { ByteRange, Columns, Present } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { attachIndex, type IndexedFile } from '../indexed-files.js'
import { columnsOf, leafOf, presentOf, refused } from './columns.js'
import { loadColumn, type PageBytes } from './decode/chunk.js'
import { BeyondError } from './decode/fixed.js'
import { type Form, formOf, roomOf, sizeOf } from './form.js'
import type { ParquetMeta } from './index.js'
import type { FileLayout } from './layout.js'
import type { ParquetLeaf } from './structure/schema.js'
import { PART_COLUMNS, UNIT_COLUMNS } from './units.js'

export interface FileManifest extends IndexedFile {
  units: number
}

/** Chunks with a gap of up to this many bytes between them are read at once. */
const GAP = 65536

/** Where the pages of a leaf lie among the ranges of a unit. */
interface Place {
  range: number
  from: number
  length: number
}

export class ParquetFile {
  readonly leaves: readonly ParquetLeaf[]
  private readonly meta: ParquetMeta
  readonly columns: readonly string[]
  private readonly numbers: Record<(typeof UNIT_COLUMNS)[number], NumberArray>
  /** Of files whose row groups are divided. */
  private readonly parts: Record<(typeof PART_COLUMNS)[number], NumberArray> | undefined
  private readonly unitRows: NumberArray
  /** What every read of the file is compared with. */
  private readonly was: Version
  private readonly wants = new PerColumns(columns => wantOf(this.manifest.file, this.leaves, columns))

  /** `checks`: checksums that pages have are compared. */
  constructor(
    readonly manifest: FileManifest,
    private readonly checks: boolean,
  ) {
    const { index, was } = attachIndex(manifest)
    this.meta = index.header.meta as unknown as ParquetMeta
    this.leaves = this.meta.leaves
    this.columns = columnsOf(this.leaves)
    this.numbers = Object.fromEntries(
      UNIT_COLUMNS.map(name => [name, index.numbers(name)]),
    ) as typeof this.numbers
    const columns = (names: readonly string[]) =>
      Object.fromEntries(names.map(name => [name, index.numbers(name)]))
    this.parts = index.has('skip') ? (columns(PART_COLUMNS) as NonNullable<typeof this.parts>) : undefined
    this.unitRows = index.numbers('unitRows')
    this.was = was
  }

  /** What is read again when rows are selected: the file, its bytes, and what it was. */
  get place(): { file: string; bytes: number; was: Version } {
    return { file: this.manifest.file, bytes: this.meta.file.size, was: this.was }
  }

  /** Whether there is anything to read for these columns. */
  needs(columns: readonly string[]): boolean {
    return this.wants.of(columns).leaves.length > 0
  }

  /** Where the first chunk of a unit begins. */
  offset(unit: number): number {
    return this.numbers.start[unit * this.leaves.length]
  }

  plan(unit: number, columns: readonly string[]): ByteRange[] {
    return this.ranges(unit, this.wants.of(columns)).ranges
  }

  bytes(unit: number, columns: readonly string[]): number {
    return unitBytesOf(this.rooms(unit, this.wants.of(columns)))
  }

  load(
    unit: number,
    pieces: readonly Uint8Array[],
    into: Uint8Array,
    columns: readonly string[],
  ): Uint8Array[] {
    const want = this.wants.of(columns)
    const { ranges, places } = this.ranges(unit, want)
    const rooms = this.rooms(unit, want)
    const split = splitUnit(rooms, into)
    want.leaves.forEach((leaf, i) => {
      const pages = places[i].map(({ range, from, length }) => ({
        bytes: pieces[range].subarray(from, from + length),
        offset: ranges[range].offset + from,
      }))
      this.loadColumn(unit, leaf, want.forms[i], rooms[i], split[i], pages)
    })
    return split
  }

  /** The columns of the row with this number in its unit. */
  sample(unit: number, row: number, columns: readonly string[], pieces: readonly Uint8Array[]): Columns {
    const views = viewsOf(pieces)
    const { leaves, names } = this.wants.of(columns)
    const sample: Columns = {}
    for (const { name, place } of names) {
      const value = views[place].at(row + this.skip(unit, leaves[place]))
      if (value !== undefined) sample[name] = value
    }
    return sample
  }

  /** The columns of a loaded unit, one for each name. */
  unitColumns(
    unit: number,
    columns: readonly string[],
    pieces: readonly Uint8Array[],
  ): (UnitColumn | undefined)[] {
    const views = viewsOf(pieces)
    const { leaves, names } = this.wants.of(columns)
    return columns.map(column => {
      const found = names.find(({ name }) => name === column)
      return found && { view: views[found.place], skip: this.skip(unit, leaves[found.place]) }
    })
  }

  /** Rows of the first page of a leaf that belong to the unit before. */
  private skip(unit: number, leaf: number): number {
    return this.parts === undefined ? 0 : this.parts.skip[unit * this.leaves.length + leaf]
  }

  private loadColumn(
    unit: number,
    leaf: number,
    form: Form,
    room: ColumnRoom,
    into: Uint8Array,
    pages: readonly PageBytes[],
  ): void {
    const described = this.leaves[leaf]
    const chunk = unit * this.leaves.length + leaf
    const packing = { codec: this.numbers.codec[chunk], raw: this.numbers.raw[chunk] }
    try {
      loadColumn(described, form, room, packing, pages, into, this.checks)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw new DecodeError(
        `${this.manifest.file}: column "${described.name}" of ${this.parts ? 'unit' : 'row group'} ${unit}, at byte ` +
          `${this.numbers.start[chunk]}: ${error.message}` +
          (error instanceof BeyondError ? '' : ': the file is damaged: copy or write it again'),
        { cause: error },
      )
    }
  }

  /** The columns that every row has: see `presentOf`. Rows with nulls ask for it. */
  get present(): Present {
    this.presentOnce ??= presentOf(this.leaves, this.meta.nulls)
    return this.presentOnce
  }
  private presentOnce: Present | undefined

  /** What `inspect` tells. */
  layout(): FileLayout {
    const { codec, raw } = this.numbers
    let bytes = 0
    for (const one of raw) bytes += one
    return {
      leaves: this.leaves,
      nulls: this.meta.nulls,
      rows: this.manifest.count,
      groups: this.meta.groups,
      raw: bytes,
      codecs: new Set(codec),
    }
  }

  private rooms(unit: number, { leaves, forms }: Want): ColumnRoom[] {
    const { values, raw, text, encodings } = this.numbers
    return leaves.map((leaf, i) => {
      const at = unit * this.leaves.length + leaf
      const rows = this.parts === undefined ? this.unitRows[unit] : this.parts.rows[at]
      const isPart = this.parts !== undefined && this.parts.dictionaryLength[at] > 0
      const size = sizeOf(rows, values[at], raw[at], text[at], encodings[at], isPart)
      return roomOf(this.leaves[leaf], forms[i], size)
    })
  }

  /** The ranges of the wanted chunks, those that lie near each other as one; and where the pages of each leaf are in them. */
  private ranges(unit: number, { leaves }: Want): { ranges: ByteRange[]; places: Place[][] } {
    const { start, length } = this.numbers
    const first = unit * this.leaves.length
    const spans: { leaf: number; offset: number; length: number }[] = []
    leaves.forEach((leaf, i) => {
      const at = first + leaf
      const dictionary = this.parts?.dictionaryLength[at] ?? 0
      if (dictionary > 0) spans.push({ leaf: i, offset: this.parts!.dictionaryAt[at], length: dictionary })
      spans.push({ leaf: i, offset: start[at], length: length[at] })
    })
    spans.sort((a, b) => a.offset - b.offset)
    const ranges: ByteRange[] = []
    const places = leaves.map((): Place[] => [])
    for (const { leaf, offset, length } of spans) {
      const last = ranges.at(-1)
      const isNear = last !== undefined && offset - last.offset - last.length <= GAP
      if (!isNear) ranges.push({ file: this.manifest.file, offset, length, was: this.was })
      const range = ranges[ranges.length - 1]
      range.length = Math.max(range.length, offset + length - range.offset)
      places[leaf].push({ range: ranges.length - 1, from: offset - range.offset, length })
    }
    return { ranges, places }
  }
}

/** What is read for some columns. */
interface Want {
  /** Leaves, in the order in which they are loaded, and their forms. */
  leaves: number[]
  forms: Form[]
  /** Names that were asked for, and which of the leaves each is. */
  names: { name: string; place: number }[]
}

/** Columns that the file does not have are left out; those that can't be read are an error. */
function wantOf(file: string, leaves: readonly ParquetLeaf[], columns: readonly string[]): Want {
  const want: Want = { leaves: [], forms: [], names: [] }
  for (const name of columns) {
    const leaf = leafOf(leaves, name)
    if (leaf < 0) continue
    const form = formOf(leaves[leaf])
    if (typeof form === 'string') throw refused(file, name, form)
    let place = want.leaves.indexOf(leaf)
    if (place < 0) {
      place = want.leaves.push(leaf) - 1
      want.forms.push(form)
    }
    want.names.push({ name, place })
  }
  return want
}
