/** Measures on made files. A hole of a file is absent from the page cache until it is read. */
import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LONGEST_WAIT } from '../../../../../test/support/until.js'
import { measure, type ProbeTask } from '../../../prepare/probe/measures.js'
import { temporary } from '../helpers.js'

let folder: string
beforeAll(() => {
  folder = temporary()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const MIB = 1 << 20

function sums(more: Partial<ProbeTask>) {
  const base = { what: 'random' as const, files: [], bytes: 4096, inFlight: 1, part: 0, ms: LONGEST_WAIT }
  const [first, again] = measure({ ...base, shared: new SharedArrayBuffer(8), ...more })
  return { ...first.tallies, again: again?.tallies }
}

function hole(name: string, bytes: number) {
  const path = join(folder, name)
  writeFileSync(path, '')
  truncateSync(path, bytes)
  return { path, bytes }
}

test('what is absent is cold, and is read again from memory; each measure has its part', () => {
  const files = [hole('random', MIB)]
  const { cold, warm, again } = sums({ files, part: 1 })
  expect([cold.ops, cold.bytes, warm.ops]).toEqual([64, MIB / 4, 0])
  expect(again?.warm.ops).toBeGreaterThan(0)
  expect(again?.cold.ops).toBe(0)
  expect(sums({ files, part: 0 }).cold.ops).toBe(64)
})

test('sequential reads of a part', () => {
  const files = [hole('sequential', 8 * MIB)]
  const { cold } = sums({ what: 'sequential', files, bytes: MIB, part: 3 })
  expect([cold.ops, cold.bytes]).toEqual([2, 2 * MIB])
})

test('small files and metadata; those that have gone meanwhile are left out', () => {
  const path = join(folder, 'small')
  writeFileSync(path, 'there')
  const gone = { path: join(folder, 'gone'), bytes: MIB }
  const files = [gone, hole('small-hole', 9000), { path, bytes: 5 }]
  const { cold, warm } = sums({ what: 'small files', bytes: 0, files })
  expect([cold.ops, cold.bytes, warm.ops, warm.bytes]).toEqual([1, 9000, 1, 5])
  expect(sums({ what: 'stat', files }).unknown.ops).toBe(2)
  expect(sums({ files: [gone, hole('still-there', MIB)] }).cold.ops).toBe(64)
})
