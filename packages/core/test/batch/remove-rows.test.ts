/** Rows that turn out to be bad after a batch was closed: what is left is as if they had been bad before. */
import { describe, expect, test } from 'vitest'
import { actualShape, closeSlot, putVarying } from '../../batch/close.js'
import { layoutSlot } from '../../batch/layout.js'
import { removeRows } from '../../batch/remove-rows.js'
import { Header, RowStatus, Slot } from '../../batch/slot.js'
import type { FieldLayout } from '../../define/types.js'

const fields: FieldLayout[] = [
  { name: 'label', dtype: 'i32', shape: [], form: 'dense' },
  { name: 'tokens', dtype: 'i32', shape: [], form: 'padded', max: 8, to: 8, value: -1 },
  { name: 'boxes', dtype: 'f32', shape: [2], form: 'ragged', max: 4 },
  { name: 'text', dtype: 'u8', shape: [], form: 'text', max: 8 },
]
const ROWS = 7
const layout = layoutSlot(fields, ROWS)
/** The slot does not begin where the memory does. */
const AT = 4096

/** A closed batch; `bad` rows were bad from the beginning. */
function closed(
  policy: 'drop' | 'mask',
  bad: readonly number[],
  valid = ROWS,
): { slot: Slot; bytes: Uint8Array } {
  // Behind the slot is where a row lies before it is put into its place.
  const buffer = new ArrayBuffer(AT + layout.bytes + 1024)
  const bytes = new Uint8Array(buffer)
  const slot = new Slot(buffer, AT, layout)
  const work = AT + layout.bytes
  slot.clear()
  slot.words[Header.Planned] = ROWS
  slot.words[Header.Valid] = valid
  const [label] = layout.fields
  for (let row = 0; row < ROWS; row++) {
    slot.positions[row] = row * 10
    slot.rows[row] = row + 100
    slot.sources[row] = row % 2
    slot.status[row] = bad.includes(row) ? RowStatus.Bad : row < valid ? RowStatus.Good : RowStatus.Filler
    if (bad.includes(row)) {
      slot.words[Header.Bad]++
      continue
    }
    new Int32Array(buffer, AT + label.at, ROWS)[row] = row + 1
    new Int32Array(buffer, work, 8).fill(row + 1)
    putVarying(slot, bytes, 1, row, work, (row * 3) % 8)
    putVarying(slot, bytes, 2, row, work, (row * 2) % 4)
    bytes.fill(97 + row, work, work + 8)
    putVarying(slot, bytes, 3, row, work, row)
  }
  expect(closeSlot(slot, bytes, policy)).toBeUndefined()
  return { slot, bytes }
}

/** All that a consumer sees. */
function seen({ slot, bytes }: { slot: Slot; bytes: Uint8Array }): object {
  const count = slot.words[Header.Count]
  const columns = [slot.status, slot.positions, slot.rows, slot.sources].map(column => [
    ...column.slice(0, count),
  ])
  const values = layout.fields.map((field, i) => {
    const shape = actualShape(slot, layout, i)
    const units = field.form === 'padded' ? shape[0] * shape[1] : shape[0]
    const at = slot.at + field.at
    const offsets = field.offsetsAt < 0 ? [] : [...slot.column(field.offsetsAt, count + 1)]
    const lengths = field.form === 'padded' ? [...slot.column(field.lengthAt, count)] : []
    return [shape, [...bytes.slice(at, at + units * field.unitBytes)], offsets, lengths]
  })
  return { count, bad: slot.words[Header.Bad], columns, values }
}

describe('drop', () => {
  test.each([[[0]], [[6]], [[3]], [[0, 1, 5]], [[0, 1, 2, 3, 4, 5, 6]]])('rows %j', rows => {
    const late = closed('drop', [])
    removeRows(late.slot, rows, 'drop')
    expect(seen(late)).toEqual(seen(closed('drop', rows)))
  })
})

describe('in a batch with fillers', () => {
  const FILLERS = 3
  const valid = ROWS - FILLERS

  test.each([[[0]], [[3]], [[0, 1]], [[0, 1, 2, 3]]])('drop keeps its size: rows %j', rows => {
    const late = closed('drop', [], valid)
    removeRows(late.slot, rows, 'drop')
    expect(seen(late)).toEqual(seen(closed('drop', rows, valid)))
    expect(late.slot.words[Header.Count]).toBe(ROWS)
    const good = valid - rows.length
    expect([...late.slot.status]).toEqual([
      ...Array(good).fill(RowStatus.Good),
      ...Array(ROWS - good).fill(RowStatus.Filler),
    ])
    const [label] = layout.fields
    const labels = [...new Int32Array(late.slot.buffer, AT + label.at, ROWS)]
    expect(labels.slice(ROWS - rows.length)).toEqual(rows.map(() => 0))
  })

  test.each(['drop', 'mask', 'fail'] as const)('%s: a bad filler is blank, and no bad sample', policy => {
    const late = closed('drop', [], valid)
    removeRows(late.slot, [5], policy)
    const [label] = layout.fields
    expect([...new Int32Array(late.slot.buffer, AT + label.at, ROWS)]).toEqual([1, 2, 3, 4, 5, 0, 7])
    expect([...late.slot.status]).toEqual([1, 1, 1, 1, 3, 3, 3])
    expect([late.slot.words[Header.Count], late.slot.words[Header.Bad]]).toEqual([ROWS, 0])
  })
})

describe('mask', () => {
  test('dense rows are zero and not valid; the others are untouched', () => {
    const late = closed('mask', [])
    removeRows(late.slot, [2, 4], 'mask')
    const [label] = layout.fields
    expect([...new Int32Array(late.slot.buffer, AT + label.at, ROWS)]).toEqual([1, 2, 0, 4, 0, 6, 7])
    expect([...late.slot.status]).toEqual([1, 1, 2, 1, 2, 1, 1])
    expect([late.slot.words[Header.Count], late.slot.words[Header.Bad]]).toEqual([ROWS, 2])
  })
})
