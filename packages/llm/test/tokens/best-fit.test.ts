/** Best-fit packing: every document once, no row too full, and as good as the plain way of doing it. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Long, type Packed, packBestFit, piecesOf, restOf } from '../../tokens/pack/best-fit.js'

const LONG: readonly Long[] = ['split', 'truncate', 'drop']

/** A mark beyond 32 bits. */
const FAR = 2 ** 40
const pack = (lengths: readonly number[], places: number, long?: Long): Packed =>
  packBestFit({ count: lengths.length, taken: i => lengths[i], mark: i => FAR + i }, places, long)

/** Best fit as it is defined: looks at every row for every document. */
function plainly(lengths: readonly number[], places: number, long: Long): number[] {
  const rests = lengths.map(length => restOf(length, places, long)).filter(rest => rest > 0)
  const rooms: number[] = []
  for (const rest of rests.sort((a, b) => b - a)) {
    let best = -1
    rooms.forEach((room, i) => {
      if (room >= rest && (best < 0 || room < rooms[best])) best = i
    })
    if (best < 0) best = rooms.push(places) - 1
    rooms[best] -= rest
  }
  return rooms.sort((a, b) => a - b)
}

function rowsOf(packed: Packed): number[][] {
  return Array.from({ length: packed.others }, (_, row) => {
    const documents: number[] = []
    packed.marks(row, documents)
    return documents.map(mark => mark - FAR)
  })
}

it('packs as best fit is defined', () => {
  const inputs = fc.record({
    lengths: fc.array(fc.oneof(fc.nat(40), fc.nat(400)), { maxLength: 200 }),
    places: fc.integer({ min: 1, max: 70 }),
    long: fc.constantFrom(...LONG),
  })
  fc.assert(
    fc.property(inputs, ({ lengths, places, long }) => {
      const packed = pack(lengths, places, long)
      const rows = rowsOf(packed)
      const taken = rows.map(row => row.reduce((sum, i) => sum + restOf(lengths[i], places, long), 0))
      expect(taken.map(used => places - used).sort((a, b) => a - b)).toEqual(plainly(lengths, places, long))
      const wanted = lengths.flatMap((length, i) => (restOf(length, places, long) > 0 ? [i] : []))
      expect(rows.flat().sort((a, b) => a - b)).toEqual(wanted)
      expect(packed.full).toBe(lengths.reduce((sum, length) => sum + piecesOf(length, places, long), 0))
      expect(packed.padding).toBe(taken.reduce((sum, used) => sum + places - used, 0))
      expect(packed.rows).toBe(packed.full + rows.length)
      expect(packed.pieces).toBe(wanted.length)
      rows.forEach((row, i) => {
        const rests: number[] = []
        expect(packed.sizes(i, rests)).toBe(row.length)
        expect(rests).toEqual(row.map(document => restOf(lengths[document], places, long)))
      })
    }),
  )
})

it('says what becomes of long documents', () => {
  const kept = LONG.map(long => pack([25, 10, 3], 10, long)).map(({ full, padding }) => [full, padding])
  expect(kept).toEqual([
    [3, 2],
    [2, 7],
    [1, 7],
  ])
})

it('packs nothing into nothing', () => {
  expect(pack([], 8)).toMatchObject({ rows: 0, full: 0, padding: 0 })
  expect(pack([0, 0], 8)).toMatchObject({ rows: 0, full: 0, padding: 0 })
})
