/** The rooms of the house: imports go downwards only, and native code is reached from one room alone. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const src = join(import.meta.dirname, '../src')

/** What each room may import by itself; and, through those, whatever they may. */
const DIRECT: Record<string, readonly string[]> = {
  define: [],
  order: ['define'],
  system: [],
  store: ['system'],
  source: ['store', 'define'],
  decode: ['system'],
  transform: ['decode', 'define'],
  batch: ['define', 'system'],
  engine: ['define', 'order', 'store', 'source', 'decode', 'transform', 'batch', 'system'],
  deliver: ['engine', 'batch', 'system'],
  observe: ['define', 'system'],
  prepare: ['source', 'store', 'decode', 'define'],
  cli: ['deliver', 'observe', 'prepare', 'engine'],
}

/** Files outside the rooms that everybody may import: errors, and the writer of spans. */
const SHARED = ['errors.ts', 'system/spans.ts']

function below(room: string, seen = new Set<string>()): Set<string> {
  for (const next of DIRECT[room]) {
    if (seen.has(next)) continue
    seen.add(next)
    below(next, seen)
  }
  return seen
}

function files(folder: string): string[] {
  return readdirSync(folder).flatMap(name => {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) return name === 'assembly' ? [] : files(path)
    return path.endsWith('.ts') ? [path] : []
  })
}

/** Paths, from src/, that a file imports, also lazily and as types. */
function imports(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) =>
    relative(src, resolve(dirname(file), path.replace(/\.js$/, '.ts'))),
  )
}

describe('rooms', () => {
  test('every folder of src is a room with a place', () => {
    const folders = readdirSync(src).filter(name => statSync(join(src, name)).isDirectory())
    expect(folders.filter(name => !(name in DIRECT))).toEqual([])
  })

  test('no room is below itself', () => {
    expect(Object.keys(DIRECT).filter(room => below(room).has(room))).toEqual([])
  })

  test('imports go downwards', () => {
    const wrong: string[] = []
    for (const file of files(src)) {
      const from = relative(src, file)
      const room = from.split('/')[0]
      if (!(room in DIRECT)) continue // src/index.ts and the like may import everything
      const allowed = below(room)
      for (const path of imports(file)) {
        const target = path.split('/')[0]
        if (target === room || allowed.has(target) || SHARED.includes(path)) continue
        wrong.push(`${from} imports ${path}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('only src/system/ touches native code', () => {
    const wrong = files(src)
      .filter(file => /from 'koffi'|require\('koffi'\)|native\.js'/.test(readFileSync(file, 'utf8')))
      .map(file => relative(src, file))
      .filter(file => !file.startsWith('system/'))
    expect(wrong).toEqual([])
  })

  test('no file is longer than 400 lines', () => {
    const long = files(src).filter(file => readFileSync(file, 'utf8').split('\n').length > 401)
    expect(long.map(file => relative(src, file))).toEqual([])
  })
})
