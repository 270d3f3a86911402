import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Advice, advise } from '../../../system/files/advise.js'

it('gives hints to the kernel, and says where it can not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-advise-'))
  const path = join(folder, 'file')
  writeFileSync(path, Buffer.alloc(100_000))
  const fd = openSync(path, 'r')
  const supported = process.platform === 'linux'
  const advices: Advice[] = ['random', 'sequential']
  expect(advices.map(advice => advise(fd, advice))).toEqual(advices.map(() => supported))
  closeSync(fd)
  expect(advise(-1, 'random')).toBe(false)
  rmSync(folder, { recursive: true })
})
