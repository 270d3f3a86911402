/** How many files a thread opens before it can work: each takes about half a millisecond. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const dist = join(import.meta.dirname, '../dist')

/** The files of dist/ that an entry loads, without what it imports later. Fails where one is missing. */
function loads(entry: string): string[] {
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, path] of text.matchAll(/^(?:import|export)\b[^'"()]*?['"](\.[^'"]+)['"]/gm))
      visit(resolve(dirname(file), path))
  }
  visit(join(dist, entry))
  return [...seen].map(file => relative(dist, file))
}

test('a worker thread is one file, beside what it shares with modules of the user', () => {
  const files = loads('engine/make/maker.js')
  const others = files.filter(file => !/^(basics|system|engine\/make)\//.test(file))
  // These find files by their own place, or must be there once, with what they import.
  expect(others.sort()).toEqual([
    'codec/kernels/load.js',
    'define/build/call.js',
    'define/check/mistakes.js',
    'define/hash.js',
    'define/nested.js',
    'define/plugin-sources.js',
    'define/rules.js',
    'transform/kernels/load.js',
  ])
  expect(files.length).toBeLessThan(60)
})

test('what only opens sources is loaded when one is opened', () => {
  for (const entry of ['index.js', 'engine/make/maker.js']) {
    const opening = loads(entry).filter(file =>
      /^source\/(.*\/open\b.*|find\/walk|tar\/scan)\.js$/.test(file),
    )
    expect(opening).toEqual([])
  }
})

test('a program with workers loads nothing that makes rows', () => {
  expect(loads('index.js')).not.toContain('engine/make/row-maker.js')
})

test('lines of a worker thread can be shown as lines of src', () => {
  // What a thread loads at once is in this file; maker.js begins it.
  const map = JSON.parse(readFileSync(join(dist, 'engine/make/chunks/at-once.js.map'), 'utf8'))
  const sources: string[] = map.sources.map((path: string) => resolve(dist, 'engine/make/chunks', path))
  expect(sources).toContain(resolve(dist, '../src/engine/make/row-maker.ts'))
  expect(sources.filter(file => !existsSync(file))).toEqual([])
})
