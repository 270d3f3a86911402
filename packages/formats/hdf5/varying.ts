/** Values of varying length: where each lies in the heaps of its file. This is looked up once, when the file is indexed. */
import { DecodeError } from '../../core/basics/errors.js'
import type { NumberBuilder } from '../../core/source/index/columns.js'
import type { ChunkGrid } from './chunks/grid.js'
import { unfilter } from './filters.js'
import { Cursor, type Hdf5Bytes, NOWHERE } from './structure/bytes.js'
import type { VaryingType } from './structure/datatype.js'
import type { GlobalHeaps } from './structure/global-heap.js'
import type { Filter } from './structure/messages.js'

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
