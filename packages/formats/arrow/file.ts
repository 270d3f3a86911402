/** One Arrow file while a feed runs: maps its index, and says what a row needs and where its values lie in that. */
import type { StoredDtype } from '../../core/basics/array.js'
import { DecodeError, inFile } from '../../core/basics/errors.js'
import { PerColumns } from '../../core/basics/per-columns.js'
import { lastAtMost } from '../../core/basics/search.js'
import type { NumberArray } from '../../core/source/index/columns.js'
import type { IndexFile, TextColumn } from '../../core/source/index/file.js'
import type { ByteRange, Column, Columns, Present } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { attachIndex, type IndexedFile } from '../indexed-files.js'
import { NULL_VALUE, UNEVEN } from './build/direct.js'
import { type ArrowColumn, elementsOf, fieldsFor } from './columns.js'
import type { Field } from './metadata/schema.js'
import { type UnitPlan, Units } from './units.js'
import { ColumnView, type DictionaryEntries } from './view.js'

/** Arrays of so many bytes are read straight into the slot; smaller ones together with the other ranges of a claim. */
const INTO_SLOT = 65536
/** Plans of units that are kept, for some columns. */
const PLANS = 1024

export interface FileManifest extends IndexedFile {
  units: number
  /** The number of its columns among those of the manifest. */
  schema: number
}

/** Where the values of a large column lie. */
interface Direct {
  at: NumberArray
  bytes: NumberArray
  dims: NumberArray[]
  dtype: StoredDtype
  width: number
}

/** How the wanted columns of a file are read. */
interface Wanted {
  direct: { name: string; column: ArrowColumn; places: Direct }[]
  small: { name: string; value: (row: number) => Column | undefined }[]
  shared: ArrowColumn[]
  fields: Field[]
  plans: Map<number, UnitPlan>
}

export class ArrowFile {
  private readonly index: IndexFile
  private readonly units: Units
  private readonly starts: Float64Array
  private readonly was: Version
  private readonly wanted = new PerColumns(columns => this.resolve(columns))
  private readonly opened = new WeakMap<readonly Uint8Array[], { wanted: Wanted; views: ColumnView[] }>()

  constructor(
    readonly manifest: FileManifest,
    private readonly columns: readonly ArrowColumn[],
    nodes: number,
  ) {
    const { index, was } = attachIndex(manifest)
    this.index = index
    this.was = was
    this.starts = Float64Array.from(index.numbers('start'))
    const columnsOfUnits = {
      codec: index.numbers('codec'),
      sliced: index.numbers('sliced'),
      length: index.numbers('length'),
      nulls: index.numbers('nulls'),
      bit: index.numbers('bit'),
      first: index.numbers('first'),
      more: index.numbers('more'),
      offset: index.numbers('offset'),
      size: index.numbers('size'),
      raw: index.numbers('raw'),
    }
    this.units = new Units(columnsOfUnits, nodes)
  }

  /** Adds what a row needs for itself. True: it needs its unit, too. */
  need(row: number, columns: readonly string[], ranges: ByteRange[]): boolean {
    const { direct, shared } = this.wanted.of(columns)
    for (const { column, places } of direct) {
      const length = places.bytes[row]
      if (length >= 0 && !intoSlot(column, length)) ranges.push(this.range(places.at[row], length))
    }
    return shared.length > 0
  }

  unitOf(row: number): number {
    return lastAtMost(this.starts, row)
  }

  planUnit(unit: number, columns: readonly string[]): ByteRange[] {
    return this.plan(unit, columns).ranges.map(({ offset, length }) => this.range(offset, length))
  }

  unitBytes(unit: number, columns: readonly string[]): number {
    const { codec, bytes, ranges } = this.plan(unit, columns)
    // Pieces that are kept as they were read begin on multiples of 64.
    return codec === 'none' ? ranges.reduce((sum, { length }) => sum + Math.ceil(length / 64) * 64, 0) : bytes
  }

  load(unit: number, pieces: Uint8Array[], into: Uint8Array, columns: readonly string[]): Uint8Array[] {
    const plan = this.plan(unit, columns)
    try {
      return this.units.load(plan, pieces, into)
    } catch (cause) {
      if (!(cause instanceof DecodeError)) throw cause
      const { file } = this.manifest
      const offset = plan.ranges[0]?.offset
      throw inFile(
        file,
        `: rows ${this.starts[unit]} to ${this.starts[unit + 1] - 1}, at offset ${offset}: ${cause.message}`,
        { offset, cause },
      )
    }
  }

  sample(
    row: number,
    columns: readonly string[],
    ranges: readonly Uint8Array[],
    pieces: readonly Uint8Array[] | undefined,
  ): Columns {
    const wanted = this.wanted.of(columns)
    const out: Columns = {}
    let read = 0
    for (const { name, column, places } of wanted.direct) {
      const length = places.bytes[row]
      if (length === NULL_VALUE) continue
      if (length === UNEVEN) throw uneven(name)
      const data = intoSlot(column, length) ? this.range(places.at[row], length) : ranges[read++]
      out[name] = column.kind === 'array' ? arrayOf(column, places, row, data) : (data as Uint8Array)
    }
    for (const { name, value } of wanted.small) {
      const found = value(row)
      if (found !== undefined) out[name] = found
    }
    if (wanted.shared.length === 0 || pieces === undefined) return out
    const unit = this.unitOf(row)
    const views = this.views(unit, wanted, pieces)
    const i = row - this.starts[unit]
    wanted.shared.forEach(({ name }, k) => {
      const value = views[k].at(i)
      if (value !== undefined) out[name] = value
    })
    return out
  }

  /** The columns that every row has, and which others may be null: a row is not read for this. */
  get present(): Present {
    this.presentOnce ??= this.presentOf()
    return this.presentOnce
  }
  private presentOnce: Present | undefined

  private presentOf(): Present {
    const { nulls = {} } = this.index.header.meta as { nulls?: Record<string, number> }
    const [full, others] = [true, false].map(full =>
      this.columns.filter(({ name }) => (nulls[name] === 0) === full),
    )
    const columns = full.map(({ name }) => name)
    if (others.length === 0) return { columns }
    const counts = others.map(({ name }) => `${name} (${nulls[name]})`).join(', ')
    const paths = others.some(({ name, field }) => field.name === 'bytes' && !name.endsWith('bytes'))
    return {
      columns,
      why:
        `Columns with nulls, and how many rows have them: ${counts}; a field's "missing" says what stands for a null` +
        `${paths ? '. A picture or sound without bytes is only a path: save_to_disk of datasets puts the bytes in' : ''}`,
    }
  }

  /** Where a row's bytes begin. */
  offset(row: number): number {
    const { direct } = this.wanted.of(this.allColumns)
    if (direct.length > 0) return direct[0].places.at[row]
    return this.plan(this.unitOf(row), this.allColumns).ranges[0]?.offset ?? 0
  }

  private get allColumns(): readonly string[] {
    this.all ??= this.columns.map(({ name }) => name)
    return this.all
  }
  private all: string[] | undefined

  /** The values of a small column; undefined where the index has none of that name. */
  private numbers(name: string): NumberArray | undefined {
    return this.index.has(`value.${name}`) ? this.index.numbers(`value.${name}`) : undefined
  }

  /** A column of the index, by row; undefined where it holds none of that name. */
  indexColumn(name: string): ((row: number) => number | string | undefined) | undefined {
    const column = this.columns.find(column => column.name === name)
    const value = column && this.smallValue(column)
    if (value === undefined) return undefined
    return row => {
      const found = value(row)
      if (found instanceof Uint8Array) return Buffer.from(found).toString('utf8')
      return found === undefined ? undefined : Number(found)
    }
  }

  /** The entries of a dictionary. */
  private entries(id: number): TextColumn {
    return this.index.text(`entry.${id}`)
  }

  private views(unit: number, wanted: Wanted, pieces: readonly Uint8Array[]): ColumnView[] {
    const known = this.opened.get(pieces)
    if (known?.wanted === wanted) return known.views
    const plan = this.planOf(unit, wanted)
    const buffers = this.units.buffers(plan, pieces, field => this.dictionary(field, unit))
    const views = wanted.shared.map(column => new ColumnView(column, buffers))
    this.opened.set(pieces, { wanted, views })
    return views
  }

  private dictionary({ dictionary }: Field, unit: number): DictionaryEntries {
    const { id } = dictionary!
    const entries = this.entries(id)
    const nulls = this.index.numbers(`null.${id}`)
    const from = this.index.numbers(`from.${id}`)[unit]
    const count = this.index.numbers(`to.${id}`)[unit] - from
    return { count, at: code => (nulls[from + code] === 1 ? undefined : entries.bytes(from + code)) }
  }

  private plan(unit: number, columns: readonly string[]): UnitPlan {
    return this.planOf(unit, this.wanted.of(columns))
  }

  private planOf(unit: number, { plans, fields }: Wanted): UnitPlan {
    let plan = plans.get(unit)
    if (plan === undefined) {
      if (plans.size >= PLANS) plans.clear()
      plan = this.units.plan(unit, fields)
      plans.set(unit, plan)
    }
    return plan
  }

  private range(offset: number, length: number): ByteRange {
    return { file: this.manifest.file, offset, length, was: this.was }
  }

  private resolve(names: readonly string[]): Wanted {
    const wanted: Wanted = { direct: [], small: [], shared: [], fields: [], plans: new Map() }
    for (const column of this.columns) {
      const { name } = column
      if (!names.includes(name) || column.kind === 'null') continue
      const value = this.smallValue(column)
      if (this.index.has(`at.${name}`)) wanted.direct.push({ name, column, places: this.direct(column) })
      else if (value !== undefined) wanted.small.push({ name, value })
      else wanted.shared.push(column)
    }
    wanted.fields = wanted.shared.flatMap(fieldsFor)
    return wanted
  }

  private direct({ name, field }: ArrowColumn): Direct {
    const { lists, elements } = elementsOf(field)
    const dims = lists.slice(1).map((_, k) => this.index.numbers(`dim${k}.${name}`))
    const width = elements.form === 'varying' ? 1 : elements.width
    const dtype = elements.items as StoredDtype
    return {
      at: this.index.numbers(`at.${name}`),
      bytes: this.index.numbers(`bytes.${name}`),
      dims,
      dtype,
      width,
    }
  }

  /** Reads a column out of the index; undefined where it must come from a unit. */
  private smallValue({ name, field }: ArrowColumn): ((row: number) => Column | undefined) | undefined {
    const numbers = this.numbers(name)
    if (numbers === undefined) return undefined
    if (field.dictionary !== undefined) {
      const entries = this.entries(field.dictionary.id)
      const nulls = this.index.numbers(`null.${field.dictionary.id}`)
      return row => {
        const entry = numbers[row]
        return Number.isNaN(entry) || nulls[entry] === 1 ? undefined : entries.bytes(entry)
      }
    }
    if (field.items?.startsWith('f')) return this.floats(name, numbers)
    const big = field.items === 'i64' || field.items === 'u64'
    return row => {
      const value = numbers[row]
      return Number.isNaN(value) ? undefined : big ? BigInt(value) : value
    }
  }

  /** A float that is NaN can't be told from a null: where there are nulls, the unit tells. */
  private floats(name: string, numbers: NumberArray): ((row: number) => number) | undefined {
    const { nulls } = this.index.header.meta as { nulls?: Record<string, number> }
    return nulls?.[name] === 0 ? row => numbers[row] : undefined
  }
}

function intoSlot({ kind }: ArrowColumn, length: number): boolean {
  return kind === 'array' && length >= INTO_SLOT
}

function arrayOf(
  { field }: ArrowColumn,
  { dims, dtype, width }: Direct,
  row: number,
  data: Uint8Array | ByteRange,
): Column {
  const shape = dims.map(dim => dim[row])
  const others = shape.reduce((product, n) => product * n, 1)
  const { lists } = elementsOf(field)
  const last = lists.at(-1)!
  if (lists.length > 0)
    shape.push(
      ...(last.shape ?? [
        last.form === 'array' ? last.size : others === 0 ? 0 : data.length / width / others,
      ]),
    )
  return { dtype, shape, tiles: [{ data }] }
}

function uneven(name: string): DecodeError {
  return new DecodeError(
    `column "${name}": lists of different lengths lie side by side, so they are no array: make them of one length, or store one list a row`,
  )
}
