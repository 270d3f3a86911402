// Benchmarks are plain JavaScript that the type checker does not see, and CI does not run them. So that they still start after
// files have moved, the sources must have every module of `build/` and every name that a benchmark imports.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const repository = join(import.meta.dirname, '../../../..')
const scripts = readdirSync(join(repository, 'bench'), { recursive: true, encoding: 'utf8' })
const IMPORT = /import \{([^}]*)\} from '(?:\.\.\/)+(?:build|dist)\/([^']+)\.js'/g

const wanted = scripts
  .filter(name => name.endsWith('.mjs'))
  .flatMap(script => {
    const text = readFileSync(join(repository, 'bench', script), 'utf8')
    return [...text.matchAll(IMPORT)].map(([, names, module]) => ({ script, module, names: names! }))
  })

test('benchmarks import modules and names that exist', async () => {
  const missing: string[] = []
  for (const { script, module, names } of wanted) {
    const source = join(repository, `packages/${module === 'index' ? 'all/index' : module}.ts`)
    const exported: object = existsSync(source) ? await import(source) : {}
    for (const name of names.split(',').map(name => name.trim().split(' as ')[0]!))
      if (name !== '' && !(name in exported))
        missing.push(`bench/${script}: ${name} of packages/${module}.ts`)
  }
  expect(wanted.length).toBeGreaterThan(10)
  expect(missing).toEqual([])
})
