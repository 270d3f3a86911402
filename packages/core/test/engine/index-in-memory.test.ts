/** A feed where neither the data's folder nor the cache folder can be written: makers share an index in memory. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { tarFile } from '../../../../test/support/tar.js'

const usual = process.env.MILLRACE_CACHE
afterEach(() => {
  process.env.MILLRACE_CACHE = usual
  if (usual === undefined) delete process.env.MILLRACE_CACHE
})

test('runs, with a notice', async ({ skip }) => {
  const home = temporaryFolder()
  const folder = join(home, 'data')
  mkdirSync(folder)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]).status === 0
  if (!mounted) skip('a file system can not be mounted here')
  try {
    const members = Array.from({ length: 20 }, (_, i) => ({ name: `${i}.cls`, data: String(i) }))
    writeFileSync(join(folder, 'a.tar'), tarFile(members))
    expect(spawnSync('mount', ['-o', 'remount,ro', folder]).status).toBe(0)
    process.env.MILLRACE_CACHE = join(folder, 'cache')
    const notices: string[] = []
    const labels = await using(
      {
        source: { tar: join(folder, 'a.tar') },
        order: 'none',
        fields: { label: { from: 'cls', as: 'int' } },
        batch: { size: 5, last: 'keep' },
      },
      { workers: 2, notice: text => notices.push(text) },
      async loader => {
        const found: number[] = []
        for await (const batch of loader) found.push(...Array.from(batch.label as Int32Array, Number))
        return found
      },
    )
    expect(labels).toEqual(Array.from({ length: 20 }, (_, i) => i))
    expect(notices).toEqual([
      expect.stringMatching(/the index of .*a\.tar is kept in memory.*\(EROFS\) nor .*\(EROFS\)/),
    ])
    expect(readdirSync(folder)).toEqual(['a.tar'])
  } finally {
    spawnSync('umount', [folder])
  }
})
