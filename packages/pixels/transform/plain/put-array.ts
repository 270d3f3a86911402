/**
 * Writes an array into its row: from the type, strides and order of bytes in which it is stored to the field's type, in C
 * order. This is the only place where elements are converted.
 *
 *   bytes that are right as they are   one copy; not yet read: one read, straight into the slot
 *   anything else                      piece by piece: brought together in the workspace, turned to little-endian, converted
 *
 * The pieces stay in the processor's cache between the two passes.
 */
import { countOf, isFloatDtype, type Tile, type TiledArray } from '../../../core/basics/array.js'
import { DTYPES, type Dtype } from '../../../core/basics/dtype.js'
import { READERS } from '../../../core/basics/element.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { togetherToTheEnd } from '../../../core/basics/maybe.js'
import { checkCount, reading } from '../../../core/basics/plain-array.js'
import { eachRun, gather, type Walk, walkTile } from '../../../core/basics/tile-walk.js'
import type { RowContext } from '../../../core/engine/make/program.js'
import { copyInto } from '../../../core/system/memory/copy.js'
import { CONVERT_CODES } from '../kernels/codes.js'
import { kernel } from '../kernels/load.js'

/** Bytes of a piece, in the wider of the two types: what it is made of and what becomes of it stay in a core's cache. */
const PIECE = 131072

interface ConvertKernel {
  convert(source: number, from: number, target: number, to: number, count: number): number
  swap(at: number, size: number, count: number): void
  move(from: number, to: number, bytes: number): void
}

/** Writes the elements in C order from byte `at` of the memory on. A promise only where they are read by one. */
export function putArray(
  array: TiledArray,
  dtype: Dtype,
  at: number,
  context: RowContext,
): void | Promise<void> {
  const { tiles, shape } = array
  if (isFloatDtype(array.dtype) && !isFloatDtype(dtype) && dtype !== 'bool') throw noInteger(array, dtype)
  const [only] = tiles
  if (array.dtype === dtype && tiles.length === 1 && isPlain(only, countOf(shape) * DTYPES[dtype].bytes))
    return copyInto(context.work, only.data, at) // most arrays by far
  const walks = tiles.map(tile => walkTile(tile, array.dtype, shape, tile.data.length))
  checkCount(
    shape,
    walks.reduce((sum, walk) => sum + walk.count, 0),
  )
  if (tiles.length === 1) return putTile(array, only, walks[0], dtype, at, context)
  const pending = togetherToTheEnd(
    tiles.map((tile, i) => () => putTile(array, tile, walks[i], dtype, at, context)),
  )
  if (pending instanceof Promise) return pending.then(() => undefined)
}

/** Whether a tile is the array as it will lie in the slot. */
function isPlain(tile: Tile, bytes: number): tile is Tile<Uint8Array> {
  const { data, at, shape, strides, bigEndian } = tile
  const asItIs = at === undefined && shape === undefined && strides === undefined && bigEndian !== true
  return asItIs && data instanceof Uint8Array && data.length === bytes
}

function putTile(
  array: TiledArray,
  tile: Tile,
  walk: Walk,
  dtype: Dtype,
  at: number,
  context: RowContext,
): void | Promise<void> {
  const { data } = tile
  if (walk.count === 0) return
  if (data instanceof Uint8Array) return convertTile(array, tile, data, walk, dtype, at, context)
  if (array.dtype === dtype && walk.packed && walk.whole && !tile.bigEndian) {
    const bytes = walk.count * walk.size
    const start = at + walk.start * walk.size
    const exact = { ...data, offset: data.offset + walk.first, length: bytes }
    return reading(context.read)(exact, context.work.u8.subarray(start, start + bytes))
  }
  const landed = new Uint8Array(data.length)
  const read = reading(context.read)(data, landed)
  if (!read) return convertTile(array, tile, landed, walk, dtype, at, context)
  return read.then(() => convertTile(array, tile, landed, walk, dtype, at, context))
}

function convertTile(
  array: TiledArray,
  { bigEndian }: Tile,
  data: Uint8Array,
  walk: Walk,
  dtype: Dtype,
  at: number,
  { work }: RowContext,
): void {
  const { count, size, whole } = walk
  const copy = (bytes: Uint8Array, to: number): void => copyInto(work, bytes, to)
  const same = array.dtype === dtype
  if (same && whole) {
    const to = at + walk.start * size
    gather(data, walk, 0, count, work.u8, to, copy)
    if (bigEndian) kernel<ConvertKernel>('convert', work.memory).swap(to, size, count)
    return
  }
  const { convert, swap, move } = kernel<ConvertKernel>('convert', work.memory)
  const out = DTYPES[dtype].bytes
  const most = Math.min(count, Math.floor(PIECE / Math.max(size, out)))
  const mark = work.mark()
  const here = work.take(most * size)
  const there = whole || same ? here : work.take(most * out)
  for (let begin = 0; begin < count; begin += most) {
    const end = Math.min(begin + most, count)
    const n = end - begin
    gather(data, walk, begin, end, work.u8, here, copy)
    if (bigEndian) swap(here, size, n)
    const to = whole ? at + (walk.start + begin) * out : there
    if (!same) {
      const written = convert(CONVERT_CODES[array.dtype], here, CONVERT_CODES[dtype], to, n)
      if (written < n) throw noRoom(array, dtype, walk, begin + written, work.u8, here + written * size)
    }
    if (whole) continue
    const step = walk.axes.at(-1)?.to ?? 1
    eachRun(walk, begin, end, (i, run, _, element) => {
      const from = to + (i - begin) * out
      if (step === 1) move(from, at + element * out, run * out)
      else for (let k = 0; k < run; k++) move(from + k * out, at + (element + k * step) * out, out)
    })
  }
  work.release(mark)
}

function noInteger(array: TiledArray, dtype: Dtype): DecodeError {
  return new DecodeError(
    `the array is ${array.dtype}, and the field ${dtype}: floats are not made integers, since that would round or cut ` +
      'them: give the field a dtype of floats, or store integers',
  )
}

/** The integers that a type holds; undefined for floats. */
export function integersOf(dtype: Dtype): readonly [least: bigint, most: bigint] | undefined {
  if (isFloatDtype(dtype)) return undefined
  if (dtype === 'bool') return [0n, 1n]
  const bits = BigInt(dtype.slice(1))
  return dtype[0] === 'u' ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]
}

/** The element that the field's type does not hold, by name. */
function noRoom(
  array: TiledArray,
  dtype: Dtype,
  walk: Walk,
  number: number,
  u8: Uint8Array,
  at: number,
): DecodeError {
  const value = READERS[array.dtype](new DataView(u8.buffer), at)
  let element = 0
  eachRun(walk, number, number + 1, (_i, _n, _from, to) => {
    element = to
  })
  const index: number[] = []
  for (let axis = array.shape.length - 1; axis >= 0; axis--) {
    index.unshift(element % array.shape[axis])
    element = Math.floor(element / array.shape[axis])
  }
  const [least, most] = integersOf(dtype)!
  const where = index.length === 0 ? 'it' : `element [${index.join(', ')}] of the array`
  return new DecodeError(
    `${where} is ${value} in ${array.dtype}, which is no ${dtype}: that holds integers from ${least} to ${most}: ` +
      'give the field another dtype',
  )
}
