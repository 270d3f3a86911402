/** Measures on made files. A hole of a file is absent from the page cache until it is read. */
import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Gate } from '../../../src/prepare/probe/gate.js'
import type { Place } from '../../../src/prepare/probe/lane.js'
import { runTask } from '../../../src/prepare/probe/task.js'
import type { ProbeTask } from '../../../src/prepare/probe/work.js'
import { LONGEST_WAIT } from '../../support/until.js'
import { temporary } from '../helpers.js'

let folder: string
beforeAll(() => {
  folder = temporary()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const MIB = 1 << 20
const task = (more: Partial<ProbeTask>): ProbeTask => ({
  ...{
    what: 'random',
    files: [],
    bytes: 4096,
    part: [0, 1],
    ms: LONGEST_WAIT,
    thread: 0,
    threads: 1,
    gate: new Gate().memory,
    ...more,
  },
})

/** What a thread did at each place; `again` is what it read a second time. */
function sumsOf(one: ProbeTask) {
  const { first, again } = runTask(one)
  const at = (place: Place) => {
    const runs = first.filter(run => run.place === place)
    const sum = (of: 'ops' | 'bytes') => runs.reduce((sum, run) => sum + run[of], 0)
    return { ops: sum('ops'), bytes: sum('bytes') }
  }
  return { cold: at('cold'), warm: at('warm'), unknown: at('unknown'), again }
}

function hole(name: string, bytes: number) {
  const path = join(folder, name)
  writeFileSync(path, '')
  truncateSync(path, bytes)
  return { path, bytes }
}

test('what is absent is cold; each place is read once, then again from memory', () => {
  const files = [hole('random', MIB)]
  const { cold, warm, again } = sumsOf(task({ files, part: [0.5, 1] }))
  expect([cold.ops, cold.bytes, warm.ops]).toEqual([128, MIB / 2, 0])
  expect(new Set(again.map(run => run.place))).toEqual(new Set(['warm']))
  expect(again.reduce((sum, run) => sum + run.ops, 0)).toBeGreaterThanOrEqual(4)
  // The first half was left to other measures.
  expect(sumsOf(task({ files, part: [0, 0.5] })).cold.ops).toBe(128)
})

test('threads take the next place from one list', () => {
  const files = [hole('shared', MIB)]
  const gate = new Gate()
  for (let i = 0; i < 100; i++) gate.next()
  expect(sumsOf(task({ files, gate: gate.memory })).cold.ops).toBe(1 + 256 - 101)
})

test('sequential reads of a part', () => {
  const files = [hole('sequential', 4 * MIB)]
  const { cold } = sumsOf(task({ what: 'sequential', files, bytes: MIB, part: [0.5, 1] }))
  expect([cold.ops, cold.bytes]).toEqual([2, 2 * MIB])
})

test('small files and metadata', () => {
  const path = join(folder, 'small')
  writeFileSync(path, 'there')
  const files = [hole('small-hole', 9000), { path, bytes: 5 }]
  const { cold, warm } = sumsOf(task({ what: 'small files', files }))
  expect([cold.ops, cold.bytes, warm.ops, warm.bytes]).toEqual([1, 9000, 1, 5])
  expect(sumsOf(task({ what: 'stat', files })).unknown.ops).toBe(2)
  const entries = readdirSync(folder).length
  expect(sumsOf(task({ what: 'list', files: [{ path: folder, bytes: 0 }] })).unknown.ops).toBe(entries)
})

test('files that have gone meanwhile are left out, those that have shrunk are read', () => {
  const gone = { path: join(folder, 'gone'), bytes: MIB }
  const shrunk = { ...hole('shrunk', 10), bytes: MIB }
  for (const what of ['sequential', 'random', 'small files', 'stat', 'list'] as const)
    expect(sumsOf(task({ what, files: [gone, gone] })).warm.ops).toBe(0)
  const files = [gone, hole('still-there', MIB), shrunk]
  expect(sumsOf(task({ what: 'random', files })).cold.ops).toBeGreaterThanOrEqual(256)
  expect(sumsOf(task({ what: 'sequential', files })).warm.ops).toBeGreaterThanOrEqual(256) // read before
  expect(sumsOf(task({ what: 'stat', files })).unknown.ops).toBe(2)
})
