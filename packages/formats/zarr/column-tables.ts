/**
 * The flat index of a column: for every chunk of its arrays where its bytes lie. Arrays of all parts stand one behind the
 * other. Parts whose arrays are made alike share their description.
 */
import { SourceError } from '../../core/basics/errors.js'
import type { FoundObject } from './find/objects.js'
import { cells, gridOf, numberAt, placeAt } from './grid.js'
import type { ArrayKind, ArrayMeta } from './meta/array-meta.js'
import { keyOf, placeOf } from './meta/array-meta.js'
import { shardShape } from './shard-index.js'
import { sharedNumbers, VersionBuilder, type VersionTable } from './versions.js'
import { isVlen } from './vlen.js'

/** Chunks of a column. A table of so many takes some 600 MB. */
const MOST_CHUNKS = 1 << 24

/** A chunk that is not there: its elements are the fill value. */
export const ABSENT = -1

/** What threads attach to. */
export interface ColumnManifest {
  name: string
  kinds: ArrayKind[]
  /** Of each part: which kind its array is, −1 where it has none. */
  kindOf: Int32Array
  /** Axes of its arrays; shapes of all parts, one behind the other. */
  rank: number
  shapes: Float64Array
  /** The folder of each part's array; the file, where the store is an archive. */
  folders: string[]
  archives: Uint8Array
  /** The first chunk, and the first object, of each part, and how many there are at the end. */
  firstUnit: Float64Array
  firstObject: Float64Array
  /** The first row of each chunk. */
  unitStarts: Float64Array
  /** Of each chunk: its bytes, or −1, and where they begin in the object. */
  lengths: Float64Array
  offsets: Float64Array
  /** Of texts of any length: the bytes that each chunk becomes. */
  contents?: Float64Array
  versions: VersionTable
}

/** An array of a column that is being indexed. */
export interface PartArray {
  part: number
  meta: ArrayMeta
  /** Its folder or file, as chunks are named. */
  folder: string
  archive: boolean
}

export class ColumnTables {
  readonly lengths: Float64Array
  readonly offsets: Float64Array
  readonly versions: VersionBuilder
  /** The bytes that each chunk becomes, of texts of any length. */
  readonly contents: Float64Array | undefined
  private readonly firstUnit: Float64Array
  private readonly firstObject: Float64Array
  private readonly kinds: ArrayKind[] = []
  private readonly kindOf: Int32Array
  private readonly shapes: Float64Array
  private readonly unitStarts: Float64Array
  private readonly rank: number
  /** Of shards in an archive. */
  private objectOffsets: Map<number, number> | undefined

  constructor(
    readonly name: string,
    readonly arrays: readonly (PartArray | undefined)[],
    rowStarts: Float64Array,
  ) {
    const parts = arrays.length
    this.rank = rankOf(name, arrays)
    this.firstUnit = sharedNumbers(parts + 1)
    this.firstObject = sharedNumbers(parts + 1)
    this.kindOf = new Int32Array(new SharedArrayBuffer(4 * parts)).fill(-1)
    this.shapes = sharedNumbers(parts * this.rank)
    const known = new Map<string, number>()
    arrays.forEach((array, part) => {
      const [units, objects] = array === undefined ? [0, 0] : this.countChunks(array)
      this.firstUnit[part + 1] = this.firstUnit[part] + units
      this.firstObject[part + 1] = this.firstObject[part] + objects
      if (array === undefined) return
      this.kindOf[part] = this.kindNumber(array.meta.kind, known)
      this.shapes.set(array.meta.shape, part * this.rank)
    })
    const units = this.firstUnit[parts]
    if (units > MOST_CHUNKS) throw tooMany(name, units, arrays[0]?.folder)
    this.lengths = sharedNumbers(units, ABSENT)
    this.offsets = sharedNumbers(units)
    if (this.kinds.some(isVlen)) this.contents = sharedNumbers(units)
    this.versions = new VersionBuilder(this.firstObject[parts])
    this.unitStarts = this.startsOf(rowStarts)
  }

  /** Notes an object that was found; `key` is its path in the array's folder. False: it is no chunk of it. */
  found(part: number, key: string, { bytes, offset, version }: FoundObject): boolean {
    const { shape, kind } = this.arrays[part]!.meta
    const place = placeOf(kind.keys, key, shape.length)
    if (place === undefined) return false
    const grid = gridOf(shape, shardShape(kind))
    if (place.some((cell, axis) => cell >= grid[axis])) return false // left over from a larger array
    const object = this.firstObject[part] + numberAt(grid, place)
    this.versions.set(object, bytes, version)
    if (kind.shards.length === 0) this.chunk(part, place, offset, bytes)
    else if (offset > 0) (this.objectOffsets ??= new Map()).set(object, offset)
    return true
  }

  /** Notes where a chunk lies. */
  chunk(part: number, place: readonly number[], offset: number, length: number): void {
    const { shape, kind } = this.arrays[part]!.meta
    const unit = this.firstUnit[part] + numberAt(gridOf(shape, kind.chunk), place)
    this.lengths[unit] = length
    this.offsets[unit] = offset
  }

  /** Where an object begins in its file: in an archive, behind others. */
  objectOffset(object: number): number {
    return this.objectOffsets?.get(object) ?? 0
  }

  /** The first chunk of a part that is there and has another number of bytes. */
  firstWrong(part: number, bytes: number): { place: number[]; bytes: number } | undefined {
    const { shape, kind } = this.arrays[part]!.meta
    for (let unit = this.firstUnit[part]; unit < this.firstUnit[part + 1]; unit++) {
      const length = this.lengths[unit]
      if (length !== ABSENT && length !== bytes)
        return { place: placeAt(gridOf(shape, kind.chunk), unit - this.firstUnit[part]), bytes: length }
    }
    return undefined
  }

  /** All chunks of a part that are there, with the object that holds each. */
  *chunks(
    part: number,
  ): Generator<{ unit: number; object: number; key: string; offset: number; length: number }> {
    const { shape, kind } = this.arrays[part]!.meta
    const grid = gridOf(shape, kind.chunk)
    const shard = shardShape(kind)
    const objects = gridOf(shape, shard)
    for (let unit = this.firstUnit[part]; unit < this.firstUnit[part + 1]; unit++) {
      if (this.lengths[unit] === ABSENT) continue
      const cell = placeAt(grid, unit - this.firstUnit[part])
      const place = cell.map((at, axis) => Math.floor((at * kind.chunk[axis]) / shard[axis]))
      const object = this.firstObject[part] + numberAt(objects, place)
      yield {
        unit,
        object,
        key: keyOf(kind.keys, place),
        offset: this.offsets[unit],
        length: this.lengths[unit],
      }
    }
  }

  /** The first object of a part. */
  objectsOf(part: number): { first: number; end: number } {
    return { first: this.firstObject[part], end: this.firstObject[part + 1] }
  }

  finish(): ColumnManifest {
    const { name, kinds, kindOf, rank, shapes, firstUnit, firstObject, unitStarts, lengths, offsets } = this
    const folders = this.arrays.map(array => array?.folder ?? '')
    const archives = Uint8Array.from(this.arrays, array => (array?.archive ? 1 : 0))
    const places = { folders, archives, firstUnit, firstObject, unitStarts, lengths, offsets }
    const contents = this.contents && { contents: this.contents }
    return { name, kinds, kindOf, rank, shapes, ...places, ...contents, versions: this.versions.finish() }
  }

  private countChunks({ meta: { shape, kind }, folder }: PartArray): [number, number] {
    const units = cells(gridOf(shape, kind.chunk))
    if (units > MOST_CHUNKS) throw tooMany(this.name, units, folder)
    return [units, cells(gridOf(shape, shardShape(kind)))]
  }

  private kindNumber(kind: ArrayKind, known: Map<string, number>): number {
    const text = JSON.stringify({ ...kind, fill: [...kind.fill] })
    let number = known.get(text)
    if (number === undefined) {
      number = this.kinds.push(kind) - 1
      known.set(text, number)
    }
    return number
  }

  private startsOf(rowStarts: Float64Array): Float64Array {
    const starts = sharedNumbers(this.lengths.length)
    this.arrays.forEach((array, part) => {
      if (array === undefined) return
      const { shape, kind } = array.meta
      const [first, end] = [this.firstUnit[part], this.firstUnit[part + 1]]
      const across = cells(gridOf(shape, kind.chunk).slice(1))
      for (let unit = first; unit < end; unit++)
        starts[unit] = rowStarts[part] + Math.floor((unit - first) / across) * kind.chunk[0]
    })
    return starts
  }
}

function rankOf(name: string, arrays: readonly (PartArray | undefined)[]): number {
  const first = arrays.find(array => array !== undefined)
  const rank = first?.meta.shape.length ?? 1
  const other = arrays.find(array => array !== undefined && array.meta.shape.length !== rank)
  if (other === undefined) return rank
  throw new SourceError(
    `column "${name}" has ${rank} axes in ${first?.folder}, and ${other.meta.shape.length} in ${other.folder}: name them as columns of their own`,
    { file: other.folder },
  )
}

function tooMany(name: string, units: number, folder: string | undefined): SourceError {
  return new SourceError(
    `column "${name}" has ${units} chunks, more than ${MOST_CHUNKS}: write it with larger chunks`,
    { file: folder },
  )
}
