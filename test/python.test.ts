/** The Python client's own tests, where Python, numpy and pytest are there: a few pytests run them all, and each of their files is a test here. */
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'

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

/**
 * What one pytest runs together: the tests of streams, whose engines and trainers die; garbage collections, which are measured, and
 * are long in a process that has loaded much; and all others.
 */
const GROUPS = [
  { of: /^stream\/test_consumer\.py$/, args: ['tests/stream/test_consumer.py'] },
  { of: /^stream\//, args: ['tests/stream', '--ignore=tests/stream/test_consumer.py'] },
  { of: /./, args: ['tests', '--ignore=tests/stream'] },
]

interface Ended {
  status: number | null
  output: string
}

function pytest(...which: string[]): Promise<Ended> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' }
  const args = ['-m', 'pytest', '-p', 'no:cacheprovider', '-rfEs', ...which]
  const child = spawn('python3', args, { cwd: folder, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (output += text))
  return new Promise(resolve => child.on('close', status => resolve({ status, output })))
}

describe.skipIf(!there).each(GROUPS)('Python: pytest $args', group => {
  let ended: Ended
  beforeAll(async () => {
    ended = await pytest(...group.args)
  })

  test.each(files.filter(file => GROUPS.find(({ of }) => of.test(file)) === group))('%s', file => {
    const { output } = ended
    const bad = output
      .split('\n')
      .filter(line => /^(FAILED|ERROR) /.test(line) && line.includes(`tests/${file}`))
    expect(bad, output).toEqual([])
    expect(output, 'the file was not run').toContain(`tests/${file}`)
  })

  test('pytest ran to its end', () => {
    expect(ended.status, ended.output).toBe(0)
  })
})
