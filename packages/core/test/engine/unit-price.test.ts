/** Units of many rows: what they take in the cache, what an order over them costs, and what the user is told of it. */
import { describe, expect, test } from 'vitest'
import { lastAtMost } from '../../basics/search.js'
import { usualCache } from '../../engine/plan/budget.js'
import type { FeedPlan } from '../../engine/plan/plan.js'
import {
  type CachedSource,
  cachedSources,
  type UnitFacts,
  type UnitSource,
  unitFacts,
} from '../../engine/plan/unit-facts.js'
import {
  cacheWanted,
  checkUnitsFit,
  loadsPerUnit,
  unitFigures,
  unitNotices,
  windowThatFits,
} from '../../engine/plan/unit-price.js'
import type { SourceOrderData } from '../../order/single.js'
import { BlockCache, createBlockCache } from '../../store/block-cache.js'

const MB = 1e6

/** A leaf whose units have these rows. A column takes 10 bytes a row, and 1,000 more in every fifth unit. */
function leaf(sizes: number[]): UnitSource {
  let count = 0
  const unitStarts = Float64Array.from(sizes, size => (count += size) - size)
  const source: UnitSource = {
    count,
    unitStarts,
    unitBytes: (unit, columns) => columns.length * (10 * sizes[unit] + (unit % 5 === 0 ? 1000 : 0)),
    need(row, _epoch, columns, out) {
      const unit = unitStarts.findLastIndex(start => start <= row)
      out.units.push({ leaf: source, unit, columns })
    },
  }
  return source
}

describe('facts', () => {
  test('of a leaf: its units as they are loaded, for the columns that are wanted', () => {
    const source = leaf(Array.from({ length: 100 }, () => 100))
    expect(unitFacts(source, ['a'], 0)).toEqual({
      rows: 10_000,
      stretches: 100,
      bytes: 120_000,
      largest: 2000,
    })
    expect(unitFacts(source, ['a', 'b'], 0)).toMatchObject({ bytes: 240_000, largest: 4000 })
  })

  test('of rows that need two units, or come back to one: each unit counts once, a row needs all of its own', () => {
    const inner = leaf([50, 50])
    // Rows of unit 0, of unit 1, and of unit 0 again.
    const picked: UnitSource = {
      count: 30,
      unitStarts: Float64Array.of(0, 10, 20),
      need: (row, ...more) => inner.need!([0, 50, 20][Math.floor(row / 10)], ...more),
    }
    expect(unitFacts(picked, ['a'], 0)).toEqual({ rows: 30, stretches: 3, bytes: 2000, largest: 1500 })
    const zipped: UnitSource = {
      ...inner,
      need(row, ...more) {
        inner.need!(row, ...more)
        other.need!(row, ...more)
      },
    }
    const other = leaf([50, 50])
    expect(unitFacts(zipped, ['a'], 0)).toMatchObject({ bytes: 4000, largest: 3000 })
  })

  test('units with equal starts share their rows, and one past the end has none', () => {
    const source = { count: 20, unitStarts: Float64Array.of(0, 0, 10, 10, 20) }
    expect(unitFacts(source, ['a'], 400)).toEqual({ rows: 20, stretches: 2, bytes: 400, largest: 200 })
  })

  test('without units of many rows there are none, and nothing is looked at', () => {
    const need = () => {
      throw new Error('asked')
    }
    expect(unitFacts({ count: 20, need }, ['a'], 400)).toBeUndefined()
    expect(unitFacts({ count: 2, unitStarts: Float64Array.of(0, 1), need }, ['a'], 400)).toBeUndefined()
    expect(unitFacts({ count: 0, unitStarts: Float64Array.of(0), need }, ['a'], 400)).toBeUndefined()
  })

  test('a million units are sampled', () => {
    let asked = 0
    const many: UnitSource = {
      count: 2e6,
      unitStarts: Float64Array.from({ length: 1e6 }, (_, i) => 2 * i),
      unitBytes: () => 100,
      need(row, _epoch, columns, out) {
        asked++
        out.units.push({ leaf: many, unit: row / 2, columns })
      },
    }
    expect(unitFacts(many, [], 0)).toEqual({ rows: 2e6, stretches: 1e6, bytes: 1e8, largest: 100 })
    expect(asked).toBe(2 ** 13)
  })

  test('of units in a thousand files, some files are looked into, and the unit with the most rows', () => {
    const starts = Float64Array.from({ length: 1e5 }, (_, i) => (i > 77_777 ? 10 * i + 90 : 10 * i))
    const files = new Set<number>()
    const many: UnitSource = {
      count: 1e6 + 90,
      unitStarts: starts,
      runs: starts.filter((_, i) => i % 100 === 0),
      unitBytes: unit => (unit === 77_777 ? 1000 : 100),
      need(row, _epoch, columns, out) {
        const unit = lastAtMost(starts, row)
        files.add(Math.floor(unit / 100))
        out.units.push({ leaf: many, unit, columns })
      },
    }
    expect(unitFacts(many, [], 0)).toEqual({
      rows: 1e6 + 90,
      stretches: 1e5,
      bytes: 10_000_900,
      largest: 1000,
    })
    expect(files.size).toBeLessThanOrEqual(33)
    expect(files.size).toBeGreaterThan(30)
  })

  test('of a feed: each of its sources by its name, with its own bytes, for the columns of its fields', () => {
    const manifest = (bytes: number) => ({
      kind: 'tar',
      fingerprint: { parts: [{ name: 'x', count: 1, bytes }] },
    })
    const plan = {
      feed: { fields: [{ from: ['a'] }, { from: ['a', 'b'] }] },
      sources: [
        { manifest: manifest(7), name: 'street' },
        // What is put around a source when it is opened has no name of its own.
        { manifest: { ...manifest(9), kind: 'valued', child: manifest(9) } },
      ],
      attached: [leaf([100, 100]), { count: 5 }],
      orderData: { sources: [global, global] },
    } as unknown as FeedPlan
    expect(cachedSources(plan)).toEqual([
      {
        name: 'street',
        order: global,
        bytes: 7,
        units: { rows: 200, stretches: 2, bytes: 6000, largest: 4000 },
      },
      { name: 'tar', order: global, bytes: 9, units: undefined },
    ])
    expect(cachedSources(plan)[0].units).toBe(cachedSources({ ...plan })[0].units)
  })
})

const global: SourceOrderData = { kind: 'global', count: 10_000, seed: 1 }
const weights = { kind: 'weights', count: 10_000, samples: 10_000 } as SourceOrderData
const none: SourceOrderData = { kind: 'none', count: 10_000 }
const window = (window: number, count = 10_000): SourceOrderData => ({
  kind: 'window',
  count,
  window,
  runs: Float64Array.of(0),
  seed: 1,
})

/** 100 units of 100 rows and 1 MB. */
const units: UnitFacts = { rows: 10_000, stretches: 100, bytes: 100 * MB, largest: MB }
const source = (order: SourceOrderData, facts: Partial<UnitFacts> = {}): CachedSource => ({
  name: 'rows',
  order,
  bytes: 30 * MB,
  units: { ...units, ...facts },
})
const rowsAlone = (order: SourceOrderData): CachedSource => ({ name: 'tar', order, bytes: 30 * MB })

test.each([
  [40_000, 2500],
  [458_123, 200],
  [3_000_000, 34],
])('the usual cache of a global order holds all its units at once: %d bytes each', (bytes, stretches) => {
  const facts = { rows: 10_000, stretches, bytes: bytes * stretches, largest: bytes }
  const data = createBlockCache({ bytes: usualCache([source(global, facts)]), makers: 128 })
  const cache = new BlockCache(data, 0)
  // Each is wanted again before it could leave.
  const request = { bytes, user: 0, now: [0], nextUse: () => 1, pieces: 2 }
  for (let unit = 0; unit < stretches; unit++) {
    const taken = cache.take(unit, request)!
    cache.fill(taken, into => [into.subarray(0, bytes - 1), into.subarray(bytes - 1)])
    cache.lease(taken).release()
  }
  expect(cache.stats()).toMatchObject({ units: stretches, evictions: 0, refusals: 0 })
})

describe('the cache that is wanted', () => {
  test('rows by themselves: half as much again as a window, nothing for other orders', () => {
    expect(cacheWanted([rowsAlone(window(1000))])).toBe(4.5 * MB)
    expect(cacheWanted([rowsAlone(window(1e6))])).toBe(45 * MB)
    for (const order of [global, weights, none]) expect(cacheWanted([rowsAlone(order)])).toBe(0)
  })

  test('units: two windows of what they take loaded, and six of the largest', () => {
    expect(cacheWanted([source(window(1000))])).toBe((20 + 6) * MB)
    expect(cacheWanted([source(window(1000), { largest: 20 * MB })])).toBe((20 + 120) * MB)
    // No more than there is.
    expect(cacheWanted([source(window(9000), { largest: 24 * MB })])).toBe((100 + 144) * MB)
  })

  test('rows that are made before they are asked for come on top', () => {
    expect(cacheWanted([rowsAlone(window(1000))], 1000)).toBe((4.5 + 3) * MB)
    expect(cacheWanted([source(window(1000))], 500)).toBe((20 + 5 + 6) * MB)
  })

  test('a blend: the windows of all sources, each by its own size', () => {
    const small = { ...rowsAlone(window(1000, 2000)), bytes: 2 * MB }
    expect(cacheWanted([rowsAlone(window(1000)), small])).toBe((4.5 + 1.5) * MB)
    expect(cacheWanted([source(window(1000)), small, source(window(500))])).toBe((26 + 1.5 + 16) * MB)
  })

  test('a random order over units: all of them; one row after the other: four of the largest', () => {
    // And a page more for each.
    expect(cacheWanted([source(global)])).toBe(100 * MB + 100 * 4096)
    expect(cacheWanted([source(weights)])).toBe(100 * MB + 100 * 4096)
    expect(cacheWanted([source(none)])).toBe(4 * MB)
  })
})

test('a unit above a quarter of the cache is refused, with the cache that would do', () => {
  const sources = [
    rowsAlone(global),
    source(none),
    { ...source(global, { largest: 30 * MB }), name: 'scans' },
  ]
  expect(() => checkUnitsFit(sources, 120 * MB)).not.toThrow()
  expect(() => checkUnitsFit(sources, 120 * MB - 1)).toThrow(
    /row of "scans" needs units .* up to 29 MiB.*cache of 115 MiB.*"cache" to at least 120000000 bytes, or write/,
  )
  expect(() => checkUnitsFit([rowsAlone(window(1000))], 0)).not.toThrow()
})

describe('the price of a random order', () => {
  test('is the rows of a unit, but for those that the cache holds; never less than once', () => {
    expect(loadsPerUnit(units, 0.07)).toBeCloseTo(93)
    expect(loadsPerUnit(units, 1)).toBe(1)
  })

  test('above three loads gives one notice, with a window that fits', () => {
    const [text, ...others] = unitNotices([source(global)], 20 * MB)
    expect(others).toEqual([])
    expect(text).toBe(
      'a global shuffle loads each unit (row group, chunk) of "rows" about 80 times an epoch: a unit has 100 rows, and ' +
        'the cache of 20 MiB holds 20 % of all units. {"shuffle": {"window": 700}} loads each once; a larger cache ' +
        '(option "cache") or data in smaller row groups or chunks make it less',
    )
    // Nothing fits into seven units.
    expect(unitNotices([source(global)], 7 * MB)[0]).toMatch(/7 % of all units\. A larger cache/)
    expect(unitNotices([source(global)], 96.9 * MB)).toHaveLength(1)
    expect(unitNotices([source(global)], 97.1 * MB)).toEqual([])
    expect(unitNotices([source(global, { stretches: 3334 })], 0)).toEqual([])
  })

  test('names the dearest source of a blend', () => {
    const finer = { ...source(global, { stretches: 1000 }), name: 'finer' }
    expect(unitNotices([finer, source(global), rowsAlone(global)], 20 * MB)).toEqual([
      expect.stringMatching(/of "rows" about 90 times/),
    ])
  })

  test('weights have no windowed alternative', () => {
    const [text] = unitNotices([source(weights)], 7 * MB)
    expect(text).toMatch(/^an order by weights loads .* of all units\. A larger cache/)
  })

  test('other orders and sources give none', () => {
    expect(unitNotices([source(none), rowsAlone(global), rowsAlone(window(20))], 0)).toEqual([])
  })
})

test('figures: the cache is shared by all sources that have units', () => {
  const figures = unitFigures([source(global), rowsAlone(global), source(window(1500))], 50 * MB)
  const shared = { units: 100, rowsPerUnit: 100, cacheRows: 2500, globalLoads: 75 }
  expect(figures).toEqual([shared, undefined, shared])
})

test('the window that is named fits: its own cache is no larger', () => {
  for (const cache of [3 * MB, 7 * MB, 20 * MB, 90 * MB, 500 * MB])
    for (const largest of [MB, 4 * MB]) {
      const found = windowThatFits({ ...units, largest }, cache)
      if (found > 0) expect(cacheWanted([source(window(found), { largest })])).toBeLessThanOrEqual(cache + 1)
      if (found > 0) expect(found / 50 + (6 * largest) / MB).toBeLessThanOrEqual(cache / MB)
      else expect(cache).toBeLessThanOrEqual(6 * largest + 4 * MB)
    }
  // More than 256 units mix no better.
  expect(windowThatFits({ ...units, rows: 1e6, stretches: 1e4 }, 500 * MB)).toBe(25_000)
})

test('a cache that does not hold the windows gives a notice, with the one that does', () => {
  const sources = [source(window(2000)), rowsAlone(window(1000)), source(window(3000), { largest: 2 * MB })]
  // Two windows and six of the largest units each; one and a half windows of rows by themselves.
  const needed = 40 + 6 + 4.5 + 60 + 12
  expect(unitNotices(sources, needed * MB)).toEqual([])
  expect(unitNotices(sources, needed * MB - 1)).toEqual([
    'the windows need a cache of 117 MiB, and it has 117 MiB: units (row groups, chunks) are loaded more than once an epoch. ' +
      'Raise the option "cache" to at least 122500000 bytes, or take a smaller window',
  ])
  expect(unitNotices([rowsAlone(window(1000))], 0)).toEqual([])
})

describe('mixing', () => {
  test('fewer than 16 units a window give one notice, with the window that has as many', () => {
    expect(unitNotices([source(window(1000)), source(window(1200))], 90 * MB)).toEqual([
      'a window of 1000 samples holds 10 units (row groups, chunks) of "rows", of 100 rows each: batches mix few places ' +
        'of the data. Take a window of at least 1600, or write the data in smaller row groups or chunks',
    ])
    expect(unitNotices([source(window(1599))], 90 * MB)).toHaveLength(1)
    expect(unitNotices([source(window(1600))], 90 * MB)).toEqual([])
  })

  test('a window that holds all rows is a global shuffle: nothing to be told', () => {
    expect(unitNotices([source(window(10_000), { stretches: 5 })], 200 * MB)).toEqual([])
    expect(unitNotices([source(window(9999), { stretches: 5 })], 200 * MB)).toEqual([
      expect.stringMatching(/holds 5 units.*at least 10000/),
    ])
  })
})
