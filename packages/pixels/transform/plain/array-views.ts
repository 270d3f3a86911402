/**
 * Crops, flips, turns and borders of arrays, as other views of the same bytes: nothing is copied, and of an array that is not
 * read yet only the stretch that a crop needs is left. The elements move when they are put into their row.
 */
import {
  bytesOfStored,
  countOf,
  type StoredDtype,
  type Tile,
  type TiledArray,
} from '../../../core/basics/array.js'
import { toBf16, toF16 } from '../../../core/basics/dtype.js'
import { DecodeError } from '../../../core/basics/errors.js'

/** A tile with all that is left out written out. */
interface Box {
  data: Tile['data']
  at: number[]
  shape: number[]
  strides: number[]
  bigEndian?: boolean
}

/** The piece of `sizes` elements from `starts` on, one of each for every axis. */
export function cropped(array: TiledArray, starts: readonly number[], sizes: readonly number[]): TiledArray {
  const size = bytesOfStored(array.dtype)
  const tiles = array.tiles.flatMap(tile => {
    const { data, at, shape, strides, bigEndian } = boxOf(tile, array)
    const low = at.map((n, i) => Math.max(n, starts[i]))
    const own = at.map((n, i) => Math.min(n + shape[i], starts[i] + sizes[i]) - low[i])
    if (own.some(n => n <= 0)) return []
    const [least] = reach(shape, strides)
    const first = low.reduce((sum, n, i) => sum + (n - at[i]) * strides[i], -least)
    const [below, above] = reach(own, strides)
    const piece = cut(data, first + below, above - below + size)
    const box: Tile = { data: piece, at: low.map((n, i) => n - starts[i]), shape: own, strides }
    return [bigEndian ? { ...box, bigEndian } : box]
  })
  return { dtype: array.dtype, shape: sizes, tiles }
}

/** The other way round along an axis. */
export function flipped(array: TiledArray, axis: number): TiledArray {
  const tiles = array.tiles.map(tile => {
    const box = boxOf(tile, array)
    box.at[axis] = array.shape[axis] - box.at[axis] - box.shape[axis]
    box.strides[axis] = -box.strides[axis]
    return box
  })
  return { dtype: array.dtype, shape: array.shape, tiles }
}

/** With two axes exchanged. */
function swapped(array: TiledArray, a: number, b: number): TiledArray {
  const swap = (list: readonly number[]): number[] => {
    const other = [...list]
    ;[other[a], other[b]] = [list[b], list[a]]
    return other
  }
  const tiles = array.tiles.map(tile => {
    const box = boxOf(tile, array)
    return { ...box, at: swap(box.at), shape: swap(box.shape), strides: swap(box.strides) }
  })
  return { dtype: array.dtype, shape: swap(array.shape), tiles }
}

/** Turned by 90° from axis a towards axis b, `times` times: `numpy.rot90(array, times, (a, b))`. */
export function turned(array: TiledArray, a: number, b: number, times: number): TiledArray {
  if (times === 1) return swapped(flipped(array, b), a, b)
  if (times === 2) return flipped(flipped(array, a), b)
  return times === 3 ? flipped(swapped(array, a, b), b) : array
}

/** With a border: so many elements of `value` before and after it, along every axis. */
export function bordered(
  array: TiledArray,
  before: readonly number[],
  after: readonly number[],
  value: number,
): TiledArray {
  const shape = array.shape.map((n, i) => before[i] + n + after[i])
  const data = oneElement(array.dtype, value)
  const strides = shape.map(() => 0)
  const tiles: Tile[] = array.tiles.map(tile => {
    const box = boxOf(tile, array)
    return { ...box, at: box.at.map((n, i) => n + before[i]) }
  })
  // Slabs along each axis: within the border of the axes before it, over all of those behind it.
  shape.forEach((_, axis) => {
    const from = shape.map((_n, i) => (i < axis ? before[i] : 0))
    const whole = shape.map((n, i) => (i < axis ? array.shape[i] : n))
    const slab = (begin: number, count: number): void => {
      const at = from.with(axis, begin)
      const own = whole.with(axis, count)
      if (countOf(own) > 0) tiles.push({ data, at, shape: own, strides })
    }
    slab(0, before[axis])
    slab(before[axis] + array.shape[axis], after[axis])
  })
  return { dtype: array.dtype, shape, tiles }
}

function boxOf({ data, at, shape, strides, bigEndian }: Tile, array: TiledArray): Box {
  const begin = at === undefined ? array.shape.map(() => 0) : [...at]
  const own = shape === undefined ? array.shape.map((n, i) => n - begin[i]) : [...shape]
  const box: Box = {
    data,
    at: begin,
    shape: own,
    strides: strides ? [...strides] : dense(own, bytesOfStored(array.dtype)),
  }
  return bigEndian ? { ...box, bigEndian } : box
}

function dense(shape: readonly number[], size: number): number[] {
  const strides = new Array<number>(shape.length)
  let bytes = size
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = bytes
    bytes *= shape[i]
  }
  return strides
}

/** The least and the greatest byte at which an element begins, from the first element on. */
function reach(shape: readonly number[], strides: readonly number[]): [least: number, most: number] {
  let [least, most] = [0, 0]
  shape.forEach((n, i) => {
    if (strides[i] < 0) least += strides[i] * (n - 1)
    else most += strides[i] * (n - 1)
  })
  return [least, most]
}

function cut(data: Tile['data'], from: number, length: number): Tile['data'] {
  if (data instanceof Uint8Array) return data.subarray(from, from + length)
  return { ...data, offset: data.offset + from, length }
}

/** The bytes of one element. */
function oneElement(dtype: StoredDtype, value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(bytesOfStored(dtype)))
  let back = value
  if (dtype === 'f64') view.setFloat64(0, value, true)
  else if (dtype === 'f32') view.setFloat32(0, value, true)
  else if (dtype === 'f16') view.setUint16(0, toF16(value), true)
  else if (dtype === 'bf16') view.setUint16(0, toBf16(value), true)
  else {
    const unsigned = dtype[0] === 'u' || dtype === 'bool'
    const bits = 8 * view.byteLength
    const whole = Number.isSafeInteger(value) ? BigInt(value) : 0n
    const fit = unsigned ? BigInt.asUintN(bits, whole) : BigInt.asIntN(bits, whole)
    back = Number(fit)
    const all = new DataView(new ArrayBuffer(8))
    all.setBigInt64(0, fit, true)
    new Uint8Array(view.buffer).set(new Uint8Array(all.buffer, 0, view.byteLength))
  }
  if (back !== value && !Number.isNaN(value))
    throw new DecodeError(
      `the array is ${dtype}, which does not hold the ${value} of pad: give another value`,
    )
  return new Uint8Array(view.buffer)
}
