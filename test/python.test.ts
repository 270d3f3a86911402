/** The Python client's own tests, where Python, numpy and pytest are there: one pytest runs them all, and each of their files is a test here. */
import { spawn, spawnSync } from 'node:child_process'
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

/** Garbage collections are measured here, and are long in a process that has loaded everything. */
const ALONE = ['stream/test_consumer.py']

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

describe.skipIf(!there)('Python', () => {
  let started: Promise<Ended> | undefined
  const together = () => (started ??= pytest('tests', ...ALONE.map(file => `--ignore=tests/${file}`)))

  test.each(files)('%s', async file => {
    const { output } = ALONE.includes(file) ? await pytest(`tests/${file}`) : await together()
    const bad = output
      .split('\n')
      .filter(line => /^(FAILED|ERROR) /.test(line) && line.includes(`tests/${file}`))
    expect(bad, output).toEqual([])
    expect(output, 'the file was not run').toContain(`tests/${file}`)
  })

  test('pytest ran to its end', async () => {
    const { status, output } = await together()
    expect(status, output).toBe(0)
  })
})
