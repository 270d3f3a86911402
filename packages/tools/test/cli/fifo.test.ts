/** Named pipes in place of data, index and lock: nothing waits for a writer that never comes. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { tarFile } from '../../../../test/support/tar.js'
import { millrace, start } from '../prepare/helpers.js'

describe('a FIFO', () => {
  it.each([
    ['inspect', 'a.tar'],
    ['index', 'a.tar'],
    ['inspect', 'pictures'],
    ['index', 'pictures'],
    ['inspect', 'list.json'],
    ['verify', 'd/*.txt'],
  ])('is refused at once by `%s %s`', async (verb, path) => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'pictures/ant'), { recursive: true })
    mkdirSync(join(root, 'd'))
    for (const name of ['a.tar', 'pictures/ant/1.jpg', 'list.json', 'd/1.txt'])
      expect(spawnSync('mkfifo', [join(root, name)]).status).toBe(0)
    const { code, stderr } = await millrace(verb, join(root, path))
    expect(code).toBe(1)
    expect(stderr).toMatch(/named pipe|is no file/)
  })

  it('in place of a definition, a module or a state is refused at once', async () => {
    const root = temporaryFolder()
    const [json, module] = ['feed.json', 'feed.mjs'].map(name => join(root, name))
    for (const path of [json, module]) expect(spawnSync('mkfifo', [path]).status).toBe(0)
    const good = JSON.stringify({
      source: { synthetic: { count: 8, images: { width: 8, height: 8 } } },
      fields: { label: { from: 'cls', as: 'int' } },
      batch: 4,
    })
    for (const words of [[json], [module], [good, '--resume', json]]) {
      const { code, stderr } = await millrace('run', ...words)
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/is a named pipe \(FIFO\), not a regular file/),
      ])
    }
  })

  it('planted as an index in a shared folder is not waited for', async () => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'a.tar'), tarFile([{ name: 'a.cls', data: '1' }]))
    for (const name of ['.a.tar.millrace', '.a.tar.millrace.lock', 'a.idx', 'classes.json'])
      expect(spawnSync('mkfifo', [join(root, name)]).status).toBe(0)
    const env = { MILLRACE_CACHE: join(root, 'cache') }
    const { code, stdout } = await start(['inspect', join(root, 'a.tar'), '--json'], { env }).ended
    expect([code, JSON.parse(stdout).samples]).toEqual([0, 1])
  })
})
