/**
 * HDF5 files while a feed runs. A sample is a row of the first axis of some datasets, or all of the datasets of a group. What lies together
 * in the file is a range of the sample's own; what is filtered is a unit (slabs.ts).
 */
import { DecodeError } from '../../core/basics/errors.js'
import { PerColumns } from '../../core/basics/per-columns.js'
import { unitsBeside } from '../../core/source/combine/unit-boundaries.js'
import type { ColumnLayout, Layout } from '../../core/source/layout.js'
import type {
  Column,
  Columns,
  IndexColumn,
  Leaf,
  Manifest,
  Need,
  Pieces,
  Present,
  Source,
} from '../../core/source/source.js'
import { FileRows, OpenIndexes } from '../shared/file-rows.js'
import { LIES } from './dataset.js'
import { filterName } from './filters.js'
import { type FileDataset, type FileManifest, Hdf5File } from './hdf5-file.js'
import { Slabs } from './slabs.js'
import { columnOf, type Form, formOf, membersOf, typeText, unreadOf, varyingOf } from './value.js'

export interface Hdf5Manifest extends Manifest {
  kind: 'hdf5'
  rows: 'axis' | 'groups'
  files: FileManifest[]
  /** Datasets of a sample, by their names in the definition. */
  sets: string[]
  columns: string[]
  /** Those whose numbers the index of every file has. */
  indexed: string[]
  /** Where samples are groups: the number of each sample's datasets in the index of its file, or NONE. */
  table?: SharedArrayBuffer
  /** And their names: all one behind the other, and where each begins. */
  keys?: { text: SharedArrayBuffer; starts: SharedArrayBuffer }
}

/** Groups whose datasets `inspect` looks at. */
const LOOKED_AT = 64

/** A sample that has no such dataset. */
export const NONE = 0xffffffff

/** A value that was never written takes memory all the same: so many bytes at most. */
const MOST_FILLED = 256 << 20

export class Hdf5Source implements Source {
  readonly count: number
  readonly columns: readonly string[]
  readonly runs: Float64Array
  readonly indexed: readonly string[]
  readonly unitStarts: Float64Array | undefined
  readonly leaves: readonly Leaf[] | undefined
  private readonly inFiles: FileRows
  private readonly files: OpenIndexes<Hdf5File>
  /** Of files whose groups are opened one by one, the first that was: by the index. */
  private readonly siblings = new Map<string, Hdf5File>()
  private readonly slabs: readonly (Slabs | undefined)[]
  private readonly table: Uint32Array | undefined
  private readonly keyText: Buffer | undefined
  private readonly keyStarts: Uint32Array | undefined
  /** Which sets a list of columns needs. */
  private readonly needed = new PerColumns(columns =>
    this.manifest.sets.flatMap((name, set) =>
      columns.some(column => column === name || column.startsWith(`${name}.`)) ? [set] : [],
    ),
  )

  constructor(private readonly manifest: Hdf5Manifest) {
    const { files, sets, table, keys } = manifest
    this.inFiles = new FileRows(files.map(({ count }) => count))
    this.count = this.inFiles.count
    this.runs = this.inFiles.runs
    this.columns = manifest.columns
    this.indexed = [...manifest.indexed, 'key', 'file']
    this.files = new OpenIndexes(files.length, i => this.opened(i))
    this.table = table && new Uint32Array(table)
    this.keyText = keys && Buffer.from(keys.text)
    this.keyStarts = keys && new Uint32Array(keys.starts)
    this.slabs = sets.map((_, set) =>
      files.some(({ unitRows }) => unitRows[set] > 0) ? new Slabs(this, set, files) : undefined,
    )
    const leaves = this.slabs.filter(slabs => slabs !== undefined)
    if (leaves.length > 0) this.leaves = leaves
    this.unitStarts = unitsBeside(leaves, this.runs)
  }

  id(row: number): string {
    return `${this.fileName(row)}:${this.nameOf(row)}`
  }

  key(row: number): string {
    const { name, group } = this.manifest.files[this.locate(row)]
    const base = name.slice(name.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '')
    return `${group === undefined ? base : `${base}/${group}`}:${this.nameOf(row)}`
  }

  index(name: string): IndexColumn | undefined {
    if (this.manifest.indexed.includes(name)) return this.numberColumn(name)
    if (name === 'key') return { type: 'string', at: row => this.key(row) }
    if (name === 'file') return { type: 'string', at: row => this.fileName(row) }
    return undefined
  }

  where(row: number): { file: string; offset: number } {
    const need: Need = { ranges: [], units: [] }
    this.need(row, 0, this.columns, need)
    const [{ leaf, unit, columns } = { leaf: undefined, unit: 0, columns: [] }] = need.units
    const range = need.ranges[0] ?? leaf?.planUnit(unit, columns)[0]
    return { file: this.manifest.files[this.locate(row)].file, offset: range?.offset ?? 0 }
  }

  present(row: number): Present {
    const columns = this.manifest.sets.flatMap((_, set) => {
      const dataset = this.datasetOf(row, set)
      return dataset === undefined ? [] : dataset.formsOf(this.columns).map(({ member }) => member.column)
    })
    return { columns }
  }

  layout(): Layout {
    return layoutOf(
      this.manifest.sets.map((name, set) => ({
        name,
        dataset: this.datasetOf(0, set),
        others: this.table === undefined ? [] : this.someOf(set),
        notes: this.notesOf(set),
      })),
    )
  }

  /** The datasets of some samples, spread over all. */
  private someOf(set: number): FileDataset[] {
    const step = Math.max(1, Math.floor(this.count / LOOKED_AT))
    const found: FileDataset[] = []
    for (let row = 0; row < this.count; row += step) {
      const dataset = this.datasetOf(row, set)
      if (dataset !== undefined) found.push(dataset)
    }
    return found
  }

  need(row: number, _epoch: number, columns: readonly string[], out: Need): void {
    for (const set of this.needed.of(columns)) {
      const dataset = this.datasetOf(row, set)
      if (dataset === undefined || dataset.formsOf(columns).length === 0) continue
      const local = this.inFiles.locate(row)
      if (dataset.isUnit) {
        const slabs = this.slabs[set]!
        out.units.push({ leaf: slabs, unit: slabs.unitOf(this.inFiles.file, local), columns: slabs.columns })
        continue
      }
      if (dataset.isLarge) continue
      const { offset, length } = dataset.place(local)
      if (offset < 0 || length === 0) continue
      const { file, was } = this.fileAt(this.inFiles.file)
      out.ranges.push({ file, offset, length, was })
    }
  }

  sample(row: number, _epoch: number, columns: readonly string[], got: Pieces): Columns {
    const out: Columns = {}
    let [ranges, units] = [0, 0]
    for (const set of this.needed.of(columns)) {
      const dataset = this.datasetOf(row, set)
      const forms = dataset?.formsOf(columns) ?? []
      if (dataset === undefined || forms.length === 0) continue
      const local = this.inFiles.locate(row)
      if (dataset.isUnit) {
        const data = this.slabs[set]!.valueIn(dataset, local, got.units[units++][0])
        for (const form of forms) out[form.member.column] = columnOf(form, data)
        continue
      }
      const { offset, length } = dataset.place(local)
      if (dataset.isLarge && offset >= 0) {
        const { file, was } = this.fileAt(this.inFiles.file)
        out[forms[0].member.column] = unreadOf(forms[0], { file, offset, length, was })
        continue
      }
      const there = offset >= 0 && length > 0
      const data = there ? got.ranges[ranges++] : unwritten(dataset, length)
      for (const form of forms) out[form.member.column] = plainValue(dataset, form, data)
    }
    return out
  }

  /** First row of each file, and the count at the end. */
  get starts(): Float64Array {
    return this.inFiles.starts
  }

  /** The dataset that a set has in a row. */
  datasetOf(row: number, set: number): FileDataset | undefined {
    const f = this.locate(row)
    const { sets, files } = this.manifest
    const number = this.table === undefined ? files[f].datasets[set] : this.table[row * sets.length + set]
    return number === NONE ? undefined : this.fileAt(f).dataset(number, set)
  }

  fileAt(i: number): Hdf5File {
    return this.files.of(i)
  }

  private opened(i: number): Hdf5File {
    const { files, sets } = this.manifest
    const { index, group } = files[i]
    const file = new Hdf5File(files[i], sets, this.table === undefined, this.siblings.get(index))
    if (group !== undefined && !this.siblings.has(index)) this.siblings.set(index, file)
    return file
  }

  private numberColumn(name: string): IndexColumn {
    const { files, sets } = this.manifest
    const set = sets.indexOf(name)
    const columns = files.map(({ datasets }, f) => this.fileAt(f).valuesOf(datasets[set]))
    return {
      type: 'number',
      at: row => {
        const local = this.inFiles.locate(row)
        return columns[this.inFiles.file][local]
      },
    }
  }

  private notesOf(set: number): { axes: string; note: string } | undefined {
    const number = this.table === undefined ? this.manifest.files[0].datasets[set] : this.table[set]
    return number === NONE || number === undefined ? undefined : this.fileAt(this.locate(0)).notesOf(number)
  }

  /** The file of a row, with its group where the rows of groups follow each other. */
  private fileName(row: number): string {
    const { name, group } = this.manifest.files[this.locate(row)]
    return group === undefined ? name : `${name}/${group}`
  }

  /** What a row is called within its file: its number, or the name of its group. */
  private nameOf(row: number): string {
    const { keyText, keyStarts } = this
    if (keyText === undefined || keyStarts === undefined) return String(this.inFiles.locate(row))
    return keyText.toString('utf8', keyStarts[row], keyStarts[row + 1])
  }

  /** The number of the file that holds a row. */
  private locate(row: number): number {
    this.inFiles.locate(row)
    return this.inFiles.file
  }
}

function plainValue(dataset: FileDataset, form: Form, data: Uint8Array): Column {
  return dataset.lies === LIES.heap ? varyingOf(form, data) : columnOf(form, data)
}

function unwritten(dataset: FileDataset, bytes: number): Uint8Array {
  if (dataset.lies === LIES.heap) return new Uint8Array(0)
  if (bytes > MOST_FILLED)
    throw new DecodeError(
      `dataset "${dataset.path}" was never written, and its value would take ${bytes} bytes: leave it out`,
    )
  const data = new Uint8Array(bytes)
  dataset.fillInto(data)
  return data
}

interface Told {
  name: string
  dataset: FileDataset | undefined
  /** The same dataset of other samples, where samples are groups. */
  others?: readonly FileDataset[]
  notes: { axes: string; note: string } | undefined
}

/** A slab of so many loaded bytes, of which a sample is a small part, is dear to read at random. */
const LARGE_SLAB = 4 << 20
const FEW_OF_MANY = 16

/** Of the datasets of the first sample; sizes that differ in others are `n`. */
function layoutOf(sets: readonly Told[]): Layout {
  const schema: ColumnLayout[] = []
  const chunks: string[] = []
  const codecs = new Set<string>()
  let slow: string | undefined
  for (const { name, dataset, others = [], notes } of sets) {
    if (dataset === undefined) continue
    const dims = dataset.rows ? dataset.dims.slice(1) : dataset.dims
    const axes = notes?.axes
      ? ` (${dataset.rows ? notes.axes.split(',').slice(1).join(', ') : notes.axes})`
      : ''
    for (const member of membersOf(name, dataset.kind.type).members) {
      const { shape } = formOf(member, dims, dataset.element)
      const type = typeText({ ...member.type, dims: [] })
      const sizes = shape.map((size, i) =>
        others.some(({ dims }) => (dims[i] ?? size) !== size) ? 'n' : size,
      )
      const sides = shape.length === 0 ? '' : ` [${sizes.join(', ')}]${axes}`
      schema.push({ name: member.column, type: `${type}${sides}${notes?.note ? `, ${notes.note}` : ''}` })
    }
    for (const { kind } of [dataset, ...others])
      for (const filter of kind.filters) codecs.add(filterName(filter))
    if (dataset.lies === LIES.chunked) chunks.push(`${name} in chunks of [${dataset.chunk.join(', ')}]`)
    slow ??= slowness(name, dataset)
  }
  return {
    schema,
    chunks: chunks.length === 0 ? 'not chunked' : chunks.join(', '),
    ...(codecs.size > 0 && { codecs: [...codecs] }),
    ...(slow !== undefined && { slow }),
  }
}

function slowness(name: string, dataset: FileDataset): string | undefined {
  if (!dataset.rows || !dataset.shares) return undefined
  const { slabRows, rowBytes } = dataset
  if (slabRows < FEW_OF_MANY || slabRows * rowBytes < LARGE_SLAB) return undefined
  return (
    `A row of "${name}" shares its chunks with ${slabRows - 1} others, of ${Math.round((slabRows * rowBytes) / 2 ** 20)} MiB in all: ` +
    'shuffle by windows, or rewrite it with chunks of one or a few rows (`h5repack -l CHUNK=…`).'
  )
}
