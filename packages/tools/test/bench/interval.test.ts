// The interval that bench/pairs.mjs judges by: its ends stand where tables of Wilcoxon's test put them, it contains the truth
// as often as it says, and a few disturbed rounds don't move it.
import { expect, test } from 'vitest'
import { mix32 } from '../../../core/basics/random.js'

interface Compared {
  pairs: number
  ratio: number
  low: number
  high: number
  noise: number
}
interface Interval {
  compare(ratios: number[]): Compared
  halfWidth(of: Compared): number
  judged(wall: { noise: number }, cpu: { noise: number }): 'wall' | 'cpu'
}
const { compare, halfWidth, judged }: Interval = await import(
  new URL('../../../../bench/pairs/interval.mjs', import.meta.url).href
)

/** The same numbers every time, normally distributed around 0. */
function normal(seed: number): () => number {
  let drawn = 0
  const random = () => (mix32(seed + ++drawn * 0x9e3779b9) >>> 0) / 2 ** 32
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

test('the ends stand where the tables of the signed-rank test put them, or one rank further out', () => {
  // With the logarithms 1, 2, 4, 8, … no two averages are equal, so that ranks can be told from the ends.
  for (const [n, critical] of [
    [6, 0],
    [8, 3],
    [10, 8],
    [20, 52],
    [25, 89],
  ] as const) {
    const logs = Array.from({ length: n }, (_, i) => 2 ** i / 2 ** n)
    const averages = logs.flatMap((x, i) => logs.slice(i).map(y => (x + y) / 2)).sort((a, b) => a - b)
    const { low, high, pairs } = compare(logs.map(Math.exp))
    const rank = (end: number) => averages.findIndex(x => Math.abs(x - Math.log(end)) < 1e-12) + 1
    expect(pairs).toBe(n)
    expect([critical, critical + 1]).toContain(rank(low))
    expect(averages.length + 1 - rank(high)).toBe(rank(low))
  }
})

test('the interval contains the true ratio 95 times of 100', () => {
  const draw = normal(1)
  let inside = 0
  for (let run = 0; run < 1000; run++) {
    const { low, high } = compare(Array.from({ length: 20 }, () => 0.98 * Math.exp(0.04 * draw())))
    if (low <= 0.98 && 0.98 <= high) inside++
  }
  expect(inside).toBeGreaterThan(935)
  expect(inside).toBeLessThan(975)
})

test('rounds that a neighbour disturbed do not move the ratio', () => {
  const draw = normal(2)
  const ratios = Array.from({ length: 40 }, () => 0.98 * Math.exp(0.02 * draw()))
  const disturbed = ratios.map((ratio, i) => (i < 4 ? ratio * 3 : ratio))
  const { ratio, low } = compare(disturbed)
  expect(Math.abs(ratio - 0.98)).toBeLessThan(0.01)
  expect(low).toBeGreaterThan(0.965)
  expect(halfWidth(compare(ratios))).toBeLessThan(0.015)
})

test('fewer than six pairs have no interval', () => {
  expect(compare([1, 1.01, 0.99, 1, 1])).toMatchObject({ low: 0, high: Number.POSITIVE_INFINITY })
})

test('CPU time judges only where the wall clock is noisier than 3 %, and it is less noisy', () => {
  expect(judged({ noise: 0.029 }, { noise: 0.001 })).toBe('wall')
  expect(judged({ noise: 0.05 }, { noise: 0.02 })).toBe('cpu')
  expect(judged({ noise: 0.05 }, { noise: 0.08 })).toBe('wall')
})
