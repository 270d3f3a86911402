/** Borders of segments: those of rows become those of the batch, whichever rows it lost. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { actualShape, closeSlot } from '../../batch/close.js'
import { layoutSlot } from '../../batch/layout.js'
import { Header, RowStatus, Slot } from '../../batch/slot.js'

const ROWS = 6
const PLACES = 16
const EACH = 7
const layout = layoutSlot(
  [
    { name: 'before', dtype: 'u8', shape: [3], form: 'dense' },
    { name: 'cuSeqlens', dtype: 'i32', shape: [EACH], form: 'dense', flat: PLACES },
  ],
  ROWS,
)
/** The slot does not begin where the memory does. */
const AT = 4096

interface Given {
  /** Where the segments of each row begin, after 0. */
  starts: readonly (readonly number[])[]
  bad?: ReadonlySet<number>
  policy?: 'drop' | 'mask'
  /** Rows that are samples; the others are fillers. */
  valid?: number
  planned?: number
}

function closed({ starts, bad = new Set(), policy = 'drop', planned = ROWS, valid = planned }: Given) {
  const buffer = new ArrayBuffer(AT + layout.bytes)
  const slot = new Slot(buffer, AT, layout)
  slot.clear()
  slot.words[Header.Planned] = planned
  slot.words[Header.Valid] = valid
  slot.words[Header.Bad] = bad.size
  const entries = new Int32Array(buffer, AT + layout.fields[1].at, ROWS * EACH).fill(99) // of another batch
  for (let row = 0; row < planned; row++) {
    slot.status[row] = bad.has(row) ? RowStatus.Bad : row < valid ? RowStatus.Good : RowStatus.Filler
    if (bad.has(row)) continue
    entries.fill(PLACES, row * EACH, (row + 1) * EACH)
    entries.set([0, ...starts[row]], row * EACH)
  }
  const problem = closeSlot(slot, new Uint8Array(buffer), policy)
  const shape = actualShape(slot, layout, 1)
  return { problem, shape, borders: [...entries.subarray(0, shape[0])] }
}

/** What a batch of these rows has: each row's own borders, moved by the rows before. */
function plain(rows: readonly (readonly number[])[]): number[] {
  const borders = rows.flatMap((starts, row) => [0, ...starts].map(start => row * PLACES + start))
  const end = rows.length * PLACES
  return [...borders, ...Array<number>(rows.length * EACH - borders.length).fill(end)]
}

const someStarts = fc
  .uniqueArray(fc.integer({ min: 1, max: PLACES - 1 }), { maxLength: EACH - 2 })
  .map(starts => starts.sort((a, b) => a - b))
const someRows = fc.array(someStarts, { minLength: ROWS, maxLength: ROWS })
const someBad = fc.uniqueArray(fc.integer({ min: 0, max: ROWS - 1 })).map(rows => new Set(rows))

it('joins the borders of the rows that stay', () => {
  fc.assert(
    fc.property(someRows, someBad, (starts, bad) => {
      const kept = starts.filter((_, row) => !bad.has(row))
      expect(closed({ starts, bad })).toEqual({
        problem: undefined,
        shape: [kept.length * EACH],
        borders: plain(kept),
      })
    }),
  )
})

it('has one segment for a row that is blank: masked, or a filler in place of a dropped one', () => {
  fc.assert(
    fc.property(someRows, someBad, (starts, bad) => {
      const masked = starts.map((row, i) => (bad.has(i) ? [] : row))
      expect(closed({ starts, bad, policy: 'mask' }).borders).toEqual(plain(masked))
      const filled = [...starts.filter((_, row) => !bad.has(row)), ...[...bad].map(() => [])]
      expect(closed({ starts, bad, valid: 2 }).borders).toEqual(plain(filled))
    }),
  )
})

it('has as many entries as the rows of a short batch have', () => {
  const starts = [[3], [], [2, 5]]
  expect(closed({ starts, planned: 3 }).borders).toEqual(plain(starts))
  expect(closed({ starts: [], planned: 0 })).toEqual({ problem: undefined, shape: [0], borders: [] })
})

it('says when a batch has more segments than entries for their borders', () => {
  const full = Array.from({ length: EACH - 1 }, (_, i) => i + 1)
  const starts = Array<number[]>(ROWS).fill(full)
  expect(closed({ starts }).problem).toMatch(
    /"cuSeqlens" has room for 41 segments.* has 42: raise "capacity" of the source to \d+$/,
  )
  expect(closed({ starts: [...starts.slice(1), []] }).problem).toBeUndefined()
})
