/**
 * Closing a batch: what remains to be done when all its rows are made. Holes left by dropped rows are closed in
 * order, ragged rows are gathered, padded rows are brought to their common length. The maker that finishes the
 * last row does it, alone, on the slot in place.
 *
 * A batch that has fillers (`last: pad`) keeps its full size: in place of what is dropped, blank fillers stand at its
 * end.
 */
import { toBf16, toF16 } from '../basics/dtype.js'
import { joinDocumentBoundaries } from './document-boundaries.js'
import type { FieldPlace, SlotLayout } from './layout.js'
import { addressOf } from './room.js'
import { Header, RowStatus, type Slot } from './slot.js'

export type BadPolicy = 'fail' | 'drop' | 'mask'

/** In a list of rows: a blank one. */
const BLANK = -1

/** Copies bytes of the memory to another place in it; the two don't overlap. */
export type MoveBytes = (to: number, from: number, bytes: number) => void

/** Closes a batch. Returns what is wrong with the batch as a whole, if anything. */
export function closeSlot(
  slot: Slot,
  bytes: Uint8Array,
  policy: BadPolicy,
  move: MoveBytes = (to, from, length) => void bytes.copyWithin(to, from, from + length),
): string | undefined {
  const { layout, words } = slot
  const planned = words[Header.Planned]
  for (const [i, field] of layout.fields.entries()) {
    const wanted = words[Header.Cursor + i]
    if (field.form !== 'dense' && field.form !== 'padded' && wanted * field.unitBytes > field.bytes) {
      // It has no rows, and says so: there was no room for their elements.
      words.fill(0, Header.Cursor, Header.Cursor + layout.fields.length)
      return (
        `field "${field.name}" needs ${wanted} elements in this batch, but its "total" is ` +
        `${field.bytes / field.unitBytes}: raise ragged.total of the field`
      )
    }
  }
  const dropped = policy === 'drop' && words[Header.Bad] > 0 ? takeBad(slot, planned) : undefined
  const rows = dropped && [...dropped.kept, ...dropped.blanks.map(() => BLANK)]
  // With `fail` the batch is not delivered, but bad rows must not have lengths left over from an earlier one.
  if (policy !== 'drop' && words[Header.Bad] > 0) blankBadRows(slot, bytes, planned)
  for (const [i, field] of layout.fields.entries()) {
    if (field.form === 'dense') {
      if (rows) closeHoles(rows, bytes, slot.at + field.at, field.unitBytes)
    } else if (field.form === 'padded') {
      words[Header.Cursor + i] = closePadded(slot, bytes, field, rows ?? planned)
    } else {
      words[Header.Cursor + i] = gatherRagged(slot, bytes, move, field, rows ?? planned)
    }
  }
  if (dropped) moveNotes(slot, dropped.kept, dropped.blanks)
  const count = rows ? rows.length : planned
  words[Header.Count] = count
  for (const field of layout.fields) {
    const problem =
      field.flat === undefined ? undefined : joinDocumentBoundaries(bordersOf(slot, field), count, field)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The entries of a field that is delivered flat. */
function bordersOf(slot: Slot, { at, shape }: FieldPlace): Int32Array {
  return new Int32Array(slot.buffer, slot.at + at, slot.layout.rows * shape[0])
}

/** Whether a batch has fillers: such a one keeps its full size. */
export function hasFillers({ words }: Slot): boolean {
  return words[Header.Valid] < words[Header.Planned]
}

/** What is known of a row besides its fields. */
export interface RowNote {
  position: number
  row: number
  source: number
}

export function noteOf(slot: Slot, i: number): RowNote {
  return { position: slot.positions[i], row: slot.rows[i], source: slot.sources[i] }
}

/** Numbers of the rows that stay, ascending; and, where the batch keeps its size, those that become blank fillers. */
function takeBad(slot: Slot, planned: number): { kept: number[]; blanks: RowNote[] } {
  const kept: number[] = []
  const blanks: RowNote[] = []
  for (let i = 0; i < planned; i++) {
    if (slot.status[i] !== RowStatus.Bad) kept.push(i)
    else if (hasFillers(slot)) blanks.push(noteOf(slot, i))
  }
  return { kept, blanks }
}

/** The rows that stay have moved to the front, and blank fillers stand behind them. */
export function moveNotes(slot: Slot, kept: readonly number[], blanks: readonly RowNote[]): void {
  for (const [to, from] of kept.entries()) {
    slot.status[to] = slot.status[from]
    slot.positions[to] = slot.positions[from]
    slot.rows[to] = slot.rows[from]
    slot.sources[to] = slot.sources[from]
  }
  for (const [i, { position, row, source }] of blanks.entries()) {
    const to = kept.length + i
    slot.status[to] = RowStatus.Filler
    slot.positions[to] = position
    slot.rows[to] = row
    slot.sources[to] = source
  }
}

function blankBadRows(slot: Slot, bytes: Uint8Array, planned: number): void {
  for (let i = 0; i < planned; i++) if (slot.status[i] === RowStatus.Bad) blankRow(slot, bytes, i)
}

/** Makes a row all zeros, without a length. Only before the batch is closed. */
export function blankRow(slot: Slot, bytes: Uint8Array, row: number): void {
  for (const field of slot.layout.fields) {
    if (field.form === 'dense') {
      const at = slot.at + field.at + row * field.unitBytes
      bytes.fill(0, at, at + field.unitBytes)
    } else {
      slot.column(field.lengthAt)[row] = 0
    }
  }
}

/** Moves the rows that stay to the front; they only ever move down. Behind them blank ones may come. */
function closeHoles(rows: readonly number[], bytes: Uint8Array, at: number, rowBytes: number): void {
  for (const [to, from] of rows.entries()) {
    if (from === BLANK) bytes.fill(0, at + to * rowBytes, at + (to + 1) * rowBytes)
    else if (to !== from)
      bytes.copyWithin(at + to * rowBytes, at + from * rowBytes, at + (from + 1) * rowBytes)
  }
}

/** Brings all rows to their common length, fills up with the pad value, and returns that length. */
function closePadded(
  slot: Slot,
  bytes: Uint8Array,
  field: FieldPlace,
  rows: readonly number[] | number,
): number {
  const lengths = slot.column(field.lengthAt)
  const count = typeof rows === 'number' ? rows : rows.length
  const from = (i: number): number => (typeof rows === 'number' ? i : rows[i])
  const lengthOf = (i: number): number => (from(i) === BLANK ? 0 : lengths[from(i)])
  let longest = 0
  for (let i = 0; i < count; i++) longest = Math.max(longest, lengthOf(i))
  const multiple = field.multiple ?? 1
  const common =
    field.to === 'longest' ? Math.min(field.max!, Math.ceil(longest / multiple) * multiple) : field.max!
  const pad = padBytes(field)
  for (let i = 0; i < count; i++) {
    const length = lengthOf(i)
    const source = slot.at + field.at + from(i) * field.max! * field.unitBytes
    const target = slot.at + field.at + i * common * field.unitBytes
    if (length > 0 && target !== source) bytes.copyWithin(target, source, source + length * field.unitBytes)
    fillWith(bytes, target + length * field.unitBytes, target + common * field.unitBytes, pad)
    lengths[i] = length
  }
  return common
}

/**
 * Copies the rows from the staging area, where they lie as they came, into the values, in order. Returns the total length. Rows
 * that lie behind each other there too, as those of one claim mostly do, are copied at once. Large rows mostly lie in the values
 * already (room.ts), and stay there unless a row before them is bad.
 */
function gatherRagged(
  slot: Slot,
  bytes: Uint8Array,
  move: MoveBytes,
  field: FieldPlace,
  rows: readonly number[] | number,
): number {
  const lengths = slot.column(field.lengthAt)
  const places = slot.column(field.placeAt)
  const offsets = slot.column(field.offsetsAt, slot.layout.rows + 1)
  const count = typeof rows === 'number' ? rows : rows.length
  const { unitBytes } = field
  const values = slot.at + field.at
  let next = 0
  // What is yet to be copied: bytes from `from` on, to element `first` on.
  let first = 0
  let from = values
  const copy = (): void => {
    const to = values + first * unitBytes
    const size = (next - first) * unitBytes
    if (size === 0 || from === to) return
    // Within the values, rows only ever move down, and may overlap where they were.
    if (from < values + field.bytes) bytes.copyWithin(to, from, from + size)
    else move(to, from, size)
  }
  for (let i = 0; i < count; i++) {
    const row = typeof rows === 'number' ? i : rows[i]
    const length = row === BLANK ? 0 : lengths[row]
    offsets[i] = next
    if (length > 0) {
      const at = addressOf(slot, field, places[row])
      if (at !== from + (next - first) * unitBytes) {
        copy()
        first = next
        from = at
      }
    }
    next += length
  }
  copy()
  offsets[count] = next
  return next
}

/** The pad value as bytes of one element. */
export function padBytes(field: FieldPlace): Uint8Array {
  const value = field.value ?? 0
  const view = new DataView(new ArrayBuffer(8))
  switch (field.dtype) {
    case 'i64':
      view.setBigInt64(0, BigInt(value), true)
      return new Uint8Array(view.buffer, 0, 8)
    case 'f64':
      view.setFloat64(0, value, true)
      return new Uint8Array(view.buffer, 0, 8)
    case 'f32':
      view.setFloat32(0, value, true)
      return new Uint8Array(view.buffer, 0, 4)
    case 'i32':
    case 'u32':
      view.setInt32(0, value, true)
      return new Uint8Array(view.buffer, 0, 4)
    case 'f16':
      view.setUint16(0, toF16(value), true)
      return new Uint8Array(view.buffer, 0, 2)
    case 'bf16':
      view.setUint16(0, toBf16(value), true)
      return new Uint8Array(view.buffer, 0, 2)
    case 'i16':
    case 'u16':
      view.setInt16(0, value, true)
      return new Uint8Array(view.buffer, 0, 2)
    default:
      view.setUint8(0, value)
      return new Uint8Array(view.buffer, 0, 1)
  }
}

export function fillWith(bytes: Uint8Array, from: number, to: number, pattern: Uint8Array): void {
  if (pattern.every(b => b === pattern[0])) bytes.fill(pattern[0], from, to)
  else for (let at = from; at < to; at += pattern.length) bytes.set(pattern, at)
}

/** Puts a row of varying length, which lies at `at` of the memory, into its place. Called while the batch is being made. */
export function putVarying(
  slot: Slot,
  bytes: Uint8Array,
  index: number,
  row: number,
  at: number,
  length: number,
): void {
  const field = slot.layout.fields[index]
  slot.column(field.lengthAt)[row] = length
  const size = length * field.unitBytes
  if (field.form === 'padded') {
    bytes.copyWithin(slot.at + field.at + row * field.max! * field.unitBytes, at, at + size)
    return
  }
  // A row that is made again (its maker died) goes where it was: its length is the same.
  const places = slot.column(field.placeAt)
  if (places[row] === 0)
    Atomics.store(places, row, Atomics.add(slot.words, Header.Cursor + index, length) + 1)
  // A batch that overflows is refused as a whole when it is closed: which row would have been the last is chance.
  const to = placeOf(slot, index, row, length)
  if (to >= 0) bytes.copyWithin(to, at, at + size)
}

/**
 * Takes room in the staging area for rows `from` to `to` − 1 with `lengths`, one behind the other; a length below 0 takes none.
 * Their places are written after their lengths, with an atomic operation in between: another maker may look at both (room.ts).
 */
export function takeRagged(slot: Slot, index: number, from: number, to: number, lengths: Int32Array): void {
  const field = slot.layout.fields[index]
  const noted = slot.column(field.lengthAt)
  const places = slot.column(field.placeAt)
  let total = 0
  for (let row = from; row < to; row++) {
    const length = lengths[row - from]
    if (length < 0) continue
    noted[row] = length
    if (places[row] === 0) total += length
  }
  let next = Atomics.add(slot.words, Header.Cursor + index, total) + 1
  for (let row = from; row < to; row++) {
    const length = lengths[row - from]
    // As in `putVarying`: a row that is made again goes where it was.
    if (length < 0 || places[row] !== 0) continue
    places[row] = next
    next += length
  }
}

/** Byte of the memory where a row of varying length goes; −1 where the batch has no room for it, and will be refused. */
export function placeOf(slot: Slot, index: number, row: number, length: number): number {
  const field = slot.layout.fields[index]
  if (field.form === 'padded') return slot.at + field.at + row * field.max! * field.unitBytes
  const place = slot.column(field.placeAt)[row]
  if ((Math.abs(place) - 1 + length) * field.unitBytes > field.bytes) return -1
  return addressOf(slot, field, place)
}

/** Shape of a field in a closed batch. */
export function actualShape(slot: Slot, layout: SlotLayout, index: number): number[] {
  const field = layout.fields[index]
  const count = slot.words[Header.Count]
  if (field.flat !== undefined) return [count * field.shape[0]]
  if (field.form === 'dense') return [count, ...field.shape]
  if (field.form === 'padded') return [count, slot.words[Header.Cursor + index], ...field.shape]
  return [slot.words[Header.Cursor + index], ...field.shape]
}
