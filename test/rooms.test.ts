/**
 * The rooms of the house. The table below says which room imports which, no more and no less; docs/inside.md shows
 * the same table. Native code is reached from one room alone, and no folder is too long to be read.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const src = join(import.meta.dirname, '../src')

/** What each room imports, types included. A room stands below all rooms that import it. */
const ROOMS: Record<string, readonly string[]> = {
  basics: [],
  system: ['basics'],
  spans: ['basics', 'system'],
  define: ['basics'],
  order: ['basics', 'define'],
  store: ['basics', 'spans', 'system'],
  python: ['basics', 'system'],
  codec: ['basics', 'system'],
  tokenize: ['basics', 'system'],
  chat: ['basics', 'tokenize'],
  source: ['basics', 'chat', 'codec', 'define', 'python', 'spans', 'store', 'system', 'tokenize'],
  decode: ['basics', 'system'],
  transform: ['basics', 'codec', 'decode', 'define', 'spans', 'system', 'tokenize'],
  batch: ['basics', 'define'],
  engine: [
    'basics',
    'batch',
    'decode',
    'define',
    'order',
    'python',
    'source',
    'spans',
    'store',
    'system',
    'tokenize',
    'transform',
  ],
  device: ['basics', 'batch', 'define', 'engine', 'source', 'spans', 'system', 'transform'],
  observe: ['basics', 'decode', 'define', 'spans', 'system'],
  tune: ['basics', 'observe', 'spans', 'system'],
  deliver: [
    ...['basics', 'batch', 'define', 'device', 'engine', 'observe', 'order', 'python', 'source', 'spans'],
    ...['system', 'transform', 'tune'],
  ],
  diagnose: ['basics', 'define', 'deliver', 'engine', 'observe', 'order', 'source', 'spans', 'system'],
  bench: [...['basics', 'batch', 'define', 'deliver', 'diagnose', 'observe', 'spans', 'system']],
  dashboard: ['basics', 'batch', 'diagnose', 'engine', 'observe', 'spans', 'transform'],
  prepare: ['basics', 'codec', 'decode', 'define', 'source', 'spans', 'store', 'system', 'tokenize'],
  cli: [
    'basics',
    'bench',
    'codec',
    'dashboard',
    'define',
    'deliver',
    'diagnose',
    'engine',
    'observe',
    'order',
    'prepare',
    'source',
    'spans',
    'system',
    'tokenize',
  ],
}

interface Import {
  from: string
  to: string
}

function folders(folder: string): string[] {
  const below = readdirSync(folder, { withFileTypes: true }).filter(entry => entry.isDirectory())
  return [folder, ...below.flatMap(entry => folders(join(folder, entry.name)))]
}

/** The files of code in one folder. AssemblyScript, which `tsc` does not see, is not among them. */
function codeIn(folder: string): string[] {
  if (folder.includes('/kernels/assembly')) return []
  const files = readdirSync(folder).filter(
    name => /\.tsx?$/.test(name) && statSync(join(folder, name)).isFile(),
  )
  return files.map(name => relative(src, join(folder, name)))
}

const files = folders(src).flatMap(codeIn)

/** What a file imports, also lazily and as types. */
function importsOf(from: string): Import[] {
  const text = readFileSync(join(src, from), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) => {
    const to = resolve(src, dirname(from), path.replace(/\.js$/, '.ts'))
    return { from, to: relative(src, existsSync(`${to}x`) ? `${to}x` : to) }
  })
}

const imports = files.flatMap(importsOf)
const roomOf = (file: string) => file.split('/')[0]

describe('rooms', () => {
  test('every folder of src is a room of the table', () => {
    const rooms = folders(src).map(folder => relative(src, folder))
    expect(rooms.filter(name => name !== '' && !name.includes('/')).sort()).toEqual(Object.keys(ROOMS).sort())
  })

  test('each room imports what the table says, no more and no less', () => {
    const found: Record<string, string[]> = {}
    for (const room of Object.keys(ROOMS)) {
      const targets = imports.filter(({ from }) => roomOf(from) === room).map(({ to }) => roomOf(to))
      found[room] = [...new Set(targets)].filter(target => target !== room).sort()
    }
    const table = Object.entries(ROOMS).map(([room, below]) => [room, [...below].sort()])
    expect(found).toEqual(Object.fromEntries(table))
  })

  test('the table of docs/inside.md is this one', () => {
    const page = readFileSync(join(src, '../docs/inside.md'), 'utf8')
    const lines = /```text imports\n(.*?)\n```/s.exec(page)?.[1].split('\n').slice(1)
    const table = lines?.map(line => line.split(/\s+/)).map(([room, ...below]) => [room, below.join(' ')])
    expect(table).toEqual(
      Object.entries(ROOMS).map(([room, below]) => [room, [...below].sort().join(' ') || '–']),
    )
  })

  test('no room is below itself', () => {
    expect(cycles(new Map(Object.entries(ROOMS)))).toEqual([])
  })

  test('no file imports itself in a circle, by types either', () => {
    const graph = new Map(files.map(file => [file, [] as string[]]))
    for (const { from, to } of imports) graph.get(from)?.push(to)
    expect(cycles(graph)).toEqual([])
  })

  test('only src/system/ touches native code', () => {
    const native = files.filter(file => {
      return /from 'koffi'|require\('koffi'\)|native\.js'/.test(readFileSync(join(src, file), 'utf8'))
    })
    expect(native.filter(file => roomOf(file) !== 'system')).toEqual([])
  })
})

/** The circles in a graph: groups of nodes that can all be reached from each other (Tarjan). */
function cycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const number = new Map<string, number>()
  const lowest = new Map<string, number>()
  const path: string[] = []
  const found: string[][] = []
  const visit = (node: string): void => {
    number.set(node, number.size)
    lowest.set(node, number.get(node) as number)
    path.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!number.has(next)) visit(next)
      else if (!path.includes(next)) continue
      lowest.set(node, Math.min(lowest.get(node) as number, lowest.get(next) as number))
    }
    if (lowest.get(node) !== number.get(node)) return
    const group = path.splice(path.indexOf(node))
    if (group.length > 1 || graph.get(node)?.includes(node)) found.push(group.sort())
  }
  for (const node of graph.keys()) if (!number.has(node)) visit(node)
  return found
}
