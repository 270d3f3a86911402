/** Closing a batch: rows of varying length are gathered in order, whatever the order in which they were made. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { closeSlot, putVarying } from '../../src/batch/close.js'
import { layoutSlot } from '../../src/batch/layout.js'
import { Header, RowStatus, Slot } from '../../src/batch/slot.js'

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
