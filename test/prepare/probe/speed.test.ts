/** Speeds: bytes over the wall time in which all threads were at work. On made times. */
import { expect, test } from 'vitest'
import type { Place, Run } from '../../../src/prepare/probe/lane.js'
import { speedAt } from '../../../src/prepare/probe/speed.js'
import { partOf, STEPS } from '../../../src/prepare/probe/steps.js'

const run = (begin: number, end: number, more: Partial<Run> = {}): Run => {
  const bytes = 1000 * (more.ops ?? 1)
  return { place: 'cold' as Place, begin, end, ops: 1, bytes, ms: end - begin, ...more }
}

test('one thread: all of its time', () => {
  expect(speedAt('cold', [[run(0, 500), run(1500, 2000)]])).toEqual({
    ...{ opsPerSecond: 1, bytesPerSecond: 1000, ms: 500, ops: 2 },
  })
  expect(speedAt('warm', [[run(0, 500)]])).toBeNull()
  expect(speedAt('cold', [[]])).toBeNull()
})

test('threads that have a core in turn are not as fast as all of them at once', () => {
  // Each call takes 1 ms, and each thread makes one every 4 ms: 1000 calls a second, not 4000.
  const threads = [0, 1, 2, 3].map(t => Array.from({ length: 50 }, (_, n) => run(4 * n + t, 4 * n + t + 1)))
  expect(speedAt('cold', threads)?.opsPerSecond).toBeCloseTo(1000, -1)
})

test('only the time counts in which all threads were at work; what crosses an edge counts in part', () => {
  const late = [run(100, 120), run(120, 200)]
  const early = Array.from({ length: 15 }, (_, n) => run(10 * n, 10 * n + 10))
  // From 100 to 150: 5 of the early thread's, 1 and 30/80 of the other's.
  expect(speedAt('cold', [early, late])).toMatchObject({ opsPerSecond: (5 + 1 + 30 / 80) / 0.05, ops: 6 })
})

test('too little for all threads gives no figure', () => {
  expect(speedAt('cold', [[run(0, 10)], []])).toBeNull()
  expect(speedAt('cold', [[run(0, 10)], [run(10, 20)]])).toBeNull() // one after the other
  expect(speedAt('cold', [[run(0, 10)], [run(9, 20)]])).toBeNull() // hardly together
})

test('cold and warm operations share the time by how long they took', () => {
  const runs = [run(0, 900, { ops: 9 }), run(900, 1000, { place: 'warm', ops: 100 })]
  expect(speedAt('cold', [runs])?.opsPerSecond).toBeCloseTo(10)
  expect(speedAt('warm', [runs])?.opsPerSecond).toBeCloseTo(1000)
})

test('parts of large files follow each other, sequential reads last', () => {
  const parts = STEPS.filter(step => step.weight > 0).map(step => partOf(step))
  const [sequential, ...random] = parts
  expect(random[0][0]).toBe(0)
  expect(sequential[1]).toBe(1)
  for (const [i, [, to]] of random.entries()) expect(to).toBeCloseTo((random[i + 1] ?? sequential)[0])
})
