/**
 * An array in a file: of which type and shape it is, and how its elements lie there. What a format's reader finds when a
 * file is opened (`Member`), and what of it is the same for many files (`ArrayType`).
 */
import { bytesOfStored, countOf, type StoredDtype, type Tile } from '../../core/basics/array.js'
import { DecodeError } from '../../core/basics/errors.js'
import type { ArrayColumn, ByteRange } from '../../core/source/source.js'
import { textOfPoints, withoutZeros } from '../../core/source/texts.js'

export interface ArrayType {
  /** Absent: no numbers, but texts or bytes, or what can't be fed. */
  dtype?: StoredDtype
  /** NumPy's texts of fixed length. */
  text?: 'bytes' | 'points'
  textBytes?: number
  /** A member that is no array: its bytes as they are. */
  raw?: boolean
  /** Why it can't be fed, and what to do. */
  refused?: string
  shape: readonly number[]
  bigEndian?: boolean
  /** The first axis varies fastest. */
  fortran?: boolean
  /** Bytes of an element; of a record, if the column is a field of records. */
  item: number
  /** The field of a record: where it begins there, and its own shape. */
  offset?: number
  inner?: readonly number[]
}

/** A column of a file. Fields of records have the same place. */
export interface Member {
  column: string
  type: ArrayType
  /** The bytes in the file: of the elements, or of the deflated stream that holds them. */
  at: number
  length: number
  deflated?: Deflated
  /** Of a member that is stored as it is. */
  sum?: Checksum
}

/** The CRC-32 that an archive has of a stored member, and that of the header in front of its elements. */
export interface Checksum {
  header: number
  crc: number
}

export interface Deflated {
  /** Bytes after unpacking, the first of which are no elements, and the CRC-32 of all. */
  size: number
  skip: number
  crc: number
}

/** Bytes of all elements. */
export function bytesOfType({ shape, item }: ArrayType): number {
  return countOf(shape) * item
}

/** Bytes of one step along the first axis, where the array lies in C order. */
export function bytesOfRow({ shape, item }: ArrayType): number {
  return countOf(shape.slice(1)) * item
}

/** Whether the elements lie as they will in the slot. */
export function isPlainType({ dtype, bigEndian, fortran, shape, inner }: ArrayType): boolean {
  return dtype !== undefined && !bigEndian && inner === undefined && !(fortran && shape.length > 1)
}

/** Whether row by row they lie in ranges of their own: not in Fortran's order, where a row is spread over all of them. */
export function hasRanges({ fortran, shape }: ArrayType): boolean {
  return !(fortran && shape.length > 1)
}

/** The array of a type with numbers whose elements are `data`. */
export function wholeArray(type: ArrayType, data: Uint8Array | ByteRange): ArrayColumn {
  return arrayOf(type, type.shape, outerStrides(type), data, 0)
}

/** One row of it: `data` is the row, or, in Fortran's order, all elements. */
export function rowArray(type: ArrayType, data: Uint8Array | ByteRange, row: number): ArrayColumn {
  const strides = outerStrides(type)
  return arrayOf(type, type.shape.slice(1), strides?.slice(1), data, hasRanges(type) ? 0 : row * type.item)
}

function arrayOf(
  type: ArrayType,
  shape: readonly number[],
  outer: readonly number[] | undefined,
  data: Uint8Array | ByteRange,
  at: number,
): ArrayColumn {
  const { dtype, inner = [], offset = 0, bigEndian } = type
  const tile: Tile<Uint8Array | ByteRange> = { data: from(data, at + offset) }
  if (bigEndian) tile.bigEndian = true
  if (outer !== undefined) tile.strides = [...outer, ...denseStrides(inner, bytesOfStored(dtype!))]
  return { dtype: dtype!, shape: inner.length === 0 ? shape : [...shape, ...inner], tiles: [tile] }
}

/** Bytes from one element to the next along each axis; undefined where they follow from the shape. */
function outerStrides({ shape, item, fortran, inner }: ArrayType): number[] | undefined {
  if (fortran && shape.length > 1) {
    let bytes = item
    return shape.map(n => {
      const stride = bytes
      bytes *= n
      return stride
    })
  }
  return inner === undefined ? undefined : denseStrides(shape, item)
}

function denseStrides(shape: readonly number[], item: number): number[] {
  let bytes = item
  const strides = new Array<number>(shape.length)
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = bytes
    bytes *= shape[i]
  }
  return strides
}

function from(data: Uint8Array | ByteRange, at: number): Uint8Array | ByteRange {
  if (at === 0) return data
  if (data instanceof Uint8Array) return data.subarray(at)
  return { ...data, offset: data.offset + at, length: data.length - at }
}

/** A text of fixed length, without the zeros that fill it up. Bytes stay bytes: only a field of text wants them in UTF-8. */
export function textOf(
  { text, textBytes, offset = 0, bigEndian = false }: ArrayType,
  data: Uint8Array,
  column: string,
): Uint8Array | string {
  const bytes = data.subarray(offset, offset + textBytes!)
  const value = text === 'bytes' ? withoutZeros(bytes) : textOfPoints(bytes, bigEndian)
  if (value !== undefined) return value
  throw new DecodeError(
    `column "${column}" has a text with a code point that is no character: write it again`,
  )
}

/** How `inspect` calls a type, without its shape: `f32 (big-endian)`. */
export function typeName({ dtype, text, raw, refused, bigEndian, fortran, inner }: ArrayType): string {
  if (raw) return 'bytes'
  if (refused !== undefined) return "can't be fed"
  const notes = [bigEndian && 'big-endian', fortran && 'Fortran order', inner && 'in records'].filter(Boolean)
  return `${text === undefined ? dtype : 'text'}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`
}
