import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Advice, advise } from '../../src/system/files/advise.js'

it('gives hints to the kernel, and says where it can not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-advise-'))
  const path = join(folder, 'file')
  writeFileSync(path, Buffer.alloc(100_000))
  const fd = openSync(path, 'r')
  const supported = process.platform === 'linux'
  const advices: Advice[] = ['normal', 'random', 'sequential', 'willneed', 'dontneed']
  expect(advices.map(advice => advise(fd, advice))).toEqual(advices.map(() => supported))
  expect(advise(fd, 'willneed', 4096, 10_000)).toBe(supported)
  closeSync(fd)
  expect(advise(-1, 'willneed')).toBe(false)
  rmSync(folder, { recursive: true })
})
