/**
 * Room for large rows of varying length, taken before they are read: so that they are read, or copied, straight to where they are
 * delivered. A row of a ragged field begins where the rows before it end. Where the lengths of all of these are known, it goes
 * into the values; otherwise into the staging area, and is copied when the batch is closed.
 *
 * The column `place` says where a row lies: 0 nowhere yet, p > 0 at element p − 1 of the staging area, p < 0 at element −p − 1
 * of the values. It is written after the row's length, and both stay as they are until the batch is closed.
 */
import type { FieldPlace } from './layout.js'
import { Header, type Slot } from './slot.js'

/** Rows of fewer bytes are copied in less time than it takes to add up the lengths of those before them. */
const WORTH_IT = 65536

/**
 * Byte of the memory where a row of `length` elements goes. Undefined: it is small, or the batch has no room for it: then it is
 * made elsewhere, and `putVarying` puts it into its place or says what is wrong.
 */
export function takeRoom(slot: Slot, index: number, row: number, length: number): number | undefined {
  const field = slot.layout.fields[index]
  const { unitBytes, form } = field
  if (length * unitBytes < WORTH_IT || length > (field.each ?? field.max ?? 0)) return undefined
  const lengths = slot.column(field.lengthAt)
  if (form === 'padded') {
    lengths[row] = length
    return slot.at + field.at + row * field.max! * unitBytes
  }
  const places = slot.column(field.placeAt)
  // A row that is made again (its maker died) goes where it was: its length is the same.
  if (places[row] === 0) {
    const before = lengthBefore(places, lengths, row)
    if (before !== undefined && (before + length) * unitBytes > field.bytes) return undefined
    lengths[row] = length
    const cursor = Atomics.add(slot.words, Header.Cursor + index, length)
    Atomics.store(places, row, before === undefined ? cursor + 1 : -before - 1)
  }
  const end = Math.abs(places[row]) - 1 + length
  return end * unitBytes > field.bytes ? undefined : addressOf(slot, field, places[row])
}

/** Byte of the memory where a row of a ragged field lies. */
export function addressOf(slot: Slot, { at, stagingAt, unitBytes }: FieldPlace, place: number): number {
  return slot.at + (place < 0 ? at + (-place - 1) * unitBytes : stagingAt + (place - 1) * unitBytes)
}

/** Elements of all rows before this one; undefined: the length of one of them is not known yet. */
function lengthBefore(places: Int32Array, lengths: Int32Array, row: number): number | undefined {
  let sum = 0
  for (let i = row - 1; i >= 0; i--) {
    if (Atomics.load(places, i) === 0) return undefined
    sum += lengths[i]
  }
  return sum
}
