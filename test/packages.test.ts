/**
 * Packages import downwards: what each may import are the dependencies in its package.json. No file imports itself in a
 * circle, and native code is reached from two folders alone.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const packages = join(import.meta.dirname, '../packages')

/** Imports that still go upwards, by package and what it imports. Their number may only fall. */
const UPWARD: Record<string, number> = {}

interface Import {
  from: string
  to: string
  /** It is started as a program of its own, which imports nothing. */
  starts: boolean
}

const packageOf = (file: string): string => file.split('/')[0]

/** Files of code. AssemblyScript, which `tsc` does not see, and tests are not among them. */
const files = readdirSync(packages, { recursive: true, encoding: 'utf8' }).filter(
  file => /\.tsx?$/.test(file) && !file.includes('/kernels/assembly/') && !/^\w+\/test\//.test(file),
)

/** What a file imports, also lazily, as types, and as a program that it starts. */
function importsOf(from: string): Import[] {
  const text = readFileSync(join(packages, from), 'utf8')
  return [...text.matchAll(/(from|import|new URL)\s*\(?\s*'(\.[^']+)'/g)].flatMap(([, how, path]) => {
    const to = resolve(packages, dirname(from), path.replace(/\.js$/, '.ts'))
    const name = relative(packages, existsSync(`${to}x`) ? `${to}x` : to)
    return name.startsWith('..') ? [] : [{ from, to: name, starts: how === 'new URL' }]
  })
}

const imports = files.flatMap(importsOf)

/** The packages that a package depends on. */
function allowed(name: string): string[] {
  const { dependencies = {} } = JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8'))
  return [name, ...Object.keys(dependencies).map(dependency => dependency.replace('@millrace/', ''))]
}

test('packages import what their package.json names', () => {
  const upward: Record<string, number> = {}
  const names = readdirSync(packages)
  for (const { from, to } of imports) {
    if (allowed(packageOf(from)).includes(packageOf(to))) continue
    const way = `${packageOf(from)} → ${packageOf(to)}`
    upward[way] = (upward[way] ?? 0) + 1
  }
  expect(names).toContain('core')
  const more = Object.entries(upward).filter(([way, count]) => count > (UPWARD[way] ?? 0))
  expect(more).toEqual([])
})

test('no package is below itself', () => {
  const graph = new Map(readdirSync(packages).map(name => [name, allowed(name).slice(1)]))
  expect(cycles(graph)).toEqual([])
})

test('no file imports itself in a circle, by types either', () => {
  const graph = new Map(files.map(file => [file, [] as string[]]))
  for (const { from, to, starts } of imports) if (!starts) graph.get(from)?.push(to)
  expect(cycles(graph)).toEqual([])
})

test('native code is reached from core/system/ and cuda/driver/ alone', () => {
  const native = files.filter(file =>
    /from 'koffi'|require\('koffi'\)|native\.js'/.test(readFileSync(join(packages, file), 'utf8')),
  )
  expect(native.filter(file => !/^(core\/system|cuda\/driver)\//.test(file))).toEqual([])
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
