/** Mosaic: which part of which row comes where, for pictures, boxes and points. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../core/basics/random.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import { normalOps } from '../../../core/define/operator.js'
import type { OpJson } from '../../../core/define/types.js'
import {
  boxInPart,
  chooseMosaic,
  mosaicRows,
  partsOf,
  pointInPart,
  rowBefore,
} from '../../operators/mosaic/mosaic.js'

const choose = (op: OpJson, size = { width: 40, height: 20 }, position = 0) =>
  chooseMosaic(normalOps([op], 'apply')[0], size, new Random().key(1, 0, position, 5))

describe('choices', () => {
  const size = { width: 40, height: 20 }
  it('points are spread evenly over the middle part, one for each row', () => {
    const mosaic = choose({ mosaic: { center: [0.25, 0.75] } }, size)!
    const points = Array.from({ length: 6000 }, (_, row) => partsOf(mosaic, row, size)![0])
    const xs = points.map(part => part.width)
    const ys = points.map(part => part.height)
    expect([Math.min(...xs), Math.max(...xs)]).toEqual([10, 30])
    expect([Math.min(...ys), Math.max(...ys)]).toEqual([5, 15])
    for (let x = 10; x <= 30; x++) {
      const count = xs.filter(value => value === x).length
      expect(Math.abs(count - 6000 / 21)).toBeLessThan(5 * Math.sqrt(6000 / 21))
    }
    const mean = (values: number[]) => values.reduce((a, b) => a + b) / values.length
    const together = mean(xs.map((x, i) => (x - 20) * (ys[i] - 10)))
    expect(Math.abs(together)).toBeLessThan((5 * 6.06 * 3.16) / Math.sqrt(6000))
  })
  it('rows are made of four with p', () => {
    const mosaic = choose({ mosaic: { p: 0.3 } }, size)!
    const four = Array.from({ length: 4000 }, (_, row) => partsOf(mosaic, row, size)).filter(parts => parts)
    expect(Math.abs(four.length - 1200)).toBeLessThan(5 * Math.sqrt(840))
    expect(choose({ mosaic: { p: 0 } })).toBeUndefined()
  })
  it('depend on the batch', () => {
    const [a, b] = [0, 1].map(position => choose({ mosaic: {} }, size, position)!)
    expect(a.seed).not.toBe(b.seed)
    expect(choose({ mosaic: {} }, size, 1)).toEqual(b)
  })
})

it('every pixel of a row comes from the row and the place that the parts say, each part a corner of its picture', () => {
  const sizes = fc.record({ width: fc.integer({ min: 1, max: 9 }), height: fc.integer({ min: 1, max: 7 }) })
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 7 }), fc.nat(), (size, count, seed) => {
      const { width, height } = size
      const mosaic = { seed, threshold: 0xa0000000, x: [0, width], y: [0, height] } as const
      const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
      const bytes = new Uint8Array(memory.buffer)
      const rowBytes = width * height * 2
      for (let i = 0; i < count * rowBytes; i++) bytes[i] = (i * 31 + (i >> 3)) & 255
      const before = bytes.slice()
      const where = { memory, count, at: 0, rowBytes, spareAt: 32768 }
      mosaicRows(mosaic, { ...where, ...size, planes: 2, pixelBytes: 1 })
      const pixel = (row: number, plane: number, x: number, y: number) =>
        before[row * rowBytes + (plane * height + y) * width + x]
      for (let row = 0; row < count; row++) {
        const parts = partsOf(mosaic, row, size)
        const { width: across = width, height: down = height } = parts?.[0] ?? {}
        for (let plane = 0; plane < 2; plane++)
          for (let y = 0; y < height; y++)
            for (let x = 0; x < width; x++) {
              // The picture of the quarter, with its corner at the point.
              const back = (x >= across ? 1 : 0) + (y >= down ? 2 : 0)
              const fromX = x >= across ? x - across : x + width - across
              const fromY = y >= down ? y - down : y + height - down
              const wanted = pixel(rowBefore(row, back, count), plane, fromX, fromY)
              const made = bytes[row * rowBytes + (plane * height + y) * width + x]
              if (made !== wanted) expect([row, plane, x, y, made]).toEqual([row, plane, x, y, wanted])
            }
      }
    }),
  )
})

describe('what follows', () => {
  const part = { back: 1, from: { x: 0, y: 6 }, to: { x: 8, y: 0 }, width: 12, height: 4 }
  it('boxes move with their part and are cut where it ends', () => {
    const box = Float32Array.of(3, 2, 15, 9, 7)
    expect(boxInPart(box, part, 0)).toBe(true)
    expect([...box]).toEqual([11, 0, 20, 3, 7])
    expect(boxInPart(Float32Array.of(3, 2, 15, 9), part, 28)).toBe(false)
    expect(boxInPart(Float32Array.of(3, 2, 15, 6), part, 0)).toBe(false)
  })
  it('points move with their part, and are dropped outside', () => {
    const point = Float64Array.of(3, 7)
    expect(pointInPart(point, part)).toBe(true)
    expect([...point]).toEqual([11, 1])
    expect(pointInPart(Float64Array.of(3, 5), part)).toBe(false)
    expect(pointInPart(Float64Array.of(12, 7), part)).toBe(false)
  })
})

describe('definitions', () => {
  const feed = (fields: object, apply: unknown[] = ['mosaic']) =>
    normalizeFeed(
      {
        source: { folder: '/nowhere' },
        fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [9, 9] }] }, ...fields },
        batch: { size: 8, apply },
      },
      '/',
    )
  const boxes = { from: 'json', as: 'boxes', follow: 'image', shape: [21, 5] }
  it('leave each sample a quarter of the room', () => {
    const { fields } = feed({ boxes, other: { ...boxes, follow: undefined } })
    expect(fields.map(({ layout }) => layout.each)).toEqual([undefined, undefined, 5])
  })
  it('say what is wrong', () => {
    expect(() => feed({ boxes: { ...boxes, dtype: 'f16' } })).toThrow(/f32, f64, i32/)
    expect(() => feed({ boxes: { ...boxes, shape: [3, 5] } })).toThrow(/max of 4 or more/)
    expect(() => feed({}, [{ mosaic: { field: 'imag' } }])).toThrow(/image/)
    expect(() => feed({}, [{ mosaic: { center: [0.9, 0.1] } }])).toThrow(/low/)
  })
})
