/**
 * Takes rows back out of a batch that was closed already: pictures that were left to the device, which neither it nor
 * the CPU can decode. The same is left as if they had been bad from the beginning (close.ts).
 */
import { type BadPolicy, fillWith, hasFillers, moveNotes, noteOf, padBytes } from './close.js'
import type { FieldPlace } from './layout.js'
import { Header, RowStatus, type Slot } from './slot.js'

/**
 * `drop` closes the holes in order; `mask` and `fail` leave rows of zeros that are not valid. A filler becomes blank, and
 * is no bad sample.
 */
export function removeRows(slot: Slot, rows: readonly number[], policy: BadPolicy): void {
  const isFiller = (row: number): boolean => slot.status[row] === RowStatus.Filler
  const bad = new Set(rows.filter(row => !isFiller(row)))
  const count = slot.words[Header.Count]
  const bytes = new Uint8Array(slot.buffer)
  blank(slot, bytes, policy === 'drop' ? rows.filter(isFiller) : rows)
  for (const row of bad) slot.status[row] = RowStatus.Bad
  slot.words[Header.Bad] += bad.size
  if (policy !== 'drop' || bad.size === 0) return
  const blanks = hasFillers(slot) ? Array.from(bad, row => noteOf(slot, row)) : []
  const kept = Array.from({ length: count }, (_, i) => i).filter(row => !bad.has(row))
  for (const [index, field] of slot.layout.fields.entries()) {
    if (field.form === 'dense') closeUp(bytes, slot.at + field.at, kept, field.unitBytes)
    else if (field.form === 'padded') {
      const lengths = slot.column(field.lengthAt)
      const rowBytes = slot.words[Header.Cursor + index] * field.unitBytes
      closeUp(bytes, slot.at + field.at, kept, rowBytes)
      for (const [to, from] of kept.entries()) lengths[to] = lengths[from]
      for (let i = kept.length; i < kept.length + blanks.length; i++) {
        const at = slot.at + field.at + i * rowBytes
        fillWith(bytes, at, at + rowBytes, padBytes(field))
        lengths[i] = 0
      }
    } else slot.words[Header.Cursor + index] = closeUpRagged(slot, bytes, field, kept, blanks.length)
  }
  moveNotes(slot, kept, blanks)
  slot.words[Header.Count] = kept.length + blanks.length
  blank(
    slot,
    bytes,
    blanks.map((_, i) => kept.length + i),
  )
}

/** Makes the dense fields of rows zero. */
function blank(slot: Slot, bytes: Uint8Array, rows: readonly number[]): void {
  for (const field of slot.layout.fields) {
    if (field.form !== 'dense') continue
    for (const row of rows) {
      const at = slot.at + field.at + row * field.unitBytes
      bytes.fill(0, at, at + blankBytes(field))
    }
  }
}

/**
 * How many bytes of a bad row have to be zeros. Of a picture that is finished on the device it is the word that says what
 * it is: how the batch is mixed stays noted behind it.
 */
export function blankBytes({ device, unitBytes }: FieldPlace): number {
  return device?.kind === 'picture' ? 4 : unitBytes
}

function closeUp(bytes: Uint8Array, at: number, kept: readonly number[], rowBytes: number): void {
  for (const [to, from] of kept.entries()) {
    if (to !== from) bytes.copyWithin(at + to * rowBytes, at + from * rowBytes, at + (from + 1) * rowBytes)
  }
}

/** Returns the length of what is left. `blanks` rows without elements follow. */
function closeUpRagged(
  slot: Slot,
  bytes: Uint8Array,
  field: FieldPlace,
  kept: readonly number[],
  blanks: number,
): number {
  const offsets = slot.column(field.offsetsAt, slot.layout.rows + 1)
  const at = slot.at + field.at
  let next = 0
  for (const [to, from] of kept.entries()) {
    const [begin, end] = [offsets[from], offsets[from + 1]]
    bytes.copyWithin(at + next * field.unitBytes, at + begin * field.unitBytes, at + end * field.unitBytes)
    offsets[to] = next
    next += end - begin
  }
  offsets.fill(next, kept.length, kept.length + blanks + 1)
  return next
}
