/** The block cache in one thread: contents, room, leases, the choice of what leaves. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { BudgetError } from '../../basics/errors.js'
import { BlockCache, createBlockCache, type Lease, pack, packedBytes } from '../../store/block-cache.js'
import { BlockTable } from '../../store/block-table.js'
import { use } from './use.js'

const PAGE = 4096
const never = () => Infinity

/** A budget that leaves exactly this many pages for data. */
function withPages(pages: number, makers = 1, blocks = 32) {
  return createBlockCache({ bytes: BlockTable.bytes(blocks, makers + 1) + pages * PAGE, makers, blocks })
}

/** One piece that fills a page, its list included, with the unit's number. */
function onePage(unit: number, now = 0, nextUse: (unit: number) => number = never) {
  return { bytes: PAGE - 16, now, nextUse, load: (into: Uint8Array) => [into.fill(unit)] }
}

describe('the block cache', () => {
  it('keeps its budget, and refuses one that is too small', () => {
    const data = createBlockCache({ bytes: 1 << 20, makers: 40 })
    expect(data.books.byteLength + data.memory.byteLength).toBeLessThanOrEqual(1 << 20)
    expect(data.memory.byteLength).toBeGreaterThan(0.98 * (1 << 20))
    expect(() => createBlockCache({ bytes: 1000, makers: 2 })).toThrow(BudgetError)
  })

  it('loads once, then gives the same bytes', () => {
    const cache = new BlockCache(withPages(8), 0)
    const first = use(cache, 7, onePage(7))!
    const again = use(cache, 7, { ...onePage(7), load: () => expect.unreachable() })!
    expect(again.pieces[0].byteOffset).toBe(first.pieces[0].byteOffset)
    expect(again.pieces[0].every(byte => byte === 7)).toBe(true)
    first.release()
    again.release()
    expect(cache.stats()).toMatchObject({
      hits: 1,
      loads: 1,
      evictions: 0,
      units: 1,
      bytes: PAGE,
      bytesLoaded: 4080,
    })
  })

  it('gives the same list of pieces as long as it is the same load', () => {
    const cache = new BlockCache(withPages(1), 0)
    const lists = [7, 7, 8, 7].map(unit => {
      const lease = use(cache, unit, onePage(unit))!
      expect([...new Set(lease.pieces[0])]).toEqual([unit])
      lease.release()
      return lease.pieces
    })
    expect(lists[1]).toBe(lists[0])
    expect(new Set(lists).size).toBe(3)
    expect(cache.stats()).toMatchObject({ hits: 1, loads: 3, evictions: 2 })
  })

  it('asks of a unit alone when it is wanted next, while there is room, and takes the first room that there is', () => {
    const cache = new BlockCache(withPages(6), 0)
    const asked: number[] = []
    const ask = (unit: number) => asked.push(unit)
    const leases = [0, 1, 2].map(unit => use(cache, unit, onePage(unit, 5, ask))!)
    expect(leases.map(({ pieces }) => pieces[0].byteOffset / PAGE)).toEqual([0, 1, 2])
    for (const lease of leases) lease.release()
    expect(use(cache, 3, { ...onePage(3, 9, ask), bytes: 3 * PAGE - 16 })!.pieces[0].byteOffset).toBe(
      3 * PAGE,
    )
    expect(asked).toEqual([0, 1, 2, 3])
  })

  it('keeps pieces apart, aligned, and gives unused pages back', () => {
    const cache = new BlockCache(withPages(8), 0)
    const pieces = [Uint8Array.of(1, 2, 3), new Uint8Array(0), new Uint8Array(5000).fill(9)]
    expect(packedBytes([3, 0, 5000])).toBe(64 + 5056)
    const request = { bytes: 8 * PAGE - 48, pieces: 3, now: 0, nextUse: never }
    const lease = use(cache, 1, { ...request, load: into => pack(into, pieces) })!
    expect(lease.pieces.map(piece => [...piece])).toEqual(pieces.map(piece => [...piece]))
    expect(lease.pieces.map(piece => piece.byteOffset % 64)).toEqual([0, 0, 0])
    expect(cache.stats().bytes).toBe(2 * PAGE)
    expect(use(cache, 2, { ...request, bytes: 6 * PAGE - 48, load: into => [into] })).toBeDefined()
  })

  it('never sends away what is leased, nor what will be wanted sooner', () => {
    const cache = new BlockCache(withPages(2), 0)
    const future = (unit: number) => [10, 20, 30, 15][unit]
    const zero = use(cache, 0, onePage(0, 1, future))!
    const one = use(cache, 1, onePage(1, 2, future))!
    expect(use(cache, 2, onePage(2, 3, never))).toBeUndefined() // both are leased
    one.release()
    expect(use(cache, 2, onePage(2, 4, future))).toBeUndefined() // unit 1 comes back before unit 2
    expect(use(cache, 3, onePage(3, 4, future))).toBeDefined() // and after unit 3
    zero.release()
    expect(cache.stats()).toMatchObject({ loads: 3, evictions: 1, refusals: 2 })
  })

  it('asks again for the next use of a unit when the noted one has passed', () => {
    const cache = new BlockCache(withPages(2), 0)
    use(
      cache,
      0,
      onePage(0, 0, () => 5),
    )!.release()
    use(
      cache,
      1,
      onePage(1, 0, () => 50),
    )!.release()
    const asked: number[] = []
    const later = (unit: number) => {
      asked.push(unit)
      return unit === 2 ? 60 : 1000
    }
    use(cache, 2, onePage(2, 10, later))!.release()
    expect(asked).toEqual([0, 2])
    expect(use(cache, 1, { ...onePage(1, 10, later), load: () => expect.unreachable() })).toBeDefined()
  })

  it('lets a few small units leave for a large one, though all are wanted now', () => {
    const cache = new BlockCache(withPages(12), 0)
    const now = () => -100 // wanted from now on, up to 100
    for (let unit = 0; unit < 3; unit++) use(cache, unit, onePage(unit, 1, now))!.release()
    const large = { bytes: 10 * PAGE - 16, now: 1, nextUse: now, load: (into: Uint8Array) => [into] }
    const lease = use(cache, 9, large)!
    expect(lease).toBeDefined()
    expect(cache.stats()).toMatchObject({ evictions: 1, units: 3 })
    lease.release()
    // The other way round it is no gain.
    expect(use(cache, 10, { ...large, bytes: 3 * PAGE - 16 })).toBeUndefined()
  })

  it('gives up what was used longest ago, where the future is not known', () => {
    const cache = new BlockCache(withPages(2), 0)
    const at = (unit: number, time: number) => {
      const recency = 1e9 - time
      const taken = cache.take(unit, {
        bytes: 4000,
        user: unit,
        now: [time],
        nextUse: () => recency,
        recency,
      })!
      if (taken.loads) cache.fill(taken, into => [into.fill(unit)])
      cache.lease(taken).release()
      return taken.loads
    }
    expect([at(0, 1), at(1, 2), at(0, 3), at(2, 4)]).toEqual([true, true, false, true])
    expect(at(0, 5)).toBe(false)
    expect(at(1, 6)).toBe(true)
  })

  it('counts the leases of a thread, and forgives a second release', () => {
    const cache = new BlockCache(withPages(1), 0)
    const a = use(cache, 1, onePage(1))!
    const b = use(cache, 1, onePage(1))!
    a.release()
    a.release()
    expect(use(cache, 2, onePage(2))).toBeUndefined()
    b.release()
    const c = use(cache, 2, onePage(2))!
    expect(c.pieces[0][0]).toBe(2)
    c.release()
    const d = use(cache, 3, onePage(3))!
    c.release() // once more: must not free unit 3
    expect(use(cache, 4, onePage(4))).toBeUndefined()
    d.release()
  })

  it('forgets a load that failed, and tells a loader what it did wrong', () => {
    const cache = new BlockCache(withPages(4), 0)
    const request = onePage(1)
    const bad = (load: (into: Uint8Array) => Uint8Array[]) => () => use(cache, 1, { ...request, load })
    expect(bad(() => expect.unreachable('torn'))).toThrow('torn')
    expect(bad(() => [new Uint8Array(1)])).toThrow(/outside of the memory/)
    expect(bad(into => pack(into, [new Uint8Array(5000)]))).toThrow(/more than the 4080 bytes/)
    expect(bad(into => [into, into])).toThrow(/2 pieces, 1 were announced/)
    expect(bad(into => [...use(cache, 1, request)!.pieces, into])).toThrow(/wait for itself/)
    expect(cache.stats()).toMatchObject({ units: 0, bytes: 0, loads: 0 })
    expect(use(cache, 1, request)!.pieces[0][0]).toBe(1)
  })

  it('hits as often as the best possible choice, for units of one size', () => {
    const sequences = fc.array(fc.nat(9), { minLength: 1, maxLength: 80 })
    fc.assert(
      fc.property(sequences, fc.integer({ min: 1, max: 6 }), (uses, room) => {
        const nextAfter = (now: number) => (unit: number) => {
          const at = uses.indexOf(unit, now + 1)
          return at < 0 ? Infinity : at
        }
        const cache = new BlockCache(withPages(room), 0)
        const held = new Set<number>()
        let hits = 0
        uses.forEach((unit, now) => {
          use(cache, unit, onePage(unit, now, nextAfter(now)))?.release()
          if (held.has(unit)) hits++
          else held.add(unit)
          // What is wanted last goes, be it the newcomer itself.
          const byNext = [...held].sort((a, b) => nextAfter(now)(a) - nextAfter(now)(b))
          if (held.size > room) held.delete(byNext.at(-1)!)
        })
        expect(cache.stats().hits).toBe(hits)
      }),
    )
  })

  it('holds right contents and sound books through any sequence of uses and releases', () => {
    const step = fc.record({ unit: fc.nat(40), keep: fc.boolean(), next: fc.nat(100), fails: fc.nat(9) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), steps => {
        const data = withPages(24, 1, 10)
        const cache = new BlockCache(data, 0)
        const table = new BlockTable(data.books, data.blocks, 2, 24)
        const leases: { unit: number; lease: Lease }[] = []
        steps.forEach(({ unit, keep, next, fails }, now) => {
          const lengths = [unit * 700, unit % 3, 100]
          const load = (into: Uint8Array) => {
            if (fails === 0) throw new Error('unlucky')
            return pack(
              into,
              lengths.map((length, i) => new Uint8Array(length).fill(unit + i)),
            )
          }
          const request = {
            bytes: packedBytes(lengths) + 3000,
            pieces: 3,
            now,
            nextUse: () => now + next,
            load,
          }
          try {
            const lease = use(cache, unit, request)
            if (lease) leases.push({ unit, lease })
          } catch (error) {
            expect(error).toMatchObject({ message: 'unlucky' })
          }
          if (!keep) leases.splice(0, 2).forEach(({ lease }) => void lease.release())
          for (const { unit, lease } of leases) {
            lease.pieces.forEach((piece, i) => {
              expect(piece.length).toBe([unit * 700, unit % 3, 100][i])
              expect(piece.every(byte => byte === unit + i)).toBe(true)
            })
          }
          checkBooks(table)
        })
      }),
      { numRuns: runs(60) },
    )
  })
})

/** No block overlaps another, sums are right, every unit is found where it is. */
function checkBooks(table: BlockTable): void {
  const used = [...table.state.keys()].filter(block => table.state[block] !== 0)
  used.sort((a, b) => table.first[a] - table.first[b])
  expect(table.count).toBe(used.length)
  expect(table.usedPages).toBe(used.reduce((sum, block) => sum + table.pages[block], 0))
  let end = 0
  for (const block of used) {
    expect(table.first[block]).toBeGreaterThanOrEqual(end)
    end = table.first[block] + table.pages[block]
    expect(table.find(table.unit[block])).toBe(block)
  }
  expect(end).toBeLessThanOrEqual(table.totalPages)
}
