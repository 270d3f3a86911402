import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DTYPES, type Dtype } from '../../../core/basics/dtype.js'
import { Random } from '../../../core/basics/random.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import { applyErase } from '../../operators/randomErasing/step.js'
import { applyStep } from '../../operators/steps.js'
import { bytesOf, put } from './pictures.js'

const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })

function erased(dtype: Dtype, layout: 'chw' | 'hwc', value: number[] | 'random', seed = 1) {
  const row = new DTYPES[dtype].array(memory.buffer, 256, 3 * 4 * 5) as Float32Array
  row.fill(dtype === 'i64' ? (9n as unknown as number) : 9)
  const step = { do: 'erase', x: 1, y: 2, width: 3, height: 1, value, seed } as const
  applyErase(step, 256, layout, dtype, 5, 4, memory)
  return Array.from(row, Number)
}

/** Element (c, y, x) of a row of 3 × 4 × 5. */
const element = (row: number[], layout: 'chw' | 'hwc', c: number, y: number, x: number) =>
  row[layout === 'chw' ? (c * 4 + y) * 5 + x : (y * 5 + x) * 3 + c]

describe('erase', () => {
  it.each(['chw', 'hwc'] as const)('fills its box and nothing else: %s', layout => {
    const row = erased('f32', layout, [1, 2, 3])
    for (let c = 0; c < 3; c++)
      for (let y = 0; y < 4; y++)
        for (let x = 0; x < 5; x++)
          expect(element(row, layout, c, y, x)).toBe(y === 2 && x >= 1 && x < 4 ? c + 1 : 9)
  })
  it('writes the row’s own dtype', () => {
    expect(erased('u8', 'chw', [300]).filter(x => x === 255)).toHaveLength(9)
    expect(erased('f16', 'chw', [1]).filter(x => x === 0x3c00)).toHaveLength(9)
    expect(erased('bf16', 'chw', [-2]).filter(x => x === 0xc000)).toHaveLength(9)
    expect(erased('i64', 'chw', [-2.7]).filter(x => x === -2)).toHaveLength(9)
  })
  it('makes noise by its seed, the same in both layouts', () => {
    const [a, b, c] = [
      erased('f32', 'chw', 'random', 4),
      erased('f32', 'hwc', 'random', 4),
      erased('f32', 'chw', 'random', 5),
    ]
    for (let x = 1; x < 4; x++) expect(element(a, 'chw', 1, 2, x)).toBe(element(b, 'hwc', 1, 2, x))
    expect(a).not.toEqual(c)
    expect(new Set(a).size).toBe(10) // nine different numbers and the rest
  })
  it('draws each line of each channel from a key of its own', () => {
    const box = { do: 'erase', x: 1, width: 3, value: 'random', seed: 4 } as const
    const draw = (y: number, height: number) => {
      const row = new Float32Array(memory.buffer, 256, 3 * 4 * 5).fill(9)
      applyErase({ ...box, y, height }, 256, 'chw', 'f32', 5, 4, memory)
      return Array.from(row)
    }
    const [short, long] = [draw(1, 1), draw(1, 3)]
    for (let c = 0; c < 3; c++) {
      const random = new Random().key(4, 0, 2 * 4 + c, 0) // the box's third line
      const radius = Math.sqrt(-2 * Math.log(1 - random.next()))
      const angle = 2 * Math.PI * random.next()
      expect(element(long, 'chw', c, 3, 1)).toBe(Math.fround(radius * Math.cos(angle)))
      expect(element(long, 'chw', c, 3, 2)).toBe(Math.fround(radius * Math.sin(angle)))
      for (let x = 1; x < 4; x++) expect(element(short, 'chw', c, 1, x)).toBe(element(long, 'chw', c, 1, x))
    }
  })
})

describe('pad', () => {
  it('puts at every place what its mode says', () => {
    const amount = fc.integer({ min: 0, max: 12 })
    const mode = fc.constantFrom(
      'constant' as const,
      'edge' as const,
      'reflect' as const,
      'symmetric' as const,
    )
    const size = fc.integer({ min: 1, max: 5 })
    const work = Workspace.alone()
    fc.assert(
      fc.property(
        size,
        size,
        fc.constantFrom<1 | 3>(1, 3),
        mode,
        fc.tuple(amount, amount, amount, amount),
        (width, height, channels, mode, sides) => {
          work.reset()
          const [left, top, right, bottom] = sides
          const pixels = Uint8Array.from({ length: width * height * channels }, (_, i) => i + 1)
          const picture = put(work, { width, height, channels }, pixels, 3)
          const padded = applyStep(
            { do: 'pad', left, top, right, bottom, mode, fill: [200, 210, 220] },
            picture,
            work,
          )
          const source = (i: number, n: number): number => {
            if (mode === 'edge') return Math.min(Math.max(i, 0), n - 1)
            while (i < 0 || i >= n) {
              if (mode === 'reflect' && n === 1) return 0
              const mirror = mode === 'reflect' ? 0 : 1
              i = i < 0 ? -i - mirror : 2 * (n - 1) + mirror - i
            }
            return i
          }
          const expected: number[] = []
          for (let y = -top; y < height + bottom; y++)
            for (let x = -left; x < width + right; x++)
              for (let c = 0; c < channels; c++) {
                const outside = x < 0 || y < 0 || x >= width || y >= height
                expected.push(
                  outside && mode === 'constant'
                    ? 200 + 10 * c
                    : pixels[(source(y, height) * width + source(x, width)) * channels + c],
                )
              }
          expect(Array.from(bytesOf(padded, work))).toEqual(expected)
        },
      ),
    )
  })
})
