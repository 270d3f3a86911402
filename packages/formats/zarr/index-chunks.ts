/**
 * Finds where the chunks of all arrays lie: lists the objects of a store once, or asks for them one by one where the store
 * has no listing, then reads the indexes of shards, many at a time.
 */
import { inFile } from '../../core/basics/errors.js'
import { inParallel } from '../../core/basics/parallel.js'
import type { OnProgress } from '../../core/source/source.js'
import { ASKED_AT_ONCE } from '../../core/store/access.js'
import type { Stores } from '../../core/store/stores.js'
import type { ColumnTables, PartArray } from './column-tables.js'
import type { Hierarchy } from './find/hierarchy.js'
import type { FoundObject } from './find/objects.js'
import { gridOf, placeAt } from './grid.js'
import { chunkBytes, keyOf } from './meta/array-meta.js'
import { readShard, shardShape } from './shard-index.js'
import { contentsOf } from './vlen.js'

/** Arrays up to which each is listed alone: more are found in one listing of the whole store. */
const LISTED_ALONE = 16

/** An array of a store: its path there, and the tables that its chunks go into. */
export interface StoreArray {
  path: string
  part: number
  tables: ColumnTables
}

/** Notes the objects of a store's arrays. */
export async function findChunks(hierarchy: Hierarchy, arrays: readonly StoreArray[]): Promise<void> {
  const { objects, listing } = hierarchy
  if (listing === undefined && arrays.length <= LISTED_ALONE) {
    for (const array of arrays) {
      const listed = objects.list(array.path === '' ? '' : `${array.path}/`)
      if (listed === undefined) await askForEach(hierarchy, array)
      else for await (const object of listed) note(object, new Map([[array.path, [array]]]))
    }
    return
  }
  const listed = listing ?? objects.list('')
  if (listed === undefined) {
    for (const array of arrays) await askForEach(hierarchy, array)
    return
  }
  const byPath = grouped(arrays)
  for await (const object of listed) note(object, byPath)
}

function grouped(arrays: readonly StoreArray[]): Map<string, StoreArray[]> {
  const byPath = new Map<string, StoreArray[]>()
  for (const array of arrays) byPath.set(array.path, [...(byPath.get(array.path) ?? []), array])
  return byPath
}

/** Gives an object to the arrays whose chunk it is: those of a folder above it. */
function note(object: FoundObject, arrays: ReadonlyMap<string, readonly StoreArray[]>): void {
  const { path } = object
  for (let slash = path.length; slash >= 0; ) {
    slash = path.lastIndexOf('/', slash - 1)
    const folder = slash < 0 ? '' : path.slice(0, slash)
    for (const { part, tables } of arrays.get(folder) ?? []) tables.found(part, path.slice(slash + 1), object)
    if (slash <= 0) return
  }
}

async function askForEach({ objects }: Hierarchy, { path, part, tables }: StoreArray): Promise<void> {
  const { shape, kind } = tables.arrays[part]!.meta
  const grid = gridOf(shape, shardShape(kind))
  const { first, end } = tables.objectsOf(part)
  const numbers = Array.from({ length: end - first }, (_, i) => i)
  await inParallel(numbers, ASKED_AT_ONCE, async number => {
    const key = keyOf(kind.keys, placeAt(grid, number))
    const object = await objects.stat(path === '' ? key : `${path}/${key}`)
    if (object !== undefined) tables.found(part, key, object)
  })
}

/** Reads the indexes of all shards of a column. */
export async function readShards(tables: ColumnTables, stores: Stores, progress?: OnProgress): Promise<void> {
  const shards: { array: PartArray; object: number; number: number }[] = []
  for (const array of tables.arrays) {
    if (array === undefined || array.meta.kind.shards.length === 0) continue
    const { first, end } = tables.objectsOf(array.part)
    for (let object = first; object < end; object++)
      if (tables.versions.sizes[object] >= 0) shards.push({ array, object, number: object - first })
  }
  let done = 0
  await inParallel(shards, ASKED_AT_ONCE, async ({ array, object, number }) => {
    const { meta, folder, archive, part } = array
    const { shape, kind } = meta
    const outer = shardShape(kind)
    const place = placeAt(gridOf(shape, outer), number)
    const file = archive ? folder : `${folder}/${keyOf(kind.keys, place)}`
    const range = {
      file,
      offset: tables.objectOffset(object),
      length: tables.versions.sizes[object],
      was: tables.versions.at(object),
    }
    const first = place.map((cell, axis) => cell * outer[axis])
    await readShard(stores, kind, range, first, shape, (chunk, offset, length) =>
      tables.chunk(part, chunk, offset, length),
    )
    progress?.(++done, shards.length, 'reading the indexes of shards', 'shards')
  })
}

/** Looks up how large the chunks of texts become. */
export async function readContents(tables: ColumnTables, stores: Stores): Promise<void> {
  const { contents } = tables
  if (contents === undefined) return
  for (const array of tables.arrays) {
    if (array === undefined) continue
    const { part, folder, archive, meta } = array
    await inParallel(
      [...tables.chunks(part)],
      ASKED_AT_ONCE,
      async ({ unit, object, key, offset, length }) => {
        const file = archive ? folder : `${folder}/${key}`
        const was = tables.versions.at(object)
        contents[unit] = await contentsOf(stores, meta.kind, { file, offset, length, was })
      },
    )
  }
}

/** A column without any chunk is all fill values. That may be right; more often the chunks were not copied. */
export function tellOfNothing(
  { name, arrays, versions }: ColumnTables,
  notice: (text: string) => void,
): void {
  const { sizes } = versions
  if (sizes.length === 0 || sizes.some(bytes => bytes >= 0)) return
  const first = arrays.find(array => array !== undefined) as PartArray
  notice(
    `${first.folder}: column "${name}" has none of its ${sizes.length} chunks, so that every value is the fill value: ` +
      'if it should have data, copy it again, chunks and all',
  )
}

/** Chunks that are stored as they are have the size that their shape says. */
export function checkPlain(tables: ColumnTables): void {
  for (const array of tables.arrays) {
    if (array === undefined || array.meta.kind.steps.length > 0) continue
    const bytes = chunkBytes(array.meta.kind)
    const wrong = bytes === 0 ? undefined : tables.firstWrong(array.part, bytes)
    if (wrong === undefined) continue
    throw inFile(
      array.folder,
      `: chunk ${keyOf(array.meta.kind.keys, wrong.place)} has ${wrong.bytes} bytes, and should have ${bytes}: copy or write it again`,
    )
  }
}
