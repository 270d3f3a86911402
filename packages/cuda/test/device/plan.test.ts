/** The arithmetic of the device stage: places in the output, and parts that fit the scratch memory. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { layoutSlot } from '../../../core/batch/layout.js'
import type { SlotField } from '../../../core/define/making.js'
import { Form, HEADER_WORDS, Word } from '../../../pixels/transform/device/parameter-words.js'
import { dtypeCode, layoutOutput, planPictures, up } from '../../device/plan.js'

interface Row {
  form: number
  width?: number
  height?: number
  bytes?: number
  pictureBytes?: number
  tableBytes?: number
  mixes?: number
}

function headers(rows: readonly Row[]): (row: number) => Int32Array {
  return row => {
    const { form, width = 0, height = 0, bytes = 0, ...rest } = rows[row]
    const words = new Int32Array(HEADER_WORDS)
    words.set([form, bytes, width, height])
    words[Word.PictureBytes] = rest.pictureBytes ?? 0
    words[Word.TableBytes] = rest.tableBytes ?? 0
    words[Word.Mixes] = rest.mixes ?? 0
    return words
  }
}

const plan = (rows: readonly Row[], budget: number) => planPictures(headers(rows), rows.length, budget)

describe('parts', () => {
  const jpeg = { form: Form.Jpeg, width: 100, height: 100, bytes: 5000 }
  const decoded = up(30_000)

  test('all in one where they fit', () => {
    const { parts, decodedBytes } = plan([jpeg, jpeg, jpeg], 3 * decoded)
    expect(parts.map(({ from, to }) => [from, to])).toEqual([[0, 3]])
    expect(parts[0].pictures.map(({ at }) => at)).toEqual([0, decoded, 2 * decoded])
    expect(decodedBytes).toBe(3 * decoded)
  })

  test('cut by decoded bytes', () => {
    const { parts, decodedBytes } = plan([jpeg, jpeg, jpeg, jpeg, jpeg], 2 * decoded)
    expect(parts.map(({ from, to }) => [from, to])).toEqual([
      [0, 2],
      [2, 4],
      [4, 5],
    ])
    expect(parts[1].pictures.map(({ row, at }) => [row, at])).toEqual([
      [2, 0],
      [3, decoded],
    ])
    expect(decodedBytes).toBe(2 * decoded)
  })

  test('a picture larger than the budget is a part of its own', () => {
    const large = { form: Form.Jpeg, width: 1000, height: 1000 }
    const { parts, decodedBytes } = plan([jpeg, large, jpeg], 2 * decoded)
    expect(parts.map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ])
    expect(decodedBytes).toBe(up(3_000_000))
  })

  test('rows of nothing belong to a part and have no picture', () => {
    const { parts } = plan([{ form: Form.Nothing }, jpeg, { form: Form.Nothing }], decoded)
    expect(parts).toHaveLength(1)
    expect(parts[0].pictures.map(({ row }) => row)).toEqual([1])
    expect(parts[0]).toMatchObject({ from: 0, to: 3 })
  })

  test('maxima, rounded up to what the device aligns to', () => {
    const rows = [
      { form: Form.Jpeg, width: 1, height: 1, pictureBytes: 1, tableBytes: 257 },
      { form: Form.Jpeg, width: 1, height: 1, pictureBytes: 256, tableBytes: 5 },
    ]
    expect(plan(rows, 1e6)).toMatchObject({ pictureBytes: 256, tableBytes: 512, mixes: [] })
    expect(plan([{ form: 0, mixes: 2 }], 1e6).mixes).toEqual([0, 1])
  })

  test('no batch at all', () => {
    expect(plan([], 1000)).toMatchObject({ parts: [], mixes: [] })
  })

  test('whatever comes: parts are runs that cover all rows, fit, and pictures do not overlap', () => {
    const row = fc.record({
      form: fc.constantFrom<number>(...Object.values(Form)),
      width: fc.integer({ min: 1, max: 300 }),
      height: fc.integer({ min: 1, max: 300 }),
    })
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), fc.integer({ min: 1, max: 600_000 }), (rows, budget) => {
        const { parts, decodedBytes } = plan(rows, budget)
        let next = 0
        for (const part of parts) {
          expect(part.from).toBe(next)
          expect(part.to).toBeGreaterThan(part.from)
          next = part.to
          expect(part.decodedBytes <= budget || part.pictures.length === 1).toBe(true)
          expect(part.decodedBytes).toBeLessThanOrEqual(decodedBytes)
          let end = 0
          for (const { at, decodedBytes: bytes, row } of part.pictures) {
            expect(at).toBeGreaterThanOrEqual(end)
            expect(at % 256).toBe(0)
            expect(bytes).toBe(rows[row].width * rows[row].height * 3)
            end = at + bytes
          }
          expect(end).toBeLessThanOrEqual(part.decodedBytes)
        }
        expect(next).toBe(rows.length)
      }),
    )
  })
})

describe('the output', () => {
  const picture: SlotField = {
    name: 'image',
    dtype: 'u8',
    shape: [4096],
    form: 'dense',
    device: {
      kind: 'picture',
      words: 48,
      dtype: 'f32',
      shape: [3, 8, 8],
      layout: 'chw',
      width: 8,
      height: 8,
      lookup: '',
      mixes: 0,
    },
  }

  test('has room for every numeric field, aligned; text is not in it', () => {
    const layout = layoutSlot(
      [
        picture,
        { name: 'label', dtype: 'i64', shape: [], form: 'dense' },
        { name: 'text', dtype: 'u8', shape: [], form: 'text', max: 10 },
        { name: 'boxes', dtype: 'f32', shape: [4], form: 'ragged', max: 5 },
        { name: 'tokens', dtype: 'i32', shape: [], form: 'padded', max: 7, to: 'longest' },
      ],
      10,
    )
    const { places, bytes } = layoutOutput(layout)
    expect(
      places.map(({ field, index, dtype, at, bytes, offsetsAt }) => [
        field.name,
        index,
        dtype,
        at,
        bytes,
        offsetsAt,
      ]),
    ).toEqual([
      ['image', 0, 'f32', 0, 7680, -1],
      ['label', 1, 'i64', 7680, 80, -1],
      ['boxes', 3, 'f32', 7936, 800, 8960],
      ['tokens', 4, 'i32', 9216, 280, -1],
    ])
    expect(bytes).toBe(9728)
  })

  test('a type that no kernel makes is refused', () => {
    expect(dtypeCode('bf16')).toBe(8)
    expect(() => dtypeCode('bool')).toThrow(/no kernel makes elements of type bool/)
  })
})
