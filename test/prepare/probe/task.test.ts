/** Measures on made files. A hole of a file is absent from the page cache until it is read. */
import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findFiles } from '../../../src/prepare/probe/find.js'
import { speedOf } from '../../../src/prepare/probe/speed.js'
import { type ProbeTask, runTask } from '../../../src/prepare/probe/task.js'
import { LONGEST_WAIT } from '../../support/until.js'
import { millrace, temporary } from '../helpers.js'

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
    ...more,
  },
})

function hole(name: string, bytes: number) {
  const path = join(folder, name)
  writeFileSync(path, '')
  truncateSync(path, bytes)
  return { path, bytes }
}

test('what is absent is cold, then read again warm; each place is read once', () => {
  const files = [hole('random', MIB)]
  const { cold, warm } = runTask(task({ files, part: [0.5, 1] }))
  expect([cold.ops, cold.bytes, warm.ops]).toEqual([128, MIB / 2, 64])
  // The first half was left to other measures.
  expect(runTask(task({ files, part: [0, 0.5] })).cold.ops).toBe(128)
})

test('threads share the places out', () => {
  const files = [hole('shared', MIB)]
  const ops = [0, 1, 2].map(thread => runTask(task({ files, thread, threads: 3 })).cold.ops)
  expect(ops.reduce((sum, n) => sum + n, 0)).toBe(256)
})

test('sequential reads of a part', () => {
  const files = [hole('sequential', 4 * MIB)]
  const { cold } = runTask(task({ what: 'sequential', files, bytes: MIB, part: [0.5, 1] }))
  expect([cold.ops, cold.bytes]).toEqual([2, 2 * MIB])
})

test('small files and metadata', () => {
  const path = join(folder, 'small')
  writeFileSync(path, 'there')
  const files = [hole('small-hole', 9000), { path, bytes: 5 }]
  const { cold, warm } = runTask(task({ what: 'small files', files }))
  expect([cold.ops, cold.bytes, warm.ops, warm.bytes]).toEqual([1, 9000, 1, 5])
  expect(runTask(task({ what: 'stat', files })).unknown.ops).toBe(2)
  const entries = readdirSync(folder).length
  expect(runTask(task({ what: 'list', files: [{ path: folder, bytes: 0 }] })).unknown.ops).toBe(entries)
})

test('files that have gone meanwhile are left out, those that have shrunk are read', () => {
  const gone = { path: join(folder, 'gone'), bytes: MIB }
  const shrunk = { ...hole('shrunk', 10), bytes: MIB }
  for (const what of ['sequential', 'random', 'small files', 'stat', 'list'] as const)
    expect(runTask(task({ what, files: [gone, gone] })).warm.ops).toBe(0)
  const files = [gone, hole('still-there', MIB), shrunk]
  expect(runTask(task({ what: 'random', files })).cold.ops).toBeGreaterThanOrEqual(256)
  expect(runTask(task({ what: 'sequential', files })).warm.ops).toBeGreaterThanOrEqual(256) // read before
  expect(runTask(task({ what: 'stat', files })).unknown.ops).toBe(2)
})

test('speeds: times of all threads are added up', () => {
  expect(speedOf({ ops: 8, bytes: 8000, ms: 4000 }, 4)).toEqual({
    ...{ opsPerSecond: 8, bytesPerSecond: 8000, ms: 500, ops: 8 },
  })
  expect(speedOf({ ops: 0, bytes: 0, ms: 0 }, 4)).toBeNull()
})

test('what can not be measured is said', () => {
  expect(() => findFiles(join(folder, 'nothing'), 100)).toThrow('there is no such file or folder')
  expect(() => findFiles('/dev/null', 100)).toThrow('/dev/null is a device: give a file or a folder')
})

test('millrace probe: a table, advice and JSON; what --write writes is taken away', async () => {
  const data = join(folder, 'data')
  mkdirSync(join(data, 'empty'), { recursive: true })
  for (let i = 0; i < 8; i++) writeFileSync(join(data, `${i}.txt`), 'x'.repeat(1000))
  // Each file is read once: it does not take so long.
  const { code, stdout } = await millrace('probe', data, '--seconds', '60', '--json')
  expect(code).toBe(0)
  const [found] = JSON.parse(stdout).paths
  expect(found).toMatchObject({ path: data, files: 8, bytes: 8000, medianBytes: 1000, more: false })
  const by = (what: string) => found.measures.find((measure: { what: string }) => measure.what === what)
  expect(by('small files').warm.ops).toBe(4)
  expect(by('sequential')).toMatchObject({ cold: null, warm: null, why: 'no file of 4 MiB or more' })
  expect(by('stat').unknown.ops).toBe(8)

  const nothing = await millrace('probe', join(data, 'empty'))
  expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('has no files to measure with') })
  const written = await millrace('probe', join(data, 'empty'), '--write', '--seconds', '0.1')
  expect(written.code).toBe(0)
  expect(written.stdout).toMatch(/sequential +\S+ MB\/s/)
  expect(readdirSync(join(data, 'empty'))).toEqual([])
  expect(await millrace('probe', join(data, 'missing'))).toMatchObject({
    ...{ code: 1, stderr: expect.stringContaining('no such file or folder') },
  })
})
