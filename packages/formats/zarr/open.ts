/**
 * Opens Zarr stores: reads the metadata of the arrays, finds their chunks, and makes one flat table of all of them.
 * zarr-source.ts reads them while a feed runs.
 */

import { createHash } from 'node:crypto'
import { inFile, SourceError } from '../../core/basics/errors.js'
import type { PathsJson } from '../../core/define/types.js'
import type { Fingerprint, OpenContext, SourceKind } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { withPath } from '../paths.js'
import { type ColumnManifest, ColumnTables, type PartArray } from './column-tables.js'
import { findStores, type StorePath } from './find/find-stores.js'
import { Hierarchy } from './find/hierarchy.js'
import { FolderObjects, type ZarrObjects } from './find/objects.js'
import { selectParts } from './find/select.js'
import { ZipObjects } from './find/zip-objects.js'
import {
  checkPlain,
  findChunks,
  readContents,
  readShards,
  type StoreArray,
  tellOfNothing,
} from './index-chunks.js'
import { type ArrayMeta, asOneRow } from './meta/array-meta.js'
import { sharedNumbers, versionBytes } from './versions.js'
import { type ZarrManifest, ZarrSource } from './zarr-source.js'

export interface ZarrOptions {
  /** Which arrays are columns: paths in the store, with wildcards; or paths by the names of columns. All by default. */
  arrays?: string | string[] | Record<string, string>
  /** What a row is: one step along the first axis of the arrays (the default), or a group of arrays. */
  rows?: 'axis' | 'groups'
}
/** Folders, or archives. */
export type ZarrJson = PathsJson | ({ path: PathsJson } & ZarrOptions)

/** Lines of a fingerprint that say what changed. */
const MOST_PARTS = 4096

/** A part: rows of a store whose columns are arrays. */
interface Part {
  hierarchy: Hierarchy
  store: StorePath
  name: string
  paths: ReadonlyMap<string, string>
  arrays: Map<string, ArrayMeta>
}

export async function openZarr(json: ZarrJson, context: OpenContext): Promise<ZarrManifest> {
  const { path, arrays, rows = 'axis' } = withPath(json)
  using stores = new Stores()
  const parts: Part[] = []
  for (const store of await findStores(path, context.root, stores)) {
    const hierarchy = await Hierarchy.open(await objectsOf(store.root, stores))
    for (const { name, paths } of await selectParts(hierarchy, arrays, rows)) {
      const all = await metadataOf(hierarchy, paths, rows, arrays !== undefined)
      const unnamed = arrays === undefined && rows === 'axis'
      const chosen = unnamed ? await withoutScales(hierarchy, paths, all) : all
      parts.push({ hierarchy, store, name, paths, arrays: chosen })
    }
  }
  const names = columnsOf(parts, rows)
  const rowStarts = sharedNumbers(parts.length + 1)
  parts.forEach((part, i) => {
    rowStarts[i + 1] = rowStarts[i] + rowsOf(part)
  })
  const count = rowStarts[parts.length]
  if (count === 0)
    throw new SourceError(`no rows in ${parts[0].store.root}: its arrays are empty`, {
      file: parts[0].store.root,
    })
  const columns = await indexColumns(names, parts, rowStarts, stores, context)
  return {
    kind: 'zarr',
    fingerprint: fingerprint(columns, parts, rowStarts, rows),
    stamp: stampOf(columns),
    indexBytes: columns.reduce((sum, column) => sum + bytesOf(column), rowStarts.byteLength),
    columns,
    rowStarts,
    names: parts.map(({ store, name }) => (name === '' ? store.name : `${store.name}/${name}`)),
    stems: parts.map(part => stemOf(part, rows)),
    groups: rows === 'groups',
  }
}

async function objectsOf(root: string, stores: Stores): Promise<ZarrObjects> {
  return root.endsWith('.zip') ? ZipObjects.open(root, stores) : new FolderObjects(root, stores)
}

/** What splits go by: without the store's extension; groups have names of their own. */
function stemOf({ store, name }: Part, rows: 'axis' | 'groups'): string {
  const stem = store.name.replace(/\.zarr(\.zip)?$/, '')
  if (name === '') return stem
  return rows === 'groups' ? name : `${stem}/${name}`
}

/** The metadata of a part's arrays. Single numbers, which have no first axis, are columns only where they are asked for. */
async function metadataOf(
  hierarchy: Hierarchy,
  paths: ReadonlyMap<string, string>,
  rows: 'axis' | 'groups',
  asked: boolean,
): Promise<Map<string, ArrayMeta>> {
  const arrays = new Map<string, ArrayMeta>()
  for (const [column, path] of paths) {
    const meta = await hierarchy.array(path)
    if (meta === undefined) continue
    if (rows === 'axis' && meta.shape.length === 0) {
      if (!asked) continue
      throw new SourceError(
        `${hierarchy.objects.nameOf(path)} is a single value, and has no rows: leave it out`,
        {
          file: hierarchy.objects.nameOf(path),
        },
      )
    }
    const read = rows === 'axis' ? meta : asOneRow(meta)
    if (read.kind.element.form !== 'number' && read.kind.element.form !== 'complex' && read.shape.length > 1)
      throw new SourceError(
        `${hierarchy.objects.nameOf(path)} has several texts a row, which no field takes: leave it out (arrays: […]), or write a text a row`,
        { file: hierarchy.objects.nameOf(path) },
      )
    arrays.set(column, read)
  }
  return arrays
}

/** The names of all columns. Rows along an axis have all of them; groups may lack some. */
function columnsOf(parts: readonly Part[], rows: 'axis' | 'groups'): string[] {
  const names = [...new Set(parts.flatMap(({ arrays }) => [...arrays.keys()]))]
  if (names.length === 0) throw inFile(parts[0].store.root, 'has no array with rows')
  if (rows === 'groups') return names
  for (const { arrays, store, name } of parts) {
    const missing = names.find(column => !arrays.has(column))
    if (missing === undefined) continue
    throw new SourceError(
      `${store.root}${name && ` (${name})`} has no array "${missing}", which others have: choose what all have by "arrays"`,
      {
        file: store.root,
      },
    )
  }
  return names
}

/** Rows of a part: all of its arrays have as many. */
function rowsOf({ arrays, store, name }: Part): number {
  const counts = [...arrays].map(([column, { shape }]) => ({ column, rows: shape[0] }))
  const [first] = counts
  const other = counts.find(({ rows }) => rows !== first.rows)
  if (other === undefined) return first?.rows ?? 1
  throw new SourceError(
    `${store.root}${name && ` (${name})`}: "${first.column}" has ${first.rows} rows, and "${other.column}" ${other.rows}: ` +
      `choose arrays that have the same rows, as in {"path": …, "arrays": ["${first.column}"]}`,
    { file: store.root },
  )
}

async function indexColumns(
  names: readonly string[],
  parts: readonly Part[],
  rowStarts: Float64Array,
  stores: Stores,
  { progress, notice }: OpenContext,
): Promise<ColumnManifest[]> {
  const tables = names.map(name => {
    const arrays = parts.map(({ hierarchy, arrays, paths }, part): PartArray | undefined => {
      const meta = arrays.get(name)
      if (meta === undefined) return undefined
      const { objects } = hierarchy
      const folder = objects.archive ? objects.root : objects.nameOf(paths.get(name) as string)
      return { part, meta, folder, archive: objects.archive }
    })
    return new ColumnTables(name, arrays, rowStarts)
  })
  const ofStores = new Map<Hierarchy, StoreArray[]>()
  parts.forEach(({ hierarchy, arrays, paths }, part) => {
    const list = ofStores.get(hierarchy) ?? []
    ofStores.set(hierarchy, list)
    names.forEach((name, i) => {
      if (arrays.has(name)) list.push({ path: paths.get(name) as string, part, tables: tables[i] })
    })
  })
  for (const [hierarchy, arrays] of ofStores) await findChunks(hierarchy, arrays)
  for (const table of tables) {
    await readShards(table, stores, progress)
    await readContents(table, stores)
    checkPlain(table)
    if (notice !== undefined) tellOfNothing(table, notice)
  }
  return tables.map(table => table.finish())
}

function bytesOf(column: ColumnManifest): number {
  const { shapes, firstUnit, firstObject, unitStarts, lengths, offsets, versions } = column
  const tables = [shapes, firstUnit, firstObject, unitStarts, lengths, offsets]
  const more = versionBytes(versions) + (column.contents?.byteLength ?? 0)
  return tables.reduce((sum, table) => sum + table.byteLength, more)
}

/** Of names, shapes, kinds, and which chunks there are with how many bytes. */
function fingerprint(
  columns: readonly ColumnManifest[],
  parts: readonly Part[],
  rowStarts: Float64Array,
  rows: string,
): Fingerprint {
  const hash = createHash('sha256').update(`zarr ${rows}\n`)
  for (const { store, name, paths } of parts)
    hash.update(`${JSON.stringify([store.name, name, [...paths]])}\n`)
  for (const { name, kinds, kindOf, shapes, lengths } of columns) {
    const described = kinds.map(kind => ({ ...kind, fill: [...kind.fill] }))
    hash.update(`${JSON.stringify([name, described])}\n`)
    for (const table of [kindOf, shapes, lengths]) hash.update(new Uint8Array(table.buffer).slice())
  }
  const bytes = (part: number): number =>
    columns.reduce((sum, column) => {
      let here = sum
      for (let unit = column.firstUnit[part]; unit < column.firstUnit[part + 1]; unit++)
        here += Math.max(0, column.lengths[unit])
      return here
    }, 0)
  return {
    kind: 'zarr',
    count: rowStarts[parts.length],
    digest: hash.digest('hex').slice(0, 32),
    parts: parts.slice(0, MOST_PARTS).map(({ store, name }, part) => ({
      name: name === '' ? store.name : `${store.name}/${name}`,
      count: rowStarts[part + 1] - rowStarts[part],
      bytes: bytes(part),
    })),
  }
}

/** Times, or versions, of all objects. */
function stampOf(columns: readonly ColumnManifest[]): string {
  const hash = createHash('sha256')
  for (const { versions } of columns) {
    versions.times?.forEach((time, i) => {
      if (i % 4 === 0) hash.update(`${time} `)
    })
    if (versions.texts !== undefined) hash.update(Buffer.from(versions.texts.bytes))
  }
  return hash.digest('hex').slice(0, 32)
}

export const zarr: SourceKind<ZarrJson> = {
  open: openZarr,
  attach: manifest => new ZarrSource(manifest as ZarrManifest),
}

/**
 * Scales of axes, which xarray calls coordinates: arrays of one axis that bear its name, as `lat` does. Where they have
 * another length than the data, they are no columns, unless the definition names them.
 */

/** All arrays but the scales that have no row for each of the others'. */
async function withoutScales(
  hierarchy: Hierarchy,
  paths: ReadonlyMap<string, string>,
  arrays: Map<string, ArrayMeta>,
): Promise<Map<string, ArrayMeta>> {
  if (lengths(arrays.values()).size < 2) return arrays
  const data: ArrayMeta[] = []
  const scales = new Set<string>()
  for (const [column, meta] of arrays) {
    const path = paths.get(column) as string
    if (meta.shape.length === 1 && (await isScale(hierarchy, path))) scales.add(column)
    else data.push(meta)
  }
  if (data.length === 0) return arrays
  const rows = lengths(data)
  return new Map([...arrays].filter(([column, { shape }]) => !scales.has(column) || rows.has(shape[0])))
}

async function isScale(hierarchy: Hierarchy, path: string): Promise<boolean> {
  const axes = await hierarchy.axes(path)
  return Array.isArray(axes) && axes.length === 1 && axes[0] === path.slice(path.lastIndexOf('/') + 1)
}

function lengths(arrays: Iterable<ArrayMeta>): Set<number> {
  return new Set([...arrays].map(({ shape }) => shape[0]))
}
