import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { choosePlace, type Place } from '../../store/block-place.js'

/** Blocks with holes between them, in a memory with some free pages at the end. */
interface Memory {
  total: number
  count: number
  first: Int32Array
  pages: Int32Array
  nextUse: Float64Array
}

function memory(blocks: { hole: number; pages: number; next: number }[], tail: number): Memory {
  let at = 0
  const first = Int32Array.from(blocks, ({ hole, pages }) => (at += hole + pages) - pages)
  const pages = Int32Array.from(blocks, block => block.pages)
  const nextUse = Float64Array.from(blocks, block => block.next)
  return { total: at + tail, count: blocks.length, first, pages, nextUse }
}

/** Every stretch of blocks, tried one after the other: the best soonest use, then the fewest pages thrown away. */
function exhaustive({ total, count, first, pages, nextUse }: Memory, wanted: number, leave: number) {
  let best: { soonest: number; lost: number } | undefined
  for (let from = 0; from <= count; from++) {
    for (let to = from; to <= count; to++) {
      const page = from === 0 ? 0 : first[from - 1] + pages[from - 1]
      const end = to === count ? total : first[to]
      if (end - page < wanted || to - from < leave) continue
      const soonest = Math.min(Infinity, ...nextUse.slice(from, to))
      const lost = pages.slice(from, to).reduce((sum, n) => sum + n, 0)
      if (soonest === -Infinity) continue
      if (!best || soonest > best.soonest || (soonest === best.soonest && lost < best.lost))
        best = { soonest, lost }
    }
  }
  return best
}

describe('choosePlace', () => {
  const block = (pages: number, next: number, hole = 0) => ({ pages, next, hole })

  it('takes free pages first, wherever they are', () => {
    const blocks = memory([block(2, 5), block(2, Infinity, 3), block(1, 9)], 1)
    expect(choosePlace(blocks, 3, blocks.total)).toEqual({ page: 2, from: 1, to: 1, soonest: Infinity })
    expect(choosePlace(memory([], 4), 4, 4)).toEqual({ page: 0, from: 0, to: 0, soonest: Infinity })
    expect(choosePlace(memory([], 4), 5, 4)).toBeUndefined()
  })

  it('sends away the block that is wanted last, if all are of one size', () => {
    const blocks = memory([block(4, 50), block(4, 90), block(4, 70)], 0)
    expect(choosePlace(blocks, 4, 12)).toEqual({ page: 4, from: 1, to: 2, soonest: 90 })
  })

  it('uses holes beside a block, and never a leased block', () => {
    const blocks = memory([block(3, 99), block(4, -Infinity), block(2, 20, 1), block(2, 30)], 2)
    expect(choosePlace(blocks, 4, blocks.total)).toEqual({ page: 10, from: 3, to: 4, soonest: 30 })
    expect(choosePlace(blocks, 8, blocks.total)).toBeUndefined()
  })

  it('makes one block leave a full table even where there is room', () => {
    const blocks = memory([block(1, 5), block(1, 8)], 10)
    expect(choosePlace(blocks, 2, 12, 1)).toEqual({ page: 1, from: 1, to: 2, soonest: 8 })
  })

  it('finds what trying everything finds', () => {
    const next = fc.oneof(fc.nat(20), fc.constantFrom(Infinity, -Infinity))
    const blocks = fc.array(fc.record({ hole: fc.nat(3), pages: fc.integer({ min: 1, max: 6 }), next }), {
      maxLength: 12,
    })
    const cases = fc.tuple(blocks, fc.nat(4), fc.integer({ min: 1, max: 15 }), fc.constantFrom(0, 1))
    fc.assert(
      fc.property(cases, ([list, tail, wanted, leave]) => {
        const all = memory(list, tail)
        const place: Place | undefined = choosePlace(all, wanted, all.total, leave)
        const best = exhaustive(all, wanted, leave)
        expect(place?.soonest).toBe(best?.soonest)
        if (place === undefined || best === undefined) return
        const { page, from, to } = place
        const lost = all.pages.slice(from, to).reduce((sum, n) => sum + n, 0)
        expect(lost).toBe(best.lost)
        expect(page).toBe(from === 0 ? 0 : all.first[from - 1] + all.pages[from - 1])
        expect(page + wanted).toBeLessThanOrEqual(to === all.count ? all.total : all.first[to])
      }),
    )
  })
})
