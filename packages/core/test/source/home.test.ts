/** `~` in the paths of a definition is the home folder, whatever folder the definition lies in. */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { tarFile } from '../../../../test/support/tar.js'
import { codeInSource } from '../../define/code.js'
import type { SourceJson } from '../../define/types.js'
import { attachSource, openSource } from '../../source/registry.js'

const before = { ...process.env }
let home: string
beforeEach(() => {
  home = temporaryFolder()
  process.env.HOME = home
  process.env.MILLRACE_CACHE = join(home, '.cache')
  writeFiles(home, {
    'data/cat/1.jpg': 'x',
    'data/dog/2.jpg': 'x',
    'a-0.tar': tarFile([{ name: 'k0.cls', data: '0' }]),
    'a-1.tar': tarFile([{ name: 'k1.cls', data: '1' }]),
  })
})
afterEach(() => {
  process.env = before
})

test.each<[SourceJson, number]>([
  [{ folder: '~/data' }, 2],
  [{ folder: { path: '~/data' } }, 2],
  [{ files: '~/data/**/*.jpg' }, 2],
  [{ files: ['~/data/cat/1.jpg'] }, 1],
  [{ tar: '~/a-{0..1}.tar' }, 2],
  [{ tar: ['~/a-*.tar'] }, 2],
])('%j', async (json, count) => {
  const manifest = await openSource(json, { root: temporaryFolder(), wanted: [] })
  expect(attachSource(manifest).count).toBe(count)
})

test('a kernel', () => {
  const json: SourceJson = {
    kernel: { file: '~/gen.cu', entry: 'draw', count: 1, fields: { x: { dtype: 'f32', shape: [] } } },
  }
  expect(codeInSource(json, '/elsewhere')[0].file).toBe(join(home, 'gen.cu'))
})
