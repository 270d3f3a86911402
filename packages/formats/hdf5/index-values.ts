/** Numbers of datasets with one a row, such as labels: the index keeps them, for `where`, weights, and splits by strata. */
import { MillraceError } from '../../core/basics/errors.js'
import { NumberBuilder } from '../../core/source/index/columns.js'
import type { ChunkGrid } from './chunks/grid.js'
import { unfilter } from './filters.js'
import type { Kind } from './index-tables.js'
import type { Hdf5Bytes } from './structure/bytes.js'
import type { NumberType } from './structure/datatype.js'
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
