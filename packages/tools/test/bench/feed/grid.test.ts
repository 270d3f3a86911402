/** Which configurations are measured: from the default, one thing after the other, and nothing that can't help. */

import { expect, test } from 'vitest'
import { configurationOf, gridHash, inWords, optionsOf } from '../../../bench/grid/configuration.js'
import {
  type Asked,
  Grid,
  type Machine,
  type Seen,
  usualDepths,
  usualWorkers,
} from '../../../bench/grid/grid.js'
import { Stages } from '../../../bench/measure/stages.js'
import type { Length } from '../../../bench/measure/task.js'

const MACHINE: Machine = {
  cores: 16,
  autoWorkers: 15,
  depth: 4,
  mostDepth: 32,
  mostWorkers: 256,
  canBind: false,
}

type Truth = (workers: number, depth: number, cache: number | null, bound: boolean) => Partial<Seen> | null

/** Goes through a grid with known truth; gives the names in the order in which they were looked at. */
function walk(truth: Truth, asked: Asked = {}, machine: Partial<Machine> = {}): string[] {
  const grid = new Grid(asked, { ...MACHINE, ...machine })
  const names: string[] = []
  for (let next = grid.next(); next.length > 0; next = grid.next()) {
    for (const one of next) {
      names.push(one.name)
      const seen = truth(one.workers, one.depth, one.cache, one.affinity === 'auto')
      grid.note(one, seen && { samplesPerSecond: 100, lost: 0.5, blocked: 0, cache: null, ...seen })
    }
    expect(names.length).toBeLessThan(200)
  }
  expect(new Set(names).size).toBe(names.length)
  return names
}

test('values suit the machine', () => {
  expect(usualWorkers(MACHINE)).toEqual([1, 4, 8, 15, 16, 24])
  expect(usualWorkers({ ...MACHINE, cores: 2, autoWorkers: 1 })).toEqual([1, 2, 3])
  expect(usualWorkers({ ...MACHINE, cores: 1, autoWorkers: 1 })).toEqual([1, 2])
  expect(usualDepths(MACHINE)).toEqual([2, 4, 8])
})

test('begins with the baseline and the default; depth is varied at the best workers', () => {
  const names = walk(workers => ({ samplesPerSecond: workers <= 8 ? workers * 100 : 800 - workers }))
  expect(names.slice(0, 2)).toEqual(['w0-d1', 'w15-d4'])
  expect(names).toEqual(expect.arrayContaining(['w1-d4', 'w4-d4', 'w8-d4', 'w16-d4', 'w24-d4']))
  // 8 workers give 800, the default 785: less than a first look can tell, so the default stays.
  expect(names.slice(-2)).toEqual(['w15-d2', 'w15-d8'])
})

test('what is clearly better is taken up, and goes on as long as it helps', () => {
  const names = walk((workers, depth) => ({ samplesPerSecond: 100 * workers + 50 * depth * workers }))
  expect(names).toContain('w24-d8')
  expect(names).toContain('w24-d16')
  expect(names).not.toContain('w8-d8')
})

test('a trainer that loses nothing is only looked at with less', () => {
  const names = walk(() => ({ lost: 0.01 }))
  expect(names).not.toContain('w16-d4')
  expect(names).toContain('w15-d2')
  expect(names).not.toContain('w15-d8')
})

test('blocked workers are worth more of them than there are cores', () => {
  const names = walk(workers => ({ samplesPerSecond: workers * 10, blocked: 0.8 }))
  expect(names).toContain('w64-d4')
})

test('a feed that has a cache is measured with half and twice of it', () => {
  const names = walk(() => ({ cache: 256 * 2 ** 20 }))
  expect(names.filter(name => name.includes('-c'))).toEqual(['w15-d4-c128MiB', 'w15-d4-c512MiB'])
  expect(walk(() => ({})).some(name => name.includes('-c'))).toBe(false)
})

test('binding is tried where this Millrace can bind', () => {
  expect(walk(() => ({}), {}, { canBind: true })).toContain('w15-d4-bound')
  expect(walk(() => ({})).some(name => name.includes('bound'))).toBe(false)
})

test('binding that would change nothing is left out: as many workers as cores share all of them', () => {
  const two = { canBind: true, cores: 2, autoWorkers: 1 }
  const names = walk(workers => ({ samplesPerSecond: 100 * workers }), {}, two)
  expect(names).toContain('w3-d4')
  expect(names.some(name => name.includes('bound'))).toBe(false)
  // Unless it was asked for.
  expect(walk(() => ({}), { workers: [2], affinity: ['auto'] }, two)).toContain('w1-d4-bound')
})

test('lists that were given are taken as they are', () => {
  const names = walk(() => ({ lost: 0.01 }), { workers: [2, 32], depth: [4] })
  expect(names).toEqual(['w0-d1', 'w15-d4', 'w2-d4', 'w32-d4'])
})

test('what could not run is left alone', () => {
  const names = walk((_, depth) => (depth > 4 ? null : { samplesPerSecond: 100 }))
  expect(names).toContain('w15-d8')
  expect(names).not.toContain('w15-d16')
})

test('names, words and options', () => {
  const one = configurationOf({ workers: 4, depth: 8, affinity: 'auto', cache: 2 ** 28 })
  expect(one.name).toBe('w4-d8-bound-c256MiB')
  expect(inWords(one)).toBe('4 workers, depth 8, bound to cores, cache 256MiB')
  expect(optionsOf(one)).toBe('--workers 4 --depth 8 --affinity auto --cache 256MiB')
  const none = configurationOf({ workers: 0, depth: 8, affinity: 'auto', cache: null })
  expect(none.name).toBe('w0-d1')
  expect(gridHash([one, none])).toBe(gridHash([none, one]))
  expect(gridHash([one])).not.toBe(gridHash([none]))
})

test('a run leaves its warm-up out, and ends by time, steps or epochs', () => {
  /** Steps of so many ms: which step begins the steady state, and how many that has. */
  const run = (length: Partial<Length>, stepMs: number, epochSteps: number) => {
    const stages = new Stages({ seconds: 2, skipEpoch: false, ...length }, epochSteps)
    const found = { warm: 0, steady: 0 }
    for (let step = 1; !stages.over && step < 10_000; step++) {
      found[stages.steady ? 'steady' : 'warm']++
      stages.stepped(step * stepMs)
      if (!stages.over && step % epochSteps === 0) stages.epochEnded(step * stepMs)
    }
    expect(stages.over).toBe(true)
    return found
  }
  expect(run({}, 10, 1000)).toEqual({ warm: 71, steady: 200 }) // 0.7 s, and 2 s
  expect(run({}, 50, 1000)).toEqual({ warm: 15, steady: 100 }) // 2.5 times as long: 100 steps
  expect(run({}, 500, 1000).steady).toBe(10) // no longer than that
  expect(run({ steps: 40 }, 10, 1000)).toEqual({ warm: 12, steady: 40 })
  expect(run({ epochs: 3 }, 10, 20)).toEqual({ warm: 12, steady: 48 })
  expect(run({ epochs: 1 }, 10, 8)).toEqual({ warm: 2, steady: 6 })
  expect(run({ epochs: 3, skipEpoch: true }, 10, 20)).toEqual({ warm: 20, steady: 40 })
})
