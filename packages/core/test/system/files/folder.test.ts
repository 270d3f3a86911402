/** Folders are made with those above them; where that can't be, it is said at once. */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { LONGEST_WAIT } from '../../../../../test/support/until.js'
import { makeFolder } from '../../../system/files/folder.js'

test('all that are missing are made, and those that are there stay', () => {
  const path = join(temporaryFolder(), 'a/b/c')
  makeFolder(path, 0o700)
  makeFolder(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  writeFileSync(join(path, 'file'), '')
  expect(() => makeFolder(join(path, 'file'))).toThrow(/EEXIST/)
  expect(() => makeFolder(join(path, 'file/d'))).toThrow(/ENOTDIR/)
})

test.skipIf(!existsSync('/proc/self'))('a place where none can be made is told, and ends nothing', () => {
  // In a process of its own: Node's own way spins there.
  const built = new URL('../../../../../build/core/system/files/folder.js', import.meta.url).href
  const program = `import { makeFolder } from ${JSON.stringify(built)}
try { makeFolder('/proc/millrace/cache') } catch ({ code }) { console.log(code) }`
  const words = ['--input-type=module', '-e', program]
  const options = { encoding: 'utf8', timeout: LONGEST_WAIT, killSignal: 'SIGKILL' } as const
  expect(spawnSync(process.execPath, words, options).stdout).toBe('ENOENT\n')
})
