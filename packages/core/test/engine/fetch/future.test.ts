/** When a unit is wanted next: against a look at every position. */
import { describe, expect, test } from 'vitest'
import type { NormalOrder } from '../../../define/types.js'
import { Future } from '../../../engine/fetch/future.js'
import { compileOrder, planOrder } from '../../../order/compile.js'
import type { Draw } from '../../../order/order.js'
import type { Source } from '../../../source/source.js'

const ROWS = 120
const TOGETHER = 10
const UNITS = Float64Array.from({ length: ROWS / TOGETHER }, (_, unit) => unit * TOGETHER)
const SOURCE = { count: ROWS, runs: Float64Array.of(0), unitStarts: UNITS } as unknown as Source

function futureOf(order: NormalOrder, sources = [SOURCE], blend?: Parameters<typeof planOrder>[2]) {
  const compiled = compileOrder(planOrder(order, sources, blend))
  return { order: compiled, future: new Future(compiled, sources) }
}

/** The first position from `from` on whose row is of the unit. */
function found(
  order: { draw(epoch: number, position: number, out: Draw): Draw },
  unit: number,
  from: number,
) {
  const draw = { source: 0, row: 0, drawn: 0, epoch: 0 }
  for (let at = from; ; at++) {
    order.draw(Math.floor(at / ROWS), at % ROWS, draw)
    if (Math.floor(draw.row / TOGETHER) === unit) return at
  }
}

describe.each<[string, NormalOrder]>([
  ['none', { kind: 'none' }],
  ['global', { kind: 'global', seed: 5 }],
])('order %s', (_, definition) => {
  test('the next use of a unit is that of the first of its rows', () => {
    const { order, future } = futureOf(definition)
    for (let now = 0; now < 2 * ROWS; now += 7) {
      future.see(order.draw(Math.floor(now / ROWS), now % ROWS, { source: 0, row: 0, drawn: 0, epoch: 0 }))
      for (let unit = 0; unit < UNITS.length; unit++) {
        const user = future.user({ source: 0, row: unit * TOGETHER + 3, drawn: 0, epoch: 0 }, 'unit')
        expect(future.next(user, now)).toBe(found(order, unit, now))
      }
    }
  })
})

test('windowed: no use comes before the one that is told, and none is told that has passed', () => {
  const { order, future } = futureOf({ kind: 'window', window: 40, seed: 5 })
  for (let now = 0; now < 2 * ROWS; now++) {
    future.see(order.draw(Math.floor(now / ROWS), now % ROWS, { source: 0, row: 0, drawn: 0, epoch: 0 }))
    for (let unit = 0; unit < UNITS.length; unit++) {
      const next = future.next(
        future.user({ source: 0, row: unit * TOGETHER, drawn: 0, epoch: 0 }, 'unit'),
        now,
      )
      // Negative: it is wanted from now on, up to there.
      expect(Math.abs(next)).toBeGreaterThanOrEqual(now + (next < 0 ? 1 : 0))
      if (next >= 0) expect(next).toBeLessThanOrEqual(found(order, unit, now))
    }
  }
})

test('an order that is not known before: what was used longest ago is wanted last', () => {
  const weights = Array.from({ length: ROWS }, () => 1)
  const { future } = futureOf({ kind: 'weights', weights, seed: 1 })
  const seen = [10, 20, 30].map(drawn => {
    future.see({ source: 0, row: 0, drawn, epoch: 0 })
    return future.next(drawn, drawn)
  })
  expect(seen[0]).toBeGreaterThan(seen[1])
  expect(seen[1]).toBeGreaterThan(seen[2])
  expect(seen[2]).toBeGreaterThan(2 ** 40)
})

test('a blend: a source that is drawn from more rarely is wanted later', () => {
  const entries = [
    { weight: 3, name: 'often' },
    { weight: 1, name: 'rarely' },
  ]
  const { future } = futureOf({ kind: 'none' }, [SOURCE, SOURCE], { entries })
  future.see({ source: 0, row: 30, drawn: 30, epoch: 0 })
  const now = future.see({ source: 1, row: 10, drawn: 10, epoch: 0 })
  expect(now).toBe(40)
  // Row 60 of each lies 30 and 50 draws of its own source ahead.
  expect(future.next(future.user({ source: 0, row: 60, drawn: 0, epoch: 0 }, 'unit'), now)).toBeCloseTo(
    40 + 30 * (40 / 30),
  )
  expect(future.next(future.user({ source: 1, row: 60, drawn: 0, epoch: 0 }, 'unit'), now)).toBeCloseTo(
    40 + 50 * (40 / 10),
  )
})
