import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { mapFile } from '../../src/system/mmap.js'
import { temporaryFolder } from '../support/folder.js'

const folder = temporaryFolder()

it('shows a file, and keeps showing it after another took its name', () => {
  const path = join(folder, 'a')
  writeFileSync(path, 'first')
  const first = mapFile(path)
  writeFileSync(join(folder, 'b'), 'second')
  renameSync(join(folder, 'b'), path)
  expect(Buffer.from(first).toString()).toBe('first')
  expect(Buffer.from(mapFile(path)).toString()).toBe('second')
})

it('shows an empty file as nothing, and names a missing one', () => {
  writeFileSync(join(folder, 'empty'), '')
  expect(mapFile(join(folder, 'empty')).byteLength).toBe(0)
  expect(() => mapFile(join(folder, 'missing'))).toThrow(/missing/)
})
