/**
 * Arrays as sources store them: an element type, a shape, and the pieces that hold the elements. The elements may lie in any
 * order of bytes and any strides, and be of a type that batches don't have (u64). They are converted once, while the row
 * is written.
 */
import { DTYPES, type Dtype, elements } from './dtype.js'

/** Element types that data may be stored in. */
export type StoredDtype = Dtype | 'u64'

/** Bytes that lie somewhere and are not read yet: what `ByteRange` of the stores begins with. */
export interface Unread {
  file: string
  offset: number
  length: number
}

/** A part of an array: a box of its elements. `Data` is what holds their bytes. */
export interface Tile<Data = Uint8Array | Unread> {
  data: Data
  /** Index of its first element in the array; absent: all 0. */
  at?: readonly number[]
  /** How many elements it has along each axis; absent: all from `at` on. */
  shape?: readonly number[]
  /**
   * Bytes from one element to the next, along each axis; absent: C order. An axis that goes backwards has a negative one:
   * the element of least address then comes first in `data`.
   */
  strides?: readonly number[]
  bigEndian?: boolean
}

/** An array in tiles, which together hold each of its elements. */
export interface TiledArray<Data = Uint8Array | Unread> {
  dtype: StoredDtype
  shape: readonly number[]
  tiles: readonly Tile<Data>[]
}

export function bytesOfStored(dtype: StoredDtype): number {
  return dtype === 'u64' ? 8 : DTYPES[dtype].bytes
}

export const isFloatDtype = (dtype: StoredDtype): boolean => dtype[0] === 'f' || dtype === 'bf16'

/** Number of elements: 0 times more than a number can hold is still 0. */
export function countOf(shape: readonly number[]): number {
  return shape.includes(0) ? 0 : elements(shape)
}

/** Whether a value of a column is an array, and no bytes. */
export function isTiled(value: unknown): value is TiledArray {
  return typeof value === 'object' && !(value instanceof Uint8Array) && value !== null && 'tiles' in value
}

/** Whether all of its bytes are there. */
export function isRead(array: TiledArray): array is TiledArray<Uint8Array> {
  return array.tiles.every(({ data }) => data instanceof Uint8Array)
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a === b || (a.length === b.length && a.every((n, i) => n === b[i]))
}
