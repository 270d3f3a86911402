/** The Python client's own tests, one here for each of their files, where Python, numpy and pytest are there. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../python', import.meta.url))
const there = spawnSync('python3', ['-c', 'import numpy, pytest']).status === 0
const files = readdirSync(`${folder}/tests`).filter(name => /^test_.*\.py$/.test(name))

describe.skipIf(!there)('Python', () => {
  test.each(files)('%s', { timeout: 300_000 }, file => {
    const { status, stdout, stderr } = spawnSync('python3', ['-m', 'pytest', '-q', '-rs', `tests/${file}`], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    })
    // 5: nothing was collected, since a package that all its tests need is not there.
    expect([0, 5], stdout + stderr).toContain(status)
  })
})
