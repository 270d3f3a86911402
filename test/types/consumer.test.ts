/** The types as a user gets them: consumer.ts against the built package, by the oldest TypeScript that we name and by ours. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const packages = join(root, 'node_modules')

/** What a compiler says: nothing, where it is content. */
async function complaints(compiler: string): Promise<string> {
  const tsc = join(packages, compiler, 'bin/tsc')
  const run = promisify(execFile)(process.execPath, [tsc, '-p', import.meta.dirname])
  return run.then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => error.stdout || String(error),
  )
}

// The declarations of libraries are checked as well (skipLibCheck: false), ours among them.
test.each(['typescript-min', 'typescript'])(
  '%s compiles what it should, and nothing else',
  async compiler => {
    expect(await complaints(compiler)).toBe('')
  },
)

test('the guide names the oldest TypeScript', () => {
  const { version } = JSON.parse(readFileSync(join(packages, 'typescript-min/package.json'), 'utf8'))
  const guide = readFileSync(join(root, 'docs/start.md'), 'utf8')
  expect(guide).toContain(`TypeScript ${version.replace(/\.\d+$/, '')} or newer`)
})
