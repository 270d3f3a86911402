/** What a dataset says of itself: its shape, where its data lie, the filters they went through, and what stands for data that is not there. */
import { type Cursor, NOWHERE } from './bytes.js'

const MOST_RANK = 32
const MOST_FILTERS = 32

export interface Dataspace {
  dims: number[]
  /** What each axis may grow to: Infinity where there is no limit. */
  most: number[]
  /** No elements at all. */
  none: boolean
}

export function readDataspace(cursor: Cursor): Dataspace {
  const version = cursor.u8()
  const rank = cursor.u8()
  const flags = cursor.u8()
  if (version < 1 || version > 2 || rank > MOST_RANK)
    throw cursor.fault(`a shape has version ${version} and ${rank} axes`)
  const none = version === 2 && cursor.u8() === 2
  if (version === 1) cursor.skip(5)
  const dims = Array.from({ length: rank }, () => cursor.length())
  const most = (flags & 1) !== 0 ? Array.from({ length: rank }, () => cursor.limit()) : [...dims]
  return { dims, most, none }
}

/** How the chunks of a dataset are found. */
export type ChunkIndex =
  | { by: 'btree1' | 'implicit' | 'fixed' | 'extensible' | 'btree2' }
  | { by: 'single'; bytes: number | undefined; mask: number }

export type DataLayout =
  | { is: 'contiguous'; address: number; bytes: number }
  /** `edges`: chunks at an edge that are not full are not filtered. */
  | {
      is: 'chunked'
      address: number
      chunk: number[]
      elementBytes: number
      index: ChunkIndex
      edges: boolean
    }
  | { is: 'refused'; why: string }

export function readLayout(cursor: Cursor): DataLayout {
  const version = cursor.u8()
  if (version < 1 || version > 5) throw cursor.fault(`a layout has version ${version}`)
  if (version < 3) return oldLayout(cursor)
  const kind = cursor.u8()
  if (kind === 0) {
    const bytes = cursor.u16()
    return { is: 'contiguous', address: cursor.part(bytes).address, bytes }
  }
  if (kind === 1) return { is: 'contiguous', address: cursor.where(), bytes: cursor.length() }
  if (kind === 2) return version === 3 ? oldChunks(cursor) : newChunks(cursor, version)
  if (kind === 3)
    return {
      is: 'refused',
      why: 'it is virtual: name the files that it is made of, or write it out by h5repack',
    }
  throw cursor.fault(`a layout is of class ${kind}`)
}

/** Versions 1 and 2. */
function oldLayout(cursor: Cursor): DataLayout {
  const rank = cursor.u8()
  const kind = cursor.u8()
  cursor.skip(5)
  if (rank > MOST_RANK + 1) throw cursor.fault(`a layout has ${rank} axes`)
  const address = kind === 0 ? NOWHERE : cursor.where()
  const dims = Array.from({ length: rank }, () => cursor.u32())
  if (kind === 0) {
    const bytes = cursor.u32()
    return { is: 'contiguous', address: cursor.part(bytes).address, bytes }
  }
  // The sizes here have 32 bits, which may be too few: the shape and the type say how many bytes there are.
  if (kind === 1) return { is: 'contiguous', address, bytes: Infinity }
  if (kind !== 2 || rank < 2) throw cursor.fault(`a layout is of class ${kind}, with ${rank} axes`)
  return chunkedBy(cursor, address, dims, { by: 'btree1' })
}

function oldChunks(cursor: Cursor): DataLayout {
  const rank = cursor.u8()
  if (rank < 2 || rank > MOST_RANK + 1) throw cursor.fault(`a layout has ${rank} axes`)
  const address = cursor.where()
  const dims = Array.from({ length: rank }, () => cursor.u32())
  return chunkedBy(cursor, address, dims, { by: 'btree1' })
}

function newChunks(cursor: Cursor, version: number): DataLayout {
  const flags = cursor.u8()
  const rank = cursor.u8()
  const width = cursor.u8()
  if (rank < 2 || rank > MOST_RANK + 1 || width < 1 || width > 8)
    throw cursor.fault(`a layout has ${rank} axes`)
  const dims = Array.from({ length: rank }, () => cursor.uint(width))
  const index = chunkIndex(cursor, flags, version)
  return chunkedBy(cursor, cursor.where(), dims, index, (flags & 1) !== 0)
}

/** The last of the sizes is that of an element. */
function chunkedBy(
  cursor: Cursor,
  address: number,
  sizes: readonly number[],
  index: ChunkIndex,
  edges = false,
): DataLayout {
  const elementBytes = sizes[sizes.length - 1]
  return { is: 'chunked', address, chunk: checked(cursor, sizes.slice(0, -1)), elementBytes, index, edges }
}

function chunkIndex(cursor: Cursor, flags: number, version: number): ChunkIndex {
  const kind = cursor.u8()
  switch (kind) {
    case 1:
      if ((flags & 2) === 0) return { by: 'single', bytes: undefined, mask: 0 }
      return { by: 'single', bytes: cursor.length(), mask: cursor.u32() }
    case 2:
      return { by: 'implicit' }
    case 3:
      cursor.skip(1)
      return { by: 'fixed' }
    case 4:
      cursor.skip(5)
      return { by: 'extensible' }
    case 5:
      cursor.skip(6)
      return { by: 'btree2' }
    default:
      throw cursor.fault(`the chunks of a layout of version ${version} are indexed in way ${kind}`)
  }
}

function checked(cursor: Cursor, chunk: number[]): number[] {
  if (chunk.some(n => n < 1)) throw cursor.fault(`chunks have the shape [${chunk}]`)
  return chunk
}

/** A filter of a pipeline: its number at the HDF Group, and its parameters. */
export interface Filter {
  id: number
  name: string
  values: number[]
}

export function readPipeline(cursor: Cursor): Filter[] {
  const version = cursor.u8()
  const count = cursor.u8()
  if (version < 1 || version > 2 || count > MOST_FILTERS)
    throw cursor.fault(`a pipeline has version ${version}, and ${count} filters`)
  if (version === 1) cursor.skip(6)
  return Array.from({ length: count }, () => {
    const id = cursor.u16()
    const nameBytes = version === 1 || id >= 256 ? cursor.u16() : 0
    cursor.skip(2)
    const numbers = cursor.u16()
    const name = cursor.text(version === 1 ? Math.ceil(nameBytes / 8) * 8 : nameBytes)
    const values = Array.from({ length: numbers }, () => cursor.u32())
    if (version === 1 && numbers % 2 === 1) cursor.skip(4)
    return { id, name, values }
  })
}

/** The bytes of an element that was never written; undefined: zeros. */
export function readFill(cursor: Cursor): Buffer | undefined {
  const version = cursor.u8()
  if (version < 1 || version > 3) throw cursor.fault(`a fill value has version ${version}`)
  if (version === 3) {
    const flags = cursor.u8()
    return (flags & 0x20) === 0 ? undefined : filled(cursor)
  }
  cursor.skip(2)
  const defined = cursor.u8()
  return version === 2 && defined === 0 ? undefined : filled(cursor)
}

/** The older message has nothing but the bytes. */
export function readOldFill(cursor: Cursor): Buffer | undefined {
  return filled(cursor)
}

function filled(cursor: Cursor): Buffer | undefined {
  if (cursor.left < 4) return undefined
  const bytes = cursor.u32()
  return bytes === 0 || bytes === 0xffffffff ? undefined : Buffer.from(cursor.take(bytes))
}
