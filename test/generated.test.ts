/**
 * Constants of TypeScript, Python and CUDA are equal, since the latter are generated: what is committed is what the tables
 * of today give. What can't be generated (the kernels' signatures, structs) is compared with the tables.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KERNELS } from '../packages/cuda/device/facts.js'
import { generatedFiles } from '../scripts/generate/files.mjs'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const files = await generatedFiles(root, file => import(join(root, file)))

test.each(Object.keys(files))('%s is current', path => {
  const current = existsSync(join(root, path)) && read(path) === files[path]
  expect(current, `${path} is not current: run npm run build && npm run generate`).toBe(true)
})

test('every generated file says from which TypeScript file it comes', () => {
  for (const [path, text] of Object.entries(files)) {
    const said = text.match(/(?:<!--|#) generated: .*/g) ?? [text.split('#pragma')[0]]
    for (const line of said) {
      const sources = line.match(/packages\/[\w/-]+\.ts/g) ?? []
      expect(sources.length, `${path}: ${line}`).toBeGreaterThan(0)
      for (const source of sources) expect(existsSync(join(root, source)), source).toBe(true)
    }
  }
})

test('nothing in the generated folder is left over', () => {
  const folder = 'python/millrace/_generated'
  const there = readdirSync(join(root, folder)).filter(name => name.endsWith('.py') && name !== '__init__.py')
  expect(there.map(name => `${folder}/${name}`).sort()).toEqual(
    Object.keys(files)
      .filter(path => path.startsWith(folder))
      .sort(),
  )
})

test('comments of tables go along, and long texts are broken', () => {
  const words = files['python/millrace/_generated/control_words.py']
  expect(words).toContain('    #: Slots given back so far (wraps).\n    RELEASED = 1\n')
  expect(words).toContain('CLAIM_BITS = 40\n')
  for (const [path, text] of Object.entries(files))
    if (path.endsWith('.py'))
      for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(110)
})

test('Python has a class for every kind of error that a client can be told', () => {
  const tags = [
    ...read('packages/core/basics/errors.ts').matchAll(/readonly tag(?:: string)? = '(\w+)'/g),
  ].map(([, tag]) => tag)
  const [, table] = /_BY_TAG = \{\n([^}]*)\}/.exec(read('python/millrace/errors.py'))!
  const known = [...table.matchAll(/"(\w+)":/g)].map(([, tag]) => tag)
  // A DecodeError becomes a SampleError before anyone is told; the others are MillraceErrors there as here.
  const reported = tags.filter(tag => tag !== 'Decode' && tag !== 'Millrace')
  expect(known.sort()).toEqual(reported.sort())
})

describe('what kernels declare', () => {
  const cuda = 'packages/pixels/transform/kernels/cuda'

  /** The parameters' types of a kernel, as the table calls them. */
  function parametersOf(name: string): string[] {
    const text = read(`${cuda}/${name}.cu`)
    const [, declared] = new RegExp(`__global__ [^{]*?\\b${name}\\(([^)]*)\\)`).exec(text)!
    return declared.split(',').map(parameter => {
      if (parameter.includes('*')) return 'address'
      return parameter.includes('unsigned long long') ? 'u64' : parameter.replace(/^\s*int .*/, 'i32')
    })
  }

  test.each(Object.entries(KERNELS))('%s takes the arguments of the table', (name, facts) => {
    expect(parametersOf(name)).toEqual([...facts.arguments])
  })

  test('no kernel has a number of its own for what the table has', () => {
    const names = readdirSync(join(root, cuda)).filter(name => name !== 'facts.cuh')
    for (const name of names) expect(read(`${cuda}/${name}`), name).not.toMatch(/^enum |_WORDS = /m)
  })
})
