/**
 * Which arrays of a store are columns, and what its parts are. Without wildcards a store is one part. A wildcard stands for
 * many: `data/<any>/obs/img` is the column `obs/img` in the parts that `*` matches.
 */
import { inFile, nearest, type SourceError } from '../../../core/basics/errors.js'
import { compileGlob, isGlob } from '../../../core/source/find/glob.js'
import { isInside } from '../meta/metadata.js'
import type { Hierarchy } from './hierarchy.js'

export type ArraysJson = string | string[] | Record<string, string>

/** A part of a store: the paths of its arrays, by column. */
export interface SelectedPart {
  /** What the wildcards match; empty where there are none. */
  name: string
  paths: Map<string, string>
}

/** The column of an array that lies at the top of its store, and has no name. */
const NAMELESS = 'data'

interface Selector {
  /** Undefined: the rest of the path behind the part is the column's name. */
  column?: string
  pattern: string
}

export async function selectParts(
  hierarchy: Hierarchy,
  arrays: ArraysJson | undefined,
  rows: 'axis' | 'groups',
): Promise<SelectedPart[]> {
  const selectors = arrays === undefined ? undefined : selectorsOf(arrays, hierarchy)
  const parts = new Map<string, SelectedPart>()
  const add = (part: string, column: string, path: string): void => {
    let selected = parts.get(part)
    if (selected === undefined) parts.set(part, (selected = { name: part, paths: new Map() }))
    const before = selected.paths.get(column)
    if (before !== undefined)
      throw problem(
        hierarchy,
        `arrays "${before}" and "${path}" are both the column "${column}": name them by an object`,
      )
    selected.paths.set(column, path)
  }
  if (selectors === undefined) await everything(hierarchy, rows, add)
  else for (const selector of selectors) await matching(hierarchy, selector, add)
  if (parts.size > 1 && parts.has(''))
    throw problem(
      hierarchy,
      'some of its arrays are named by a wildcard and some are not: all must be, or none',
    )
  return [...parts.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

type Add = (part: string, column: string, path: string) => void

/** All arrays: as columns, or, where groups are rows, those of each group at the top. */
async function everything(hierarchy: Hierarchy, rows: 'axis' | 'groups', add: Add): Promise<void> {
  const paths = await hierarchy.paths()
  if (paths.length === 0) throw problem(hierarchy, 'it holds no array')
  if (paths.includes('')) return add('', NAMELESS, '')
  if (rows === 'axis') {
    for (const path of paths) add('', path, path)
    return
  }
  const below = paths.filter(path => path.includes('/'))
  if (below.length === 0)
    throw problem(
      hierarchy,
      'it has no groups that could be rows: leave rows out, or name the arrays, as in {"x": "x/*"}',
    )
  for (const path of below) {
    const slash = path.indexOf('/')
    add(path.slice(0, slash), path.slice(slash + 1), path)
  }
}

async function matching(hierarchy: Hierarchy, { column, pattern }: Selector, add: Add): Promise<void> {
  const segments = pattern.split('/')
  if (!segments.some(isGlob)) {
    if ((await hierarchy.array(pattern)) === undefined) throw await noArray(hierarchy, pattern)
    return add('', column ?? (pattern === '' ? NAMELESS : pattern), pattern)
  }
  if (segments.includes('**'))
    throw problem(hierarchy, `"${pattern}": ** is not for arrays: write a * for each group`)
  const tests = segments.map(segment => (isGlob(segment) ? compileGlob(`/${segment}`).test : undefined))
  // The last wildcard that tells parts apart; one in the name of an array without a column of its own tells columns.
  const border = segments.findLastIndex(
    (segment, i) => isGlob(segment) && (column !== undefined || i < segments.length - 1),
  )
  let found = false
  for (const path of await hierarchy.paths()) {
    const names = path.split('/')
    if (names.length !== segments.length) continue
    if (!names.every((name, i) => tests[i]?.(name) ?? name === segments[i])) continue
    const part = names.filter((_, i) => i <= border && tests[i] !== undefined).join('/')
    add(part, column ?? names.slice(border + 1).join('/'), path)
    found = true
  }
  if (!found) throw await noArray(hierarchy, pattern)
}

function selectorsOf(arrays: ArraysJson, hierarchy: Hierarchy): Selector[] {
  const list: Selector[] =
    typeof arrays === 'string'
      ? [{ pattern: arrays }]
      : Array.isArray(arrays)
        ? arrays.map(pattern => ({ pattern }))
        : Object.entries(arrays).map(([column, pattern]) => ({ column, pattern }))
  return list.map(({ column, pattern }) => {
    const path = pattern.replace(/^\/|\/$/g, '')
    if (!isInside(path)) throw problem(hierarchy, `"${pattern}" is no path of an array in it`)
    return { column, pattern: path }
  })
}

async function noArray(hierarchy: Hierarchy, pattern: string): Promise<SourceError> {
  const all = await hierarchy.paths().catch(() => [])
  const near = nearest(pattern, all)
  const shown = all.slice(0, 8).map(path => `"${path}"`)
  const there = all.length === 0 ? '' : `; it has ${shown.join(', ')}${all.length > 8 ? ', …' : ''}`
  return problem(hierarchy, `it has no array "${pattern}"${near ? `: did you mean "${near}"?` : there}`)
}

function problem({ objects }: Hierarchy, what: string): SourceError {
  return inFile(objects.root, `: ${what}`)
}
