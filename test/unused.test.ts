/**
 * Finds code that nothing uses. Every export of packages/ is used by another file of it (packages/all/index.ts is one, with the public
 * API). What only its own file uses may be exported for a test, which then imports it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** Exports that no file of packages/ uses, and why they are there. */
const ELSEWHERE: Record<string, string> = {
  'packages/core/system/node/typescript-hook.ts': 'Node calls what a loader hook exports',
  'packages/pixels/operators/color-facts.ts': 'the kernels have them, generated from this file',
  'packages/pixels/operators/steps.ts OP_CODES': 'the kernels have them, generated from this file',
}

/** Files of code below a folder, by their path from the root, with their text. AssemblyScript has exports of another kind. */
function read(folder: string, ending: RegExp): Map<string, string> {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const files = names.map(name => join(folder, name)).filter(file => ending.test(file))
  const code = files.filter(file => !file.includes('/kernels/assembly/'))
  return new Map(code.map(file => [file, readFileSync(join(root, file), 'utf8')]))
}

const packages = read('packages', /\.tsx?$/)
const isTest = (file: string): boolean => /^packages\/\w+\/test\//.test(file)
const src = new Map([...packages].filter(([file]) => !isTest(file)))
const others = [
  ...[...packages].flatMap(([file, text]) => (isTest(file) ? [text] : [])),
  ...['test', 'bench', 'scripts'].flatMap(folder => [...read(folder, /\.(ts|mjs)$/).values()]),
]

/** The file that an import means. */
function target(from: string, path: string): string {
  const file = relative(root, resolve(root, dirname(from), path.replace(/\.js$/, '.ts')))
  return src.has(`${file}x`) ? `${file}x` : file
}

/** By file: the texts of the files of packages/ that import it, lazily, as types or in order to export it again. */
const importers = new Map<string, string[]>([...src.keys()].map(file => [file, []]))
for (const [from, text] of src) {
  for (const [, path] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    const to = target(from, path)
    importers.get(to)?.push(text)
  }
}
// What imports a file that exports all of another one imports that one, too.
for (const [from, text] of src) {
  for (const [, path] of text.matchAll(/^export \* from '(\.[^']+)'/gm)) {
    const to = target(from, path)
    importers.get(to)?.push(...(importers.get(from) ?? []))
  }
}

const EXPORT = /^export (?:abstract |async )?(function\*?|class|const|let|interface|type|enum) (\w+)/gm

function unused(file: string, text: string): string[] {
  const beside = others.filter(other => other.includes(basename(file).replace(/\.tsx?$/, '')))
  const found = [...text.matchAll(EXPORT)].filter(([, kind, name]) => {
    const named = new RegExp(`\\b${name}\\b`, 'g')
    if (importers.get(file)?.some(importer => importer.search(named) >= 0)) return false
    const usedHere = [...text.matchAll(named)].length > 1
    // A type is exported with the function whose arguments it describes.
    if (kind === 'interface' || kind === 'type') return !usedHere
    return !usedHere || !beside.some(other => other.search(named) >= 0)
  })
  return found.map(([, , name]) => `${file} ${name}`)
}

test('every export of src is used', () => {
  const found = [...src].flatMap(([file, text]) => unused(file, text))
  const reasons = Object.keys(ELSEWHERE)
  expect(found.filter(name => !reasons.some(reason => name.startsWith(reason)))).toEqual([])
  expect(reasons.filter(reason => !found.some(name => name.startsWith(reason)))).toEqual([])
})
