/** Orders as plain data: the same in every thread, for one source and for blends. */
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import type { NormalOrder } from '../../define/types.js'
import { compileOrder, type OrderData, planOrder, unitsDigest, withChanges } from '../../order/compile.js'
import type { OrderSource } from '../../order/single.js'
import type { WindowOrder } from '../../order/window.js'

const labels = ['cat', 'dog', 'owl']

function source(count: number, shard = 100): OrderSource {
  return {
    count,
    runs: Float64Array.from({ length: Math.ceil(count / shard) }, (_, i) => i * shard),
    index(name) {
      if (name === 'cls') return { at: row => labels[row % 7 < 5 ? 0 : (row % 7) - 4] }
      if (name === 'weight') return { at: row => row % 3 }
      if (name === 'text') return { at: row => `${row % 2}.5` }
      return undefined
    },
  }
}

/** What another thread receives. */
function posted(data: OrderData): OrderData {
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(data)
  const received = receiveMessageOnPort(port2)!.message as OrderData
  port1.close()
  return received
}

function rows(data: OrderData, epoch: number, count?: number): string[] {
  const order = compileOrder(data)
  return Array.from({ length: count ?? order.length }, (_, p) => {
    const { source, row } = order.draw(epoch, p, { source: -1, row: -1, drawn: -1, epoch: -1 })
    return `${source}:${row}`
  })
}

const orders: NormalOrder[] = [
  { kind: 'none' },
  { kind: 'global', seed: 3 },
  { kind: 'window', window: 128, seed: 3 },
  { kind: 'weights', weights: { column: 'weight' }, seed: 3 },
  { kind: 'weights', weights: { balance: 'cls' }, samples: 50, seed: 3 },
]

describe.each(orders)('$kind', order => {
  test('is the same in every thread, for one source and for a blend', () => {
    const single = planOrder(order, [source(700)])
    const blend = planOrder(order, [source(700), source(50)], {
      entries: [{ weight: 3 }, { weight: 1, name: 'small' }],
      changes: [{ at: 40, weights: [1, 1] }],
    })
    for (const data of [single, blend]) expect(rows(posted(data), 1)).toEqual(rows(data, 1))
  })

  test('of a source in a blend is its own order by that name', () => {
    if (order.kind === 'weights') return
    const data = planOrder(order, [source(300), source(50)], {
      entries: [{ weight: 3 }, { weight: 1, name: 'small' }],
    })
    const drawn = rows(data, 0).filter(draw => draw.startsWith('1:'))
    const own = compileOrder(data).sources[1]
    expect(drawn).toEqual(drawn.map((_, k) => `1:${own.at(Math.floor(k / 50), k % 50)}`))
    expect(new Set(drawn.slice(0, 50)).size).toBe(50)
  })
})

test('none, global and window deliver every row once', () => {
  for (const order of orders.slice(0, 3))
    expect(new Set(rows(planOrder(order, [source(700)]), 2)).size).toBe(700)
  expect(rows(planOrder({ kind: 'none' }, [source(3)]), 9)).toEqual(['0:0', '0:1', '0:2'])
})

test('sources of a blend have different orders, even when they are alike', () => {
  const data = planOrder({ kind: 'global', seed: 1 }, [source(600), source(600)], {
    entries: [{ weight: 1 }, { weight: 1 }],
  })
  const { sources } = compileOrder(data)
  const first = sources.map(own => Array.from({ length: 20 }, (_, p) => own.at(0, p)).join())
  expect(first[0]).not.toBe(first[1])
})

describe('weights', () => {
  const weights = (
    weights: number[] | { column: string } | { balance: string },
    count = 60,
    samples?: number,
  ) => planOrder({ kind: 'weights', weights, samples, seed: 1 }, [source(count)])

  test('come from a list, from a column of numbers or texts, or from class balance', () => {
    expect(new Set(rows(weights([0, 1, 0], 3, 100), 0))).toEqual(new Set(['0:1']))
    for (const draw of rows(weights({ column: 'weight' }), 0)) expect(Number(draw.slice(2)) % 3).not.toBe(0)
    expect(rows(weights({ column: 'text' }), 0)).toHaveLength(60)
    const drawn = rows(weights({ balance: 'cls' }, 700, 30_000), 0)
    const dogs = drawn.filter(draw => Number(draw.slice(2)) % 7 === 5).length
    expect(Math.abs(dogs - 10_000)).toBeLessThan(5 * Math.sqrt((30_000 * 2) / 9))
  })

  test('errors name the row, the column or the two lengths', () => {
    expect(() => weights([1, 2], 3)).toThrow(/2 weights for a source of 3 rows/)
    expect(() => weights({ column: 'cls' })).toThrow(/weight of row 0 is NaN/)
    expect(() => weights({ column: 'size' })).toThrow(/order\.weights\.column: .*no column "size"/)
    expect(() => weights({ balance: 'size' })).toThrow(/order\.weights\.balance/)
  })
})

test('changes of weights replace those planned', () => {
  const data = planOrder({ kind: 'none' }, [source(60), source(60)], {
    entries: [{ weight: 1 }, { weight: 0 }],
  })
  const changed = withChanges(data, [{ at: 10, weights: [0, 1] }])
  expect(rows(changed, 0, 12)).toEqual([...rows(data, 0, 10), '1:0', '1:1'])
  expect(rows(withChanges(changed, []), 0)).toEqual(rows(data, 0))
  const single = planOrder({ kind: 'none' }, [source(5)])
  expect(withChanges(single, [])).toBe(single)
  expect(() => withChanges(single, [{ at: 0, weights: [1] }])).toThrow(/only the weights of a blend/)
})

test('per batch needs to know the batch', () => {
  const blend = { entries: [{ weight: 1 }, { weight: 1 }], per: 'batch' as const }
  expect(() => planOrder({ kind: 'none' }, [source(5), source(5)], blend)).toThrow(/batch size/)
  expect(
    compileOrder(planOrder({ kind: 'none' }, [source(5), source(5)], { ...blend, group: 4 })).length,
  ).toBe(12)
})

describe('units of many rows', () => {
  const starts = (...rows: number[]) => Float64Array.from(rows)
  const units = (...rows: number[]): OrderSource => ({ ...source(700), unitStarts: starts(...rows) })
  const by40 = Array.from({ length: 21 }, (_, i) => Math.floor(i / 3) * 100 + (i % 3) * 40)
  const window: NormalOrder = { kind: 'window', window: 128, seed: 3 }

  test('each source of a blend has a window along its own units, the same in every thread', () => {
    const data = planOrder(window, [units(...by40), source(300)], {
      entries: [{ weight: 3 }, { weight: 1 }],
    })
    const [first, second] = compileOrder(posted(data)).sources as WindowOrder[]
    expect([...first.blocks]).toEqual([...by40, 700])
    expect(second.blocks.length).toBeGreaterThan(70)
    expect(rows(posted(data), 1)).toEqual(rows(data, 1))
  })

  test('their borders are part of the order only where it goes by them', () => {
    const digest = (order: NormalOrder, ...rows: number[]) => unitsDigest(planOrder(order, [units(...rows)]))
    expect(digest(window, ...by40)).toHaveLength(32)
    expect(digest(window, ...by40)).not.toBe(digest(window, 0, 100, 200, 300, 400, 500, 600))
    expect(digest({ kind: 'global', seed: 3 }, ...by40)).toBeUndefined()
    expect(unitsDigest(planOrder(window, [source(700)]))).toBeUndefined()
  })
})
