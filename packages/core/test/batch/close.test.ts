/** Closing a batch: rows of varying length are gathered in order, whatever the order in which they were made. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { closeSlot, putVarying } from '../../batch/close.js'
import { layoutSlot } from '../../batch/layout.js'
import { takeRoom } from '../../batch/room.js'
import { Header, RowStatus, Slot } from '../../batch/slot.js'

const ROWS = 12
const layout = layoutSlot([{ name: 'text', dtype: 'u8', shape: [], form: 'text', max: 9 }], ROWS)
/** The slot does not begin where the memory does. */
const AT = 4096

/** Rows of these lengths, made in this order; `bad` ones are not made. Gives the texts, and how often bytes were moved. */
function closed(lengths: readonly number[], made: readonly number[], bad: ReadonlySet<number>) {
  const buffer = new ArrayBuffer(AT + layout.bytes + 64)
  const bytes = new Uint8Array(buffer)
  const slot = new Slot(buffer, AT, layout)
  const work = AT + layout.bytes
  slot.clear()
  slot.words[Header.Planned] = slot.words[Header.Valid] = ROWS
  slot.words[Header.Bad] = bad.size
  for (const row of made) {
    slot.status[row] = bad.has(row) ? RowStatus.Bad : RowStatus.Good
    if (bad.has(row)) continue
    bytes.fill(97 + row, work, work + lengths[row])
    putVarying(slot, bytes, 0, row, work, lengths[row])
  }
  let moves = 0
  const problem = closeSlot(slot, bytes, 'drop', (to, from, length) => {
    moves++
    bytes.copyWithin(to, from, from + length)
  })
  expect(problem).toBeUndefined()
  const count = slot.words[Header.Count]
  const [field] = layout.fields
  const offsets = slot.column(field.offsetsAt, ROWS + 1)
  const texts = Array.from({ length: count }, (_, i) =>
    Buffer.from(bytes.slice(AT + field.at + offsets[i], AT + field.at + offsets[i + 1])).toString(),
  )
  return { texts, moves }
}

const all = [...Array(ROWS).keys()]

it('gathers rows that were made in any order, without those that are bad', () => {
  const property = fc.property(
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: ROWS, maxLength: ROWS }),
    fc.shuffledSubarray(all, { minLength: ROWS }),
    fc.subarray(all),
    (lengths, made, bad) => {
      const { texts } = closed(lengths, made, new Set(bad))
      const kept = all.filter(row => !bad.includes(row))
      expect(texts).toEqual(kept.map(row => String.fromCharCode(97 + row).repeat(lengths[row])))
    },
  )
  fc.assert(property)
})

it('moves rows that lie behind each other at once', () => {
  const lengths = all.map(row => row % 4)
  expect(closed(lengths, all, new Set()).moves).toBe(1)
  // Two claims, the second made first.
  expect(closed(lengths, [...all.slice(6), ...all.slice(0, 6)], new Set()).moves).toBe(2)
  expect(closed(lengths, all, new Set([5])).moves).toBe(1)
})

/** Large rows: each takes room, in the order `begun`, before it is written. */
function closedLarge(
  lengths: readonly number[],
  begun: readonly number[],
  bad: ReadonlySet<number>,
  policy: 'drop' | 'mask',
) {
  const large = layoutSlot(
    [{ name: 'x', dtype: 'u8', shape: [], form: 'ragged', max: 80_000, total: 400_000 }],
    lengths.length,
  )
  const buffer = new ArrayBuffer(AT + large.bytes + 80_000)
  const bytes = new Uint8Array(buffer)
  const slot = new Slot(buffer, AT, large)
  const work = AT + large.bytes
  slot.clear()
  slot.words[Header.Planned] = slot.words[Header.Valid] = lengths.length
  slot.words[Header.Bad] = bad.size
  const rooms = new Map(begun.map(row => [row, takeRoom(slot, 0, row, lengths[row])]))
  for (const [row, room] of rooms) {
    slot.status[row] = bad.has(row) ? RowStatus.Bad : RowStatus.Good
    if (bad.has(row)) continue
    const at = room ?? work
    bytes.fill(1 + row, at, at + lengths[row])
    if (room === undefined) putVarying(slot, bytes, 0, row, work, lengths[row])
  }
  let moved = 0
  const problem = closeSlot(slot, bytes, policy, (to, from, length) => {
    moved += length
    bytes.copyWithin(to, from, from + length)
  })
  const [field] = large.fields
  const offsets = slot.column(field.offsetsAt, lengths.length + 1)
  const rows = Array.from({ length: slot.words[Header.Count] }, (_, i) =>
    bytes.slice(AT + field.at + offsets[i], AT + field.at + offsets[i + 1]),
  )
  return { rows, moved, problem }
}

it('large rows are written where they are delivered, whatever the order and whichever are bad', () => {
  const five = [0, 1, 2, 3, 4]
  const property = fc.property(
    fc.array(fc.constantFrom(0, 5, 65_536, 70_001, 80_000), { minLength: 5, maxLength: 5 }),
    fc.shuffledSubarray(five, { minLength: 5 }),
    fc.subarray(five),
    fc.constantFrom('drop' as const, 'mask' as const),
    (lengths, begun, bad, policy) => {
      const { rows, problem } = closedLarge(lengths, begun, new Set(bad), policy)
      expect(problem).toBeUndefined()
      const kept = policy === 'drop' ? five.filter(row => !bad.includes(row)) : five
      const wanted = kept.map(row => [row + 1, bad.includes(row) ? 0 : lengths[row]])
      expect(rows.map(row => row.length)).toEqual(wanted.map(([, length]) => length))
      for (const [i, row] of rows.entries()) expect(row.every(byte => byte === wanted[i][0])).toBe(true)
    },
  )
  fc.assert(property)
})

it('large rows that begin in order are not copied', () => {
  expect(closedLarge([70_000, 80_000, 66_000], [0, 1, 2], new Set(), 'drop').moved).toBe(0)
  expect(closedLarge([70_000, 80_000, 66_000], [1, 0, 2], new Set(), 'drop').moved).toBe(80_000)
})

it('large rows that don’t fit into "total" are refused', () => {
  const { problem } = closedLarge(Array(6).fill(80_000), [0, 1, 2, 3, 4, 5], new Set(), 'drop')
  expect(problem).toContain('needs 480000 elements')
})
