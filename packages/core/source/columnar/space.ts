/** Lays out a column in memory of the cache: writes its header, and gives its parts as arrays to be filled. */
import { bytesOfStored, type StoredDtype } from '../../basics/array.js'
import { type ColumnRoom, HEADER_BYTES, ITEM_TYPES, MAGIC, placesOf, WORDS } from './room.js'

/** The parts of a column, empty. Those that it does not have are arrays of length 0. What they are: room.ts. */
export interface ColumnSpace {
  validity: Uint8Array
  /** Begins with the 0 of the first row. */
  offsets: Uint32Array
  /** Of lists in lists: behind the word that says how deep they are. */
  dims: Uint32Array
  itemValidity: Uint8Array
  codes: Uint32Array
  /** Begins with the 0 of the first value. */
  valueOffsets: Uint32Array
  values: Uint8Array
  /** The header, for what is known when all is written: room.ts. */
  header: Uint32Array
}

/**
 * Lays out a column in its piece of `splitUnit`. Bits and offsets are 0 at first; values and codes are whatever the memory
 * held before: the loader writes all of them, those of nulls too.
 */
export function layColumn(room: ColumnRoom, piece: Uint8Array): ColumnSpace {
  const places = placesOf(room)
  if (piece.length < places.end || piece.byteOffset % 8 !== 0)
    throw new Error(
      `a column of ${places.end} bytes in a piece of ${piece.length}, from ${piece.byteOffset} on`,
    )
  const words = new Uint32Array(piece.buffer, piece.byteOffset, HEADER_BYTES / 4)
  words.fill(0)
  words[WORDS.magic] = MAGIC
  words[WORDS.items] = ITEM_TYPES.indexOf(room.items)
  words[WORDS.rows] = room.rows
  words[WORDS.list] = room.list === undefined ? 0 : room.list.size === undefined ? 1 : room.list.size + 2
  words[WORDS.width] = places.width
  words[WORDS.gap] = room.gap ?? 0
  for (const name of [
    'validity',
    'offsets',
    'dims',
    'itemValidity',
    'codes',
    'valueOffsets',
    'values',
    'end',
  ] as const)
    words[WORDS[name]] = places[name]
  const bytes = (at: number, length: number): Uint8Array => piece.subarray(at, at + (at === 0 ? 0 : length))
  const numbers = (at: number, length: number): Uint32Array =>
    new Uint32Array(piece.buffer, piece.byteOffset + at, at === 0 ? 0 : length)
  const entries = room.dictionary ?? places.itemCount
  const space: ColumnSpace = {
    validity: bytes(places.validity, Math.ceil(room.rows / 8)),
    offsets: numbers(places.offsets, room.rows + 1),
    dims: numbers(places.dims, 1 + room.rows * (room.list?.depth ?? 0)).subarray(1),
    itemValidity: bytes(places.itemValidity, Math.ceil(places.itemCount / 8)),
    codes: numbers(places.codes, places.itemCount),
    valueOffsets: numbers(places.valueOffsets, entries + 1),
    values: piece.subarray(places.values, valuesEnd(room, places.values, entries, places.width)),
    header: words,
  }
  if (places.dims > 0) numbers(places.dims, 1)[0] = room.list?.depth ?? 0
  space.validity.fill(0)
  space.itemValidity.fill(0)
  space.offsets.fill(0)
  space.valueOffsets.fill(0)
  return space
}

function valuesEnd({ bytes = 0 }: ColumnRoom, at: number, entries: number, width: number): number {
  return at + (width === 0 ? bytes : entries * width)
}

/** Sets `count` bits from bit `from` on: rows or elements that are there. */
export function setBits(bits: Uint8Array, from: number, count: number): void {
  let at = from
  const end = from + count
  while (at < end && (at & 7) !== 0) setBit(bits, at++)
  const whole = (end - at) >> 3
  bits.fill(255, at >> 3, (at >> 3) + whole)
  for (at += 8 * whole; at < end; at++) setBit(bits, at)
}

export function setBit(bits: Uint8Array, at: number): void {
  bits[at >> 3] |= 1 << (at & 7)
}

/** Whether a bit is set. */
export function hasBit(bits: Uint8Array, at: number): boolean {
  return ((bits[at >> 3] >> (at & 7)) & 1) === 1
}

const NAN: Partial<Record<StoredDtype, readonly number[]>> = {
  f16: [0, 0x7e],
  bf16: [0xc0, 0x7f],
  f32: [0, 0, 0xc0, 0x7f],
  f64: [0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
}

/** Writes what stands for a null element of a list: NaN of floats, else 0. A view refuses lists of integers that have nulls. */
export function putNull(values: Uint8Array, dtype: StoredDtype, item: number): void {
  const bytes = bytesOfStored(dtype)
  const nan = NAN[dtype]
  if (nan === undefined) values.fill(0, item * bytes, (item + 1) * bytes)
  else values.set(nan, item * bytes)
}
