import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { turboHeader } from '../../../../test/support/turbojpeg-header.js'
import { DEMO_CLASSES, makeDemo } from '../../prepare/demo/make-demo.js'

const folder = mkdtempSync(join(tmpdir(), 'millrace-demo-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const pictures = (root: string) =>
  DEMO_CLASSES.flatMap(name =>
    readdirSync(join(root, name))
      .sort()
      .map(file => join(root, name, file)),
  )
const hash = (root: string) =>
  pictures(root).map(file => createHash('sha256').update(readFileSync(file)).digest('hex'))

it('makes JPEGs of the promised sizes, the same every time, and not twice', async () => {
  const a = join(folder, 'a')
  const b = join(folder, 'b')
  expect((await makeDemo(a, { count: 40, workers: 0 })).reused).toBe(false)
  expect((await makeDemo(a, { count: 40, workers: 0 })).reused).toBe(true)
  await makeDemo(b, { count: 40, workers: 0 })
  expect(pictures(a)).toHaveLength(40)
  expect(hash(a)).toEqual(hash(b))
  expect(new Set(hash(a)).size).toBe(40)
  for (const file of pictures(a)) {
    const { width, height } = turboHeader(readFileSync(file))
    expect(Math.min(width, height)).toBeGreaterThanOrEqual(224)
    expect(Math.max(width, height)).toBeLessThanOrEqual(256)
    expect(statSync(file).size).toBeGreaterThan(15_000)
    expect(statSync(file).size).toBeLessThan(45_000)
  }
})

it('one that was stopped in the middle is not taken for the one before it', async () => {
  const c = join(folder, 'c')
  await makeDemo(c, { count: 30, workers: 0 })
  const stop = () => {
    throw new Error('stopped')
  }
  await expect(makeDemo(c, { count: 60, workers: 0, onProgress: stop })).rejects.toThrow('stopped')
  expect((await makeDemo(c, { count: 30, workers: 0 })).reused).toBe(false)
  expect(pictures(c)).toHaveLength(30)
})
