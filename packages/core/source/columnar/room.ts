/**
 * How a column of a unit lies in the engine's cache: Arrow's layout behind a header of 64 bytes, which says where each part
 * begins. The header is enough to read the column (view.ts), in any thread.
 *
 *   header        16 words, u32
 *   validity      a bit a row, the least first: 1 where the row has a value
 *   offsets       lists of any length: u32, a row's elements are offsets[row] to offsets[row + 1]
 *   dims          lists in lists: u32, how deep they are; then as many a row, the elements of its lists of each depth
 *   itemValidity  a bit an element
 *   codes         dictionary: u32 an item, the number of its value
 *   valueOffsets  text and bytes: u32, where each value, or the gap before it, begins, and the end of the last one
 *   values        elements in little-endian, or the bytes of all values
 *
 * An item is an element of a list, or else the value of a row. Every part begins on a multiple of 8. Parts have room for the
 * most that a loader announced; what it writes may be less.
 */
import { bytesOfStored, type StoredDtype } from '../../basics/array.js'
import { SourceError } from '../../basics/errors.js'

/** What an item is: an element type, UTF-8, or bytes. */
export type ItemType = StoredDtype | 'text' | 'bytes'

/** What a column is, and how much it has at most. */
export interface ColumnRoom {
  rows: number
  items: ItemType
  /** Rows may be null: there are validity bits. */
  nulls?: boolean
  /** Each row is a list: of any length, with `elements` at most in all, or of `size` each; or lists in lists, `depth` deep. */
  list?: { elements: number; size?: number; nulls?: boolean; depth?: number }
  /** Text and bytes: all values are this long, and need no offsets. */
  width?: number
  /** Text and bytes of varying length: the bytes of all values, at most. With a dictionary: of its entries. */
  bytes?: number
  /** Text and bytes of varying length: bytes before each value that are none of it, such as a length that was copied along. */
  gap?: number
  /** Text and bytes: items are codes of so many entries at most. */
  dictionary?: number
}

/** The words of the header. */
export const WORDS = {
  magic: 0,
  items: 1,
  rows: 2,
  /** 0: no list; 1: of any length; n + 2: of n elements each. */
  list: 3,
  /** Bytes of an item; 0: they vary. */
  width: 4,
  validity: 5,
  offsets: 6,
  itemValidity: 7,
  codes: 8,
  valueOffsets: 9,
  values: 10,
  end: 11,
  gap: 12,
  /** 1: every value is known to be UTF-8. */
  utf8: 13,
  /** 1: no element of a list is null. */
  fullItems: 14,
  dims: 15,
} as const

/** In place of a row's first number of `dims`: lists side by side differ in length, or one of them is null. */
export const RAGGED = 2 ** 32 - 1
export const NULL_LIST = 2 ** 32 - 2

/** "MRC1": columns are read by the build that wrote them, so this finds mistakes, not versions. */
export const MAGIC = 0x3143524d
export const HEADER_BYTES = 64

/** The numbers of the types in the header. */
export const ITEM_TYPES: readonly ItemType[] = [
  ...(['u8', 'i8', 'u16', 'i16', 'i32', 'u32', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64', 'bool'] as const),
  ...(['text', 'bytes'] as const),
]

/** Where the parts of a column lie; 0: it has no such part. */
export interface ColumnPlaces {
  validity: number
  offsets: number
  dims: number
  itemValidity: number
  codes: number
  valueOffsets: number
  values: number
  end: number
  width: number
  itemCount: number
}

/** Columns begin on a multiple of this. */
const COLUMN_ALIGN = 64
const PART_ALIGN = 8

const up = (n: number, to: number): number => Math.ceil(n / to) * to
const bitBytes = (n: number): number => Math.ceil(n / 8)

/** Bytes that a column takes at most. */
export function columnBytes(room: ColumnRoom): number {
  return placesOf(room).end
}

/** Bytes that columns take behind each other. */
export function unitBytesOf(rooms: readonly ColumnRoom[]): number {
  return rooms.reduce((sum, room) => sum + up(columnBytes(room), COLUMN_ALIGN), 0)
}

/** The piece of each column, in memory that has `unitBytesOf` bytes. */
export function splitUnit(rooms: readonly ColumnRoom[], into: Uint8Array): Uint8Array[] {
  let at = 0
  return rooms.map(room => {
    const piece = into.subarray(at, at + columnBytes(room))
    at += up(piece.length, COLUMN_ALIGN)
    return piece
  })
}

/** Where the parts of a column lie in its piece. */
export function placesOf(room: ColumnRoom): ColumnPlaces {
  const { rows, items, nulls, list, width, bytes = 0, dictionary } = room
  const itemCount = list === undefined ? rows : list.size === undefined ? list.elements : rows * list.size
  const isBytes = items === 'text' || items === 'bytes'
  let end = HEADER_BYTES
  const part = (wanted: boolean | undefined, bytes: number): number => {
    if (!wanted) return 0
    const at = end
    end += up(bytes, PART_ALIGN)
    return at
  }
  const validity = part(nulls, bitBytes(rows))
  const offsets = part(list !== undefined && list.size === undefined, 4 * (rows + 1))
  const depth = list?.depth ?? 0
  const dims = part(depth > 0, 4 * (1 + rows * depth))
  const itemValidity = part(list?.nulls, bitBytes(itemCount))
  const codes = part(dictionary !== undefined, 4 * itemCount)
  const entries = dictionary ?? itemCount
  const itemBytes = isBytes ? (width ?? 0) : bytesOfStored(items)
  const valueOffsets = part(isBytes && width === undefined, 4 * (entries + 1))
  const values = part(true, isBytes && width === undefined ? bytes : entries * itemBytes)
  if (!(end < 2 ** 32))
    throw new SourceError(
      `a column of ${rows} rows would take ${end} bytes in one unit, more than 4 GiB: write smaller row groups or chunks`,
    )
  return {
    validity,
    offsets,
    dims,
    itemValidity,
    codes,
    valueOffsets,
    values,
    end,
    width: itemBytes,
    itemCount,
  }
}
