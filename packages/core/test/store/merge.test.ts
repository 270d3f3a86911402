import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { merge } from '../../store/merge.js'
import type { ByteRange, MergeLimits } from '../../store/store.js'

const limits = (): MergeLimits => ({ gap: 100, most: 1000 })
const range = (file: string, offset: number, length: number): ByteRange => ({ file, offset, length })

describe('merge', () => {
  it('joins neighbours and keeps strangers apart', () => {
    const { reads, of, offsets } = merge(
      [range('b', 0, 10), range('a', 300, 50), range('a', 0, 100), range('a', 200, 10), range('a', 500, 9)],
      limits,
    )
    expect(reads).toEqual([range('a', 0, 350), range('a', 500, 9), range('b', 0, 10)])
    expect(of).toEqual([2, 0, 0, 0, 1])
    expect(offsets).toEqual([0, 300, 0, 200, 0])
  })

  it('stops at the largest read, and leaves a larger range whole', () => {
    const { reads } = merge([range('a', 0, 600), range('a', 600, 500), range('a', 1100, 5000)], limits)
    expect(reads).toEqual([range('a', 0, 600), range('a', 600, 500), range('a', 1100, 5000)])
    expect(merge([range('a', 0, 600), range('a', 600, 400)], limits).reads).toEqual([range('a', 0, 1000)])
    expect(merge([range('a', 0, 600), range('a', 600, 401)], limits).reads.length).toBe(2)
  })

  it('serves a range inside a larger one from the same read', () => {
    const { reads, of, offsets } = merge(
      [range('a', 10, 20), range('a', 0, 5000), range('a', 10, 20)],
      limits,
    )
    expect(reads).toEqual([range('a', 0, 5000)])
    expect(of).toEqual([0, 0, 0])
    expect(offsets).toEqual([10, 0, 10])
  })

  it('reads nothing for empty ranges, and does not let them bridge a gap', () => {
    const { reads, of } = merge([range('a', 0, 10), range('a', 90, 0), range('a', 180, 10)], limits)
    expect(reads).toEqual([range('a', 0, 10), range('a', 180, 10)])
    expect(of).toEqual([0, -1, 1])
    expect(merge([], limits).reads).toEqual([])
  })

  it('covers every range exactly, within its limits', () => {
    const ranges = fc.array(
      fc.record({
        file: fc.constantFrom('x', 'y', 'z'),
        offset: fc.nat(4000),
        length: fc.oneof(fc.nat(60), fc.nat(900)),
      }),
      { maxLength: 40 },
    )
    const someLimits = fc.record({ gap: fc.nat(200), most: fc.integer({ min: 1, max: 2000 }) })
    fc.assert(
      fc.property(ranges, someLimits, (wanted, limits) => {
        const { reads, of, offsets } = merge(wanted, () => limits)
        const largest = Math.max(0, ...wanted.map(r => r.length))
        for (const [i, w] of wanted.entries()) {
          expect(of[i] < 0).toBe(w.length === 0)
          if (w.length === 0) continue
          const read = reads[of[i]]
          expect(read.file).toBe(w.file)
          expect(read.offset + offsets[i]).toBe(w.offset)
          expect(offsets[i] + w.length).toBeLessThanOrEqual(read.length)
        }
        reads.forEach((read, r) => {
          const served = wanted.filter((_, i) => of[i] === r)
          expect(served.length).toBeGreaterThan(0)
          if (read.length > limits.most) expect(served.some(w => w.length === read.length)).toBe(true)
          expect(read.length).toBeLessThanOrEqual(Math.max(limits.most, largest))
          expect(read.length).toBe(Math.max(...served.map(w => w.offset + w.length)) - read.offset)
        })
        const sum = (list: { length: number }[]) => list.reduce((total, { length }) => total + length, 0)
        const joints = wanted.filter(w => w.length > 0).length - reads.length
        expect(sum(reads)).toBeLessThanOrEqual(sum(wanted) + joints * limits.gap)
        const sorted = reads.every(
          (r, i) => i === 0 || reads[i - 1].file < r.file || reads[i - 1].offset <= r.offset,
        )
        expect(sorted).toBe(true)
      }),
    )
  })
})
