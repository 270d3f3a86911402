/** The windowed shuffle: a bijection that reads each block once an epoch out of a cache of one window. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { blockSize } from '../../order/blocks.js'
import { WindowOrder } from '../../order/window.js'

/** Shards of the given numbers of rows. */
function shards(sizes: number[]): { runs: Float64Array; count: number } {
  let count = 0
  const runs = Float64Array.from(sizes, size => (count += size) - size)
  return { runs, count }
}

const equalShards = (shard: number, shardCount: number) =>
  shards(Array.from({ length: shardCount }, () => shard))

/** Rows of each unit of each run: 1 … 500, some runs empty. 0 rows: it shares those of the next unit. */
const wildUnits = fc.array(
  fc.array(fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 1, max: 500 })), { maxLength: 12 }),
  { minLength: 1, maxLength: 8 },
)

/** The same as what an order needs to know. */
function unitsIn(sizes: number[][]): { runs: Float64Array; count: number; units: Float64Array } {
  const units = shards(sizes.flat())
  return { ...shards(sizes.map(run => run.reduce((a, b) => a + b, 0))), units: units.runs }
}

/** First row of each block, as the rule has it: whole units up to the block size, at least one, never across a run. */
function greedily(sizes: number[][], size: number): number[] {
  const starts: number[] = []
  let row = 0
  for (const run of sizes) {
    let rows = Infinity
    for (const unit of run) {
      if (unit === 0) continue
      if (rows + unit > size) {
        starts.push(row)
        rows = 0
      }
      rows += unit
      row += unit
    }
  }
  return starts
}

function rowsOf(order: WindowOrder, epoch: number): number[] {
  return Array.from({ length: order.length }, (_, position) => order.at(epoch, position))
}

test('every row exactly once, and the inverse, for any shards and windows', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 2000 }),
      fc.nat(3),
      (sizes, window, epoch) => {
        const { runs, count } = shards(sizes)
        const order = new WindowOrder({ runs, count, window, seed: 5 })
        const rows = rowsOf(order, epoch)
        expect([...rows].sort((a, b) => a - b)).toEqual(rows.map((_, i) => i))
        rows.forEach((row, position) => {
          if (order.inverse(epoch, row) !== position) throw new Error(`inverse of row ${row}`)
        })
      },
    ),
    { seed: 1 },
  )
})

describe('blocks', () => {
  test('lie within shards, cover every row, and are known by row', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 3000 }),
        (sizes, window) => {
          const { runs, count } = shards(sizes)
          const order = new WindowOrder({ runs, count, window, seed: 5 })
          const starts = new Set(order.blocks)
          for (const run of runs) if (run < count) expect(starts.has(run)).toBe(true)
          for (let block = 0; block + 1 < order.blocks.length; block++) {
            expect(order.blocks[block + 1] - order.blocks[block]).toBeLessThanOrEqual(order.blockSize)
            for (let row = order.blocks[block]; row < order.blocks[block + 1]; row++)
              if (order.blockOf(row) !== block) throw new Error(`block of row ${row}`)
          }
          expect(order.blocks.at(-1)).toBe(count)
        },
      ),
      { seed: 2 },
    )
  })

  test('are a 256th of a window, of 8 to 1,024 rows where they can, and at most 2^20 in number', () => {
    expect(blockSize(1e6, 10_000)).toBe(39)
    expect(blockSize(1e6, 1000)).toBe(8)
    expect(blockSize(1e6, 100)).toBe(3)
    expect(blockSize(1e6, 10)).toBe(1)
    expect(blockSize(1e6, 1e6)).toBe(1024)
    expect(blockSize(1e9, 10_000)).toBe(954)
    expect(Math.ceil(1e12 / blockSize(1e12, 10_000))).toBeLessThanOrEqual(2 ** 20)
  })

  test('are each read once an epoch by a cache that holds the blocks of the current window', () => {
    const { runs, count } = shards([1000, 317, 2000, 5, 1678])
    const order = new WindowOrder({ runs, count, window: 640, seed: 9 })
    const loads = new Uint32Array(order.blocks.length - 1)
    let held = new Set<number>()
    let window = -1
    let most = 0
    for (let position = 0; position < count; position++) {
      if (order.windowOf(position) !== window) {
        window = order.windowOf(position)
        expect(order.windowStart(window)).toBe(position)
        const next = new Set(order.blocksOf(3, window))
        for (const block of next) if (!held.has(block)) loads[block]++
        held = next
        most = Math.max(
          most,
          [...held].reduce((sum, b) => sum + order.blocks[b + 1] - order.blocks[b], 0),
        )
      }
      expect(held.has(order.blockOf(order.at(3, position)))).toBe(true)
    }
    expect(window + 1).toBe(order.windows)
    for (let block = 0; block + 1 < order.blocks.length; block++) {
      const [from, to] = order.spanOf(3, block)
      for (let row = order.blocks[block]; row < order.blocks[block + 1]; row++) {
        expect(order.inverse(3, row)).toBeGreaterThanOrEqual(from)
        expect(order.inverse(3, row)).toBeLessThan(to)
      }
      expect(to - from).toBeLessThanOrEqual(3 * 320)
    }
    expect([...loads].every(n => n === 1)).toBe(true)
    // The window itself, and the rest of the blocks that reach over its two ends.
    expect(most).toBeLessThanOrEqual(640 + 2 * order.blockSize)
  })
})

describe('units of many rows', () => {
  test('blocks are whole units, as many as fit, within runs; every row comes once', () => {
    fc.assert(
      fc.property(wildUnits, fc.integer({ min: 1, max: 3000 }), fc.nat(3), (sizes, window, epoch) => {
        const data = { ...unitsIn(sizes), window, seed: 5 }
        const order = new WindowOrder(data)
        const { blocks } = order
        expect(greedily(sizes, order.blockSize)).toEqual([...blocks.subarray(0, -1)])
        expect(blocks.at(-1)).toBe(data.count)
        const rows = rowsOf(order, epoch)
        expect([...rows].sort((a, b) => a - b)).toEqual(rows.map((_, i) => i))
        rows.forEach((row, position) => {
          if (order.inverse(epoch, row) !== position) throw new Error(`inverse of row ${row}`)
          const block = order.blockOf(row)
          if (!(blocks[block] <= row && row < blocks[block + 1])) throw new Error(`block of row ${row}`)
        })
      }),
      { seed: 3, numRuns: runs(80) },
    )
  })

  test('units of one row give the blocks and the order of no units', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 3000 }),
        (sizes, window) => {
          const data = { ...shards(sizes), window, seed: 5 }
          const plain = new WindowOrder(data)
          const order = new WindowOrder({
            ...data,
            units: Float64Array.from({ length: data.count }, (_, i) => i),
          })
          expect(order.blocks).toEqual(plain.blocks)
          expect(rowsOf(order, 1)).toEqual(rowsOf(plain, 1))
        },
      ),
      { seed: 4, numRuns: runs(60) },
    )
  })

  test('the rows of a unit, or any others, come within the span that is told', () => {
    fc.assert(
      fc.property(
        wildUnits,
        fc.integer({ min: 1, max: 1500 }),
        fc.array(fc.tuple(fc.nat(9999), fc.nat(9999)), { maxLength: 5 }),
        (sizes, window, ranges) => {
          const { units, ...data } = unitsIn(sizes)
          const { count } = data
          const order = new WindowOrder({ ...data, units, window, seed: 6 })
          const asked = Array.from(units, (from, i) => [from, units[i + 1] ?? count])
          for (const [a, b] of ranges) asked.push([a % (count + 1), b % (count + 1)].sort((x, y) => x - y))
          for (const [from, to] of asked) {
            const span = order.spanOfRows(2, from, to)
            for (let row = from; row < to; row++) {
              const position = order.inverse(2, row)
              if (position < span[0] || position >= span[1])
                throw new Error(`row ${row} at ${position}: ${span}`)
            }
          }
          for (let block = 0; block + 1 < order.blocks.length; block++)
            expect(order.spanOfRows(2, order.blocks[block], order.blocks[block + 1])).toEqual(
              order.spanOf(2, block),
            )
        },
      ),
      { seed: 5, numRuns: runs(80) },
    )
  })

  test.each([
    ['100 units of 100 rows', [Array.from({ length: 100 }, () => 100)], 1000],
    ['units of 1 to 500 rows', [Array.from({ length: 200 }, (_, i) => 1 + ((i * 197) % 500))], 2000],
  ])('%s are each held once an epoch, in the window and room for two', (_, sizes, window) => {
    const { units, ...data } = unitsIn(sizes)
    const order = new WindowOrder({ ...data, units, window, seed: 9 })
    const spans = Array.from(units, (from, i) => order.spanOfRows(0, from, units[i + 1] ?? data.count))
    const rowsFrom = new Float64Array(data.count + 1)
    // A unit is held while the window of the second pass lies within its span: once, since a span is a stretch.
    spans.forEach(([from, to], i) => {
      rowsFrom[from] += sizes[0][i]
      rowsFrom[to] -= sizes[0][i]
    })
    let held = 0
    let most = 0
    for (const change of rowsFrom) most = Math.max(most, (held += change))
    expect(most).toBeLessThanOrEqual(window + 2 * order.largestBlock)
    expect(order.largestBlock).toBe(Math.max(...sizes[0]))
  })
})

describe('mixing', () => {
  test('other epochs, seeds and streams give other orders; the same key gives the same', () => {
    const data = { ...equalShards(500, 8), window: 400, seed: 1 }
    const orders = [
      rowsOf(new WindowOrder(data), 0),
      rowsOf(new WindowOrder(data), 1),
      rowsOf(new WindowOrder({ ...data, seed: 2 }), 0),
      rowsOf(new WindowOrder({ ...data, stream: 'a' }), 0),
    ]
    expect(new Set(orders.map(String)).size).toBe(4)
    expect(rowsOf(new WindowOrder(data), 0)).toEqual(orders[0])
  })

  test('going back and forth between epochs changes nothing', () => {
    const data = { ...equalShards(100, 5), window: 64, seed: 1 }
    const order = new WindowOrder(data)
    const fresh = [0, 1, 2, 3].map(epoch => rowsOf(new WindowOrder(data), epoch))
    for (let position = 0; position < 500; position++)
      for (const epoch of [0, 1, 2, 0, 3]) expect(order.at(epoch, position)).toBe(fresh[epoch][position])
  })

  test('a window that holds everything leaves no order: neighbours end up n/3 apart', () => {
    const order = new WindowOrder({ ...equalShards(5000, 4), window: 20_000, seed: 3 })
    let sum = 0
    for (let row = 1; row < order.length; row++)
      sum += Math.abs(order.inverse(0, row) - order.inverse(0, row - 1))
    // Mean n/3, standard deviation of one distance n/√18: 5 deviations of the mean of 20,000 are below 4 %.
    expect(sum / (order.length - 1) / (order.length / 3)).toBeCloseTo(1, 1)
  })

  test('no border between windows: a sample crosses every position', () => {
    // With one pass, nothing would ever cross the border at a multiple of the window's length.
    const order = new WindowOrder({ ...equalShards(1, 4000), window: 400, seed: 4 })
    const line = new Float64Array(4000)
    const all = Array.from({ length: order.windows }, (_, w) => [...order.blocksOf(0, w)])
    const slots = [...new Set(all.flat())]
    slots.forEach((block, slot) => {
      line[block] = slot
    })
    for (let border = 100; border <= 3900; border += 50) {
      let crossing = 0
      for (let position = Math.max(0, border - 400); position < border; position++)
        if (line[order.at(0, position)] >= border) crossing++
      expect(crossing, `border ${border}`).toBeGreaterThan(5)
    }
  })
})

test('golden values, the same in every version', () => {
  const order = new WindowOrder({ ...equalShards(1000, 10), window: 1024, seed: 7, stream: 'golden' })
  expect([0, 1, 2, 5000, 9999].map(p => order.at(2, p))).toMatchInlineSnapshot(`
    [
      5320,
      8525,
      5182,
      3230,
      4725,
    ]
  `)
})
