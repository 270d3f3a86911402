/** The Python client's own tests, one here for each of their files, where Python, numpy and pytest are there. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../python', import.meta.url))
const { status: found, stderr: lacks } = spawnSync('python3', ['-c', 'import numpy, pytest'], {
  encoding: 'utf8',
})
const there = found === 0
if (!there) {
  const why = lacks?.trim().split('\n').at(-1) ?? 'there is no python3'
  console.warn(`The Python client's tests are skipped, they need python3 with numpy and pytest: ${why}`)
}
const names = readdirSync(`${folder}/tests`, { recursive: true, encoding: 'utf8' })
const files = names.filter(name => /(^|\/)test_[^/]*\.py$/.test(name)).sort()

describe.skipIf(!there)('Python', () => {
  test.each(files)('%s', file => {
    const { status, stdout, stderr } = spawnSync('python3', ['-m', 'pytest', '-q', '-rs', `tests/${file}`], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    })
    // 5: nothing was collected, since a package that all its tests need is not there.
    expect([0, 5], stdout + stderr).toContain(status)
  })
})
