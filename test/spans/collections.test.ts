/** Garbage collections of a thread: all are counted, and where there are many, only some are watched. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { Collections } from '../../src/spans/collections.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

test('collections are told once, each time it is asked', () => {
  const collections = new Collections()
  gc()
  expect(collections.since(1000)).toBe(0) // of the time before it was first asked, nothing is known
  gc()
  expect(collections.since(1000)).toBeGreaterThan(0)
  // Of a second, one collection is little: it is watched on.
  const none = collections.since(1000)
  gc()
  expect(collections.since(1000)).toBeGreaterThan(none)
})

test('where there are many, the rest of the time is taken to be like what was watched', () => {
  const collections = new Collections()
  collections.since(1000)
  for (let i = 0; i < 10; i++) gc()
  const seen = collections.since(100)
  expect(seen).toBeGreaterThan(0)
  // To watch 10 costs up to 10 ms, which is more than 0.2 % of a second: in the next one nothing is watched.
  gc()
  expect(collections.since(50)).toBeCloseTo(seen / 2)
  expect(collections.since(0)).toBe(0)
  expect(collections.since(950)).toBeCloseTo(seen * 9.5)
  // From now on it is watched again.
  gc()
  expect(collections.since(100_000)).not.toBeCloseTo(seen * 1000)
})
