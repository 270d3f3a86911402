/** Opens HDF5 files: finds them, finds or makes the index of each, and settles which samples their datasets make. */

import { createHash } from 'node:crypto'
import { SourceError } from '../../core/basics/errors.js'
import { inParallel } from '../../core/basics/parallel.js'
import type { PathsJson } from '../../core/define/types.js'
import { joined } from '../../core/source/combine/combined.js'
import { type DataFile, findDataFiles } from '../../core/source/find/data-files.js'
import { IndexFile } from '../../core/source/index/file.js'
import { obtainFileIndex } from '../../core/source/index/of-file.js'
import type { IndexFound } from '../../core/source/index/place.js'
import type { Fingerprint, OpenContext, SourceKind } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { timeOf } from '../indexed-files.js'
import { withPath } from '../paths.js'
import { type Opened, openMany } from '../shared/index-of-source.js'
import {
  arePatterns,
  chooseGroups,
  chooseRows,
  chooseRowsOfGroups,
  columnsOf,
  FileTables,
  type SetJson,
  unitRowsOf,
  usualSets,
  whatItHas,
} from './choose.js'
import type { Dataset } from './dataset.js'
import { type Hdf5Manifest, Hdf5Source, NONE } from './hdf5-source.js'
import { HDF5_INDEX } from './index-build.js'

export interface Hdf5Options {
  /** Paths of datasets, by the names of their columns; absent: all whose first axes are as long as each other. */
  datasets?: Record<string, string>
  /** A sample is a row of the first axis; or all that lies in a group: paths are then patterns, as `data/*\/obs/img`. */
  rows?: 'axis' | 'groups'
}
export type Hdf5Json = { path: PathsJson } & Hdf5Options

/** Files that are indexed at the same time. */
const AT_ONCE = 4
const WORDS = { source: 'hdf5', what: 'file', end: 'h5' }

export async function openHdf5(
  json: string | string[] | Hdf5Json,
  context: OpenContext,
): Promise<Hdf5Manifest> {
  const spec = withPath(json)
  using stores = new Stores()
  const files = await findDataFiles(spec.path, context.root, stores, WORDS)
  const options = [spec.rows, spec.datasets]
  return await openMany('hdf5', files, options, context, context => openIndexes(files, spec, context, stores))
}

async function openIndexes(
  files: readonly DataFile[],
  spec: Pick<Hdf5Json, 'rows' | 'datasets'>,
  context: OpenContext,
  stores: Stores,
): Promise<Opened<Hdf5Manifest>> {
  let done = 0
  const indexes = await inParallel(files, AT_ONCE, async file => {
    const found = await obtainFileIndex(HDF5_INDEX, file, context, stores)
    context.progress?.(++done, files.length, 'indexing HDF5 files', 'files')
    return found
  })
  const named = Object.entries(spec.datasets ?? {}).map(([name, path]) => ({ name, path }))
  const chosen = new Chosen(spec.rows ?? 'axis', named, context)
  for (const [i, file] of files.entries()) chosen.add(file, indexes[i])
  return { manifest: chosen.finish(), indexes }
}

/** Samples of one file, or of one of its groups. */
type InFile = Pick<Hdf5Manifest['files'][number], 'count' | 'datasets' | 'unitRows' | 'group'>

/** Collects the samples of all files. */
class Chosen {
  private readonly hash = createHash('sha256')
  private readonly files: Hdf5Manifest['files'] = []
  private readonly parts: NonNullable<Fingerprint['parts']> = []
  private readonly stamps: string[] = []
  private readonly columns = new Set<string>()
  private readonly notIndexed = new Set<string>()
  private readonly keys: string[] = []
  private readonly numbers: number[] = []
  private indexBytes = 0
  /** Wanted columns that were looked at for packed numbers. */
  private readonly reported = new Set<string>()
  /** The last file that was looked into. */
  private last: FileTables | undefined

  constructor(
    private readonly rows: 'axis' | 'groups',
    private sets: SetJson[],
    private readonly context: OpenContext,
  ) {}

  add(file: DataFile, { path, header }: IndexFound): void {
    const tables = new FileTables(file.file, new IndexFile(path, false, header))
    const { name, bytes, version: was } = file
    let rows = 0
    for (const { count, datasets, unitRows, group } of this.samplesOf(tables)) {
      this.hash.update(`${group === undefined ? name : `${name}/${group}`}\n${count}\n`)
      this.files.push({
        file: file.file,
        name,
        ...(group !== undefined && { group }),
        index: path,
        checksum: header.checksum,
        count,
        was,
        datasets,
        unitRows,
      })
      rows += count
    }
    this.parts.push({ name, count: rows, bytes })
    this.stamps.push(`${timeOf(was)} ${header.checksum}`)
    this.indexBytes += header.bytes
  }

  finish(): Hdf5Manifest {
    const count = this.parts.reduce((sum, part) => sum + part.count, 0)
    if (count === 0) throw this.noSample()
    const manifest: Hdf5Manifest = {
      kind: 'hdf5',
      fingerprint: { kind: 'hdf5', count, digest: this.hash.digest('hex').slice(0, 32), parts: this.parts },
      stamp: joined(this.stamps),
      indexBytes: this.indexBytes,
      rows: this.rows,
      files: this.files,
      sets: this.sets.map(({ name }) => name),
      columns: [...this.columns],
      indexed:
        this.rows === 'axis'
          ? this.sets.map(({ name }) => name).filter(name => !this.notIndexed.has(name))
          : [],
      ...(this.rows === 'groups' && {
        table: shared(Uint32Array, this.numbers),
        keys: sharedTexts(this.keys),
      }),
    }
    return manifest
  }

  private noSample(): SourceError {
    const { file } = this.last!
    const why = arePatterns(this.sets)
      ? `nothing matches ${this.sets.map(({ path }) => `"${path}"`).join(', ')}; ${whatItHas(this.last!, this.sets[0].path)}`
      : 'its datasets have no rows'
    const names = this.parts.map(({ name }) => name)
    return new SourceError(`no sample in ${names.length === 1 ? file : names.join(', ')}: ${why}`, { file })
  }

  private samplesOf(tables: FileTables): InFile[] {
    this.last = tables
    if (this.rows === 'groups') return [this.addGroups(tables)]
    if (arePatterns(this.sets))
      return chooseRowsOfGroups(tables, this.sets).map(({ group, numbers, count }) => ({
        ...this.addRows(tables, numbers, count),
        group,
      }))
    if (this.sets.length === 0) this.sets = usualSets(tables, this.context.notice)
    const { numbers, count } = chooseRows(tables, this.sets)
    return [this.addRows(tables, numbers, count)]
  }

  private addRows(tables: FileTables, numbers: number[], count: number): InFile {
    const unitRows = numbers.map((number, set) => {
      const dataset = tables.usable(number)
      this.describe(tables, set, dataset)
      if (tables.tables.firstValue[number] < 0) this.notIndexed.add(this.sets[set].name)
      return unitRowsOf(dataset)
    })
    return { count, datasets: numbers, unitRows }
  }

  private addGroups(tables: FileTables): InFile {
    const { keys, numbers } = chooseGroups(tables, this.sets)
    const units = this.sets.map(() => 0)
    keys.forEach((key, row) => {
      this.hash.update(`${key}\n`)
      this.keys.push(key)
      numbers[row].forEach((number, set) => {
        this.numbers.push(number ?? NONE)
        if (number === undefined) return
        const dataset = tables.usable(number)
        this.describe(tables, set, dataset)
        if (unitRowsOf(dataset) > 0 || dataset.chunk[0] > 0) units[set] = 1
      })
    })
    return { count: keys.length, datasets: [], unitRows: units }
  }

  /** Names, shapes, types and chunks decide which rows there are, and how a window is made of them. */
  private describe(tables: FileTables, set: number, dataset: Dataset): void {
    const { name } = this.sets[set]
    this.tellOfPacked(tables, name, dataset)
    const { columns, left } = columnsOf(tables.file, name, dataset, this.rows === 'axis')
    for (const column of columns) this.columns.add(column)
    for (const { column, why } of left) {
      if (this.reported.has(column) || !this.context.wanted.includes(column)) continue
      this.reported.add(column)
      this.context.notice?.(`${tables.file}: the column "${column}" can't be read: ${why}`)
    }
    const units = this.rows === 'axis' ? unitRowsOf(dataset) : 0
    this.hash.update(
      `${name}\n${dataset.path}\n${dataset.dims}\n${JSON.stringify(dataset.kind.type)}\n${units}\n`,
    )
  }

  /** netCDF's packed numbers are delivered as they are stored, which a user of xarray does not expect. */
  private tellOfPacked(tables: FileTables, name: string, { path }: Dataset): void {
    if (this.reported.has(name) || !this.context.wanted.includes(name)) return
    this.reported.add(name)
    if (!/scale_factor|add_offset/.test(tables.tables.note.at(tables.find(path)!))) return
    this.context.notice?.(
      `${tables.file}: the numbers of "${name}" come as they are stored; scale_factor and add_offset are not applied. ` +
        'The operator {"normalize": {"mean": -add_offset / scale_factor, "std": 1 / scale_factor}} applies them',
    )
  }
}

function shared(Type: typeof Uint32Array, values: readonly number[]): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(Type.BYTES_PER_ELEMENT * values.length)
  new Type(buffer).set(values)
  return buffer
}

function sharedTexts(texts: readonly string[]): { text: SharedArrayBuffer; starts: SharedArrayBuffer } {
  const starts = [0]
  const bytes = texts.map(text => {
    const encoded = Buffer.from(text)
    starts.push(starts[starts.length - 1] + encoded.length)
    return encoded
  })
  const text = new SharedArrayBuffer(starts[texts.length])
  const whole = new Uint8Array(text)
  for (const [i, encoded] of bytes.entries()) whole.set(encoded, starts[i])
  return { text, starts: shared(Uint32Array, starts) }
}

export const hdf5: SourceKind<PathsJson | Hdf5Json> = {
  open: openHdf5,
  attach: manifest => new Hdf5Source(manifest as Hdf5Manifest),
}
