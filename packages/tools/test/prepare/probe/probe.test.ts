/** `millrace probe` as users run it, and what it finds. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LONGEST_WAIT, until } from '../../../../../test/support/until.js'
import { sweepBenchSets } from '../../../prepare/probe/bench-set.js'
import { findFiles } from '../../../prepare/probe/find.js'
import type { Measured } from '../../../prepare/probe/probe.js'
import { millrace, start, temporary } from '../helpers.js'

let folder: string
beforeAll(() => {
  folder = temporary()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function made(name: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  return path
}

test('what can not be measured is said', () => {
  expect(() => findFiles(join(folder, 'nothing'), 100)).toThrow('there is no such file or folder')
  expect(() => findFiles('/dev/null', 100)).toThrow('/dev/null is a device: give a file or a folder')
})

test('a folder of many files is a folder', () => {
  const many = made('many')
  for (let i = 0; i < 5001; i++) writeFileSync(join(many, String(i)), 'x')
  const found = findFiles(many, LONGEST_WAIT)
  expect(found).toMatchObject({ folder: true, more: true })
  expect(found.files.length).toBe(5000)
})

test('what probes left is no data, and is taken away when its process is gone', () => {
  const data = made('left')
  const names = ['.millrace-probe-4194305-abc', `.millrace-probe-${process.pid}-abc`]
  for (const name of names) {
    mkdirSync(join(data, name))
    writeFileSync(join(data, name, 'small-0'), 'x')
  }
  expect(findFiles(data, LONGEST_WAIT)).toMatchObject({ files: [], folder: true })
  sweepBenchSets(data)
  expect(readdirSync(data)).toEqual([names[1]])
})

test('a table, advice and JSON; what --write writes is taken away', async () => {
  const data = made('data')
  mkdirSync(join(data, 'empty'))
  for (let i = 0; i < 8; i++) writeFileSync(join(data, `${i}.txt`), 'x'.repeat(1000))
  // Each file is read once, then again for a moment: it does not take so long.
  const { code, stdout } = await millrace('probe', data, '--seconds', '60', '--json')
  expect(code).toBe(0)
  const [found] = JSON.parse(stdout).paths
  expect(found).toMatchObject({ path: data, files: 8, bytes: 8000, medianBytes: 1000, more: false })
  const by = (what: string) => found.measures.find((measure: Measured) => measure.what === what)
  expect(by('small files').warm?.ops ?? 8).toBeGreaterThanOrEqual(8)
  expect(by('sequential')).toMatchObject({
    cold: null,
    warm: null,
    advice: expect.stringContaining('no file of 4096 KiB or more'),
  })
  expect(by('stat').unknown.ops).toBe(8)

  const nothing = await millrace('probe', join(data, 'empty'))
  expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('has no files to measure with') })
  const written = await millrace('probe', join(data, 'empty'), '--write', '--seconds', '0.1')
  expect(written.code).toBe(0)
  expect(written.stdout).toMatch(/sequential +\S+ MB\/s/)
  expect(readdirSync(join(data, 'empty'))).toEqual([])
  expect(await millrace('probe', join(data, 'missing'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no such file or folder'),
  })
})

test('too little data for all threads gives no figure', async () => {
  const data = made('one')
  writeFileSync(join(data, 'one'), new Uint8Array(1 << 20))
  const { stdout } = await millrace('probe', data, '--seconds', '1', '--json')
  const measures: (Measured & { advice: string })[] = JSON.parse(stdout).paths[0].measures
  const most = measures.find(({ inFlight }) => inFlight === 32)
  expect(most).toMatchObject({ cold: null, warm: null, unknown: null })
  expect(most?.advice).toContain('or too few of them')
})

test.runIf(process.platform === 'linux').each(['SIGHUP', 'SIGKILL'] as const)(
  'a probe that gets %s leaves no large file',
  async signal => {
    const data = made(signal)
    const { child, ended } = start(['probe', data, '--write', '--seconds', '600'])
    const left = () => readdirSync(data).flatMap(name => readdirSync(join(data, name)))
    await until(() => left().includes('small-255'))
    child.kill(signal)
    const { code } = await ended
    expect(left()).not.toContain('large')
    if (signal === 'SIGHUP') expect({ code, left: readdirSync(data) }).toEqual({ code: 143, left: [] })
    // The next one takes the rest away.
    sweepBenchSets(data)
    expect(readdirSync(data)).toEqual([])
  },
)
