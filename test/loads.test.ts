/** How many files a thread opens before it can work, and what is in them: each file takes about half a millisecond. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const dist = join(import.meta.dirname, '../dist')
const packages = join(import.meta.dirname, '../packages')

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

/** The modules of packages/ whose code is in a file of dist/. */
function modulesIn(file: string): string[] {
  const { sources }: { sources: string[] } = JSON.parse(readFileSync(join(dist, `${file}.map`), 'utf8'))
  return sources.map(path => relative(packages, resolve(dist, dirname(file), path)))
}

const loaded = (entry: string): string[] => loads(entry).filter(hasMap).flatMap(modulesIn)
const hasMap = (file: string): boolean => existsSync(join(dist, `${file}.map`))

test('the package and a worker thread are a few files, which they share', () => {
  expect(loads('index.js').sort()).toEqual([
    'chunks/engine.js',
    'chunks/place.js',
    'chunks/shared.js',
    'index.js',
  ])
  expect(loads('core/engine/make/maker.js').sort()).toEqual([
    'chunks/maker.js',
    'chunks/place.js',
    'chunks/shared.js',
    'core/engine/make/maker.js',
  ])
})

test('what only opens sources is loaded when one is opened', () => {
  for (const entry of ['index.js', 'core/engine/make/maker.js'])
    expect(
      loaded(entry).filter(file =>
        /^(core\/source\/find\/walk|(core\/source|formats)\/.*\/open\b.*|formats\/tar\/scan)\.ts$/.test(file),
      ),
    ).toEqual([])
})

test('a program with workers loads nothing that makes rows', () => {
  expect(loaded('index.js')).not.toContain('core/engine/make/row-maker.ts')
  expect(loaded('core/engine/make/maker.js')).toContain('core/engine/make/row-maker.ts')
})

test('a feed without tokens loads nothing of llm but its descriptors', () => {
  for (const entry of ['index.js', 'core/engine/make/maker.js'])
    expect(loaded(entry).filter(file => /^llm\/(?!\w+\/format\.ts$)/.test(file))).toEqual([])
})

test('each module is in one file: its classes and registries are there once', () => {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  const modules = files.filter(file => file.endsWith('.js') && hasMap(file)).flatMap(modulesIn)
  expect(modules.length).toBeGreaterThan(500)
  expect(modules.filter((module, i) => modules.indexOf(module) !== i)).toEqual([])
  expect(modules.filter(module => !/place$/.test(module) && !existsSync(join(packages, module)))).toEqual([])
})

test('a program that is started is in its own file: no other thread that loads a chunk runs it', () => {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  const entries = files.filter(file => file.endsWith('.js') && !file.startsWith('chunks/'))
  expect(entries.length).toBeGreaterThan(10)
  const others = entries.filter(
    file =>
      hasMap(file) &&
      !modulesIn(file).includes(file.replace(/js$/, 'ts')) &&
      !/^(index|plugin|observe|order\/index|cli\/main)\.js$/.test(file),
  )
  expect(others).toEqual([])
})
