/** Numbers of datasets with one a row, such as labels: the index keeps them, for `where`, weights, and splits by strata. */
import { DecodeError, MillraceError } from '../../core/basics/errors.js'
import { NumberBuilder } from '../../core/source/index/columns.js'
import type { ChunkGrid } from './chunks/grid.js'
import { unfilter } from './filters.js'
import type { Kind } from './index-tables.js'
import { Cursor, type Hdf5Bytes, NOWHERE } from './structure/bytes.js'
import type { NumberType, VaryingType } from './structure/datatype.js'
import type { GlobalHeaps } from './structure/global-heap.js'
import type { Filter } from './structure/messages.js'
import { scalarOf } from './value.js'

/** Rows of a dataset, and numbers of a file, that are kept at most. */
const MOST_ROWS = 2 ** 20
const MOST_VALUES = 2 ** 22

export class IndexValues {
  /** By dataset: its first number; −1: none is kept. */
  readonly firstValue = new NumberBuilder()
  readonly values = new NumberBuilder()

  constructor(private readonly file: Hdf5Bytes) {}

  /** No numbers of this dataset. */
  none(): void {
    this.firstValue.push(-1)
  }

  /** Of data that lie together at an address. */
  async together(kind: Kind, dims: readonly number[], address: number): Promise<void> {
    if (!this.wanted(kind, dims)) return this.none()
    const bytes = dims[0] * kind.type.bytes
    this.keep(kind, dims[0], await this.file.at(address, bytes))
  }

  /** Of chunks. Where one is damaged, none is kept: the rows that need it will say so. */
  async chunked(kind: Kind, grid: ChunkGrid): Promise<void> {
    const { dims, chunk, chunkBytes, count } = grid
    if (!this.wanted(kind, dims) || count * chunkBytes > 2 * MOST_ROWS * kind.type.bytes) return this.none()
    const all = Buffer.alloc(count * chunkBytes)
    const fill = kind.fill === undefined ? undefined : Buffer.from(kind.fill, 'base64')
    if (fill !== undefined) for (let at = 0; at < all.length; at += fill.length) all.set(fill, at)
    try {
      for (let i = 0; i < count; i++) {
        if (grid.offsets[i] === 0) continue
        const packed = await this.file.at(grid.offsets[i] - this.file.base, grid.bytes[i])
        unfilter(kind.filters, grid.masks[i], packed, all.subarray(i * chunkBytes, (i + 1) * chunkBytes))
      }
    } catch (error) {
      if (error instanceof MillraceError) return this.none()
      throw error
    }
    this.keep(kind, Math.min(dims[0], count * chunk[0]), all)
  }

  private wanted({ type }: Kind, dims: readonly number[]): boolean {
    const plain = type.is === 'number' && type.dims.length === 0 && dims.length === 1
    return plain && dims[0] <= MOST_ROWS && this.values.length + dims[0] <= MOST_VALUES
  }

  private keep({ type }: Kind, count: number, data: Uint8Array): void {
    const found = type.is === 'number' ? numbersOf(type, count, data) : undefined
    this.firstValue.push(found === undefined ? -1 : this.values.length)
    for (const value of found ?? []) this.values.push(value)
  }
}

/** Undefined where one of 64 bits is no number of JavaScript's: it would be compared as another one. */
function numbersOf(type: NumberType, count: number, data: Uint8Array): Float64Array | undefined {
  const found = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    const value = scalarOf(type, data, i * type.bytes, type.bytes)
    if (typeof value === 'bigint' && !Number.isSafeInteger(Number(value))) return undefined
    found[i] = Number(value)
  }
  return found
}

/** References that are read at once. */
const PIECE = 1 << 16

interface Where {
  dims: readonly number[]
  /** The address of references that lie together. */
  offset: number
  written: boolean
  /** The reference (base64) to what stands for values that were never written; absent: nothing. */
  fill?: string
}

type Tables = Record<'chunkOffset' | 'chunkBytes' | 'chunkMask', NumberBuilder>

/** Appends where each value lies. */
export async function readVarying(
  file: Hdf5Bytes,
  heaps: GlobalHeaps,
  type: VaryingType,
  { dims, offset, written, fill }: Where,
  grid: ChunkGrid | undefined,
  filters: readonly Filter[],
  out: Tables,
): Promise<void> {
  const count = dims.reduce((product, n) => product * n, 1)
  const unit = type.of === 'text' ? 1 : type.of.bytes
  if (type.bytes !== 8 + file.offsetSize)
    throw file.fault(`references to values have ${type.bytes} bytes`, offset)
  const push = (at: number, bytes: number): void => {
    out.chunkOffset.push(at)
    out.chunkBytes.push(bytes)
    out.chunkMask.push(0)
  }
  if (grid === undefined) {
    for (let from = 0; from < count; from += PIECE) {
      const here = Math.min(PIECE, count - from)
      if (written) await references(await file.cursor(offset + from * type.bytes, here * type.bytes), here)
      else await unwritten(here)
    }
    return
  }
  const [rows] = grid.chunk
  const whole = Buffer.alloc(Math.min(grid.chunkBytes, rows * type.bytes))
  for (let chunk = 0; chunk < grid.count; chunk++) {
    const here = Math.min(rows, count - chunk * rows)
    const at = grid.offsets[chunk] - file.base
    if (grid.offsets[chunk] === 0) await unwritten(here)
    else {
      const packed = await file.at(at, grid.bytes[chunk])
      try {
        unfilter(filters, grid.masks[chunk], packed, whole)
      } catch (error) {
        throw error instanceof DecodeError ? file.fault(error.message, at) : error
      }
      await references(new Cursor(file, whole, at), here)
    }
  }

  async function unwritten(here: number): Promise<void> {
    if (fill === undefined) for (let i = 0; i < here; i++) push(0, 0)
    else
      for (let i = 0; i < here; i++)
        await references(new Cursor(file, Buffer.from(fill, 'base64'), offset), 1)
  }

  async function references(cursor: Cursor, here: number): Promise<void> {
    for (let i = 0; i < here; i++) {
      const [length, collection, index] = [cursor.u32(), cursor.where(), cursor.u32()]
      if (length === 0 || collection === 0 || collection === NOWHERE) {
        push(0, 0)
        continue
      }
      const object = await heaps.object(collection, index)
      if (length * unit > object.bytes)
        throw file.fault(`a value has ${object.bytes} bytes, and should have ${length * unit}`, collection)
      push(object.offset, length * unit)
    }
  }
}
