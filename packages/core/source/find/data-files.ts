/**
 * Finds the data files that a source names: by paths, lists, brace patterns, globs and `::` joins, in any store. They stay in
 * the order of the definition; what a glob finds is sorted by name.
 */

import { type Dirent, readdirSync } from 'node:fs'
import { SourceError } from '../../basics/errors.js'
import { inParallel } from '../../basics/parallel.js'
import { ASKED_AT_ONCE, listOf, statOf } from '../../store/access.js'
import { codeOf, type Stat } from '../../store/store.js'
import { type Stores, schemeOf } from '../../store/stores.js'
import { expandBraces } from './braces.js'
import { compileGlob, isGlob } from './glob.js'
import { commonFolder, prefixOf, resolveName } from './names.js'

export interface DataFile extends Stat {
  /** Absolute path, or a name with a scheme. */
  file: string
  /** Name in ids and in the fingerprint: the basename where those differ, otherwise relative to the common folder. */
  name: string
}

/** A file that a definition names; what is known of it where it was listed. */
export interface NamedFile {
  file: string
  pattern: string
  stat?: Stat
}

/** How messages speak of the files: `{ source: 'tar', what: 'shard', folderHint: … }`. */
export interface FileWords {
  source: string
  what: string
  /** How names of the files mostly end, where that is not the source's name. */
  end?: string
  /** What to do if a folder was named. */
  folderHint?: string
}

/** The files of a source. */
export async function findDataFiles(
  spec: string | readonly string[],
  root: string,
  stores: Stores,
  words: FileWords,
): Promise<DataFile[]> {
  const named: NamedFile[] = []
  for (const pattern of patternsOf(spec))
    named.push(...(await expandPattern(pattern, resolveName(root, pattern), stores, words)))
  return describeFiles(named, stores, words)
}

/** The single patterns of a source. */
export function patternsOf(spec: string | readonly string[]): string[] {
  return (typeof spec === 'string' ? [spec] : [...spec]).flatMap(text => text.split('::'))
}

/** The folder, with its slash, in which all that a source names lies: patterns count up to their first wildcard. */
export function fixedFolder(spec: string | readonly string[], root: string): string {
  const names = patternsOf(spec).flatMap(pattern => expandBraces(resolveName(root, pattern)))
  return commonFolder(names.map(name => name.replace(/[*?[].*/s, '')))
}

/** All files of one pattern; `full` is its full name. */
export async function expandPattern(
  pattern: string,
  full: string,
  stores: Stores,
  { source }: FileWords,
): Promise<NamedFile[]> {
  let names: string[]
  try {
    names = expandBraces(full)
  } catch (error) {
    throw new SourceError(`${source}: ${(error as Error).message}`, { cause: error })
  }
  const found: NamedFile[] = []
  for (const file of names)
    found.push(...(isGlob(file) ? await glob(file, pattern, stores) : [{ file, pattern }]))
  return found
}

/** Sizes, versions, and short names. */
export async function describeFiles<Named extends NamedFile>(
  named: readonly Named[],
  stores: Stores,
  words: FileWords,
): Promise<(Named & DataFile)[]> {
  const { source, what } = words
  if (named.length === 0)
    throw new SourceError(`a ${source} source without a single ${what}: name at least one file`)
  const names = shortNames(
    named.map(({ file }) => file),
    what,
  )
  const stats = await inParallel(named, ASKED_AT_ONCE, one => one.stat ?? statNamed(one, stores, words))
  return named.map((one, i) => ({
    ...one,
    name: names[i],
    bytes: stats[i].bytes,
    version: stats[i].version,
  }))
}

export async function statNamed(
  { file, pattern }: NamedFile,
  stores: Stores,
  { source, what, end = source, folderHint }: FileWords,
): Promise<Stat> {
  try {
    return await statOf(stores, file)
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || (schemeOf(file) !== undefined && code !== 'ENOENT')) throw error
    if (code === 'EISDIR') {
      const here = schemeOf(file) !== undefined || readdirSync(file).some(name => name.endsWith(`.${end}`))
      const all = `${pattern.replace(/\/$/, '')}/${here ? '' : '**/'}*.${end}`
      const hint = folderHint ?? `name its ${what}s, as in "${all}"`
      throw new SourceError(`${file} is a folder: ${hint}`, { file })
    }
    const cause = (error as Error).cause ?? error
    if (code === 'ENOTREG')
      throw new SourceError(`${(cause as Error).message}: name the file itself`, { file })
    const from = file.endsWith(pattern) ? '' : ` (from the pattern "${pattern}")`
    const problem =
      code === 'ENOENT' ? `${what} ${file} is missing` : `can't look at ${what} ${file}: ${code}`
    throw new SourceError(`${problem}${from}: check the path, or correct the pattern`, { file, cause })
  }
}

/** What matches a pattern, sorted by name. */
async function glob(path: string, pattern: string, stores: Stores): Promise<NamedFile[]> {
  const { base, test, depth } = compileGlob(path)
  const found: NamedFile[] = []
  if (schemeOf(path) === undefined) {
    for (const file of localMatches(base, pattern, test, depth)) found.push({ file, pattern })
  } else {
    const folder = prefixOf(base)
    for await (const { name, bytes, version } of listOf(stores, folder)) {
      if (test(name.slice(folder.length))) found.push({ file: name, pattern, stat: { bytes, version } })
    }
  }
  if (found.length === 0) throw new SourceError(`no file matches "${pattern}" in ${base}`, { file: base })
  return found.sort((a, b) => (a.file < b.file ? -1 : 1))
}

function localMatches(
  base: string,
  pattern: string,
  test: (path: string) => boolean,
  depth: number,
): string[] {
  const files: string[] = []
  const walk = (folder: string, prefix: string, below: number): void => {
    let entries: Dirent[]
    try {
      entries = readdirSync(folder, { withFileTypes: true })
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      const problem =
        code === 'ENOENT'
          ? `there is no folder ${folder}, where the pattern "${pattern}" looks for files: check the path`
          : `can't list ${folder} for the pattern "${pattern}": ${code}`
      throw new SourceError(problem, { file: folder, cause: error })
    }
    for (const entry of entries) {
      if (entry.isDirectory()) {
        if (below < depth) walk(`${folder}/${entry.name}`, `${prefix}${entry.name}/`, below + 1)
      } else if (test(prefix + entry.name)) files.push(`${folder}/${entry.name}`)
    }
  }
  walk(base, '', 0)
  return files
}

/** Short names that tell the files apart. A file that is listed twice gets "#2" the second time. */
export function shortNames(files: readonly string[], what: string): string[] {
  const different = new Set(files)
  const bases = new Set([...different].map(file => file.slice(file.lastIndexOf('/') + 1)))
  const common = bases.size === different.size ? undefined : commonFolder([...different])
  if (common === '') {
    throw new SourceError(
      `${what}s of several stores have the same names, so their samples would have the same ids: make a source of each store, ` +
        'and join them by "concat"',
    )
  }
  const seen = new Map<string, number>()
  return files.map(file => {
    const times = (seen.get(file) ?? 0) + 1
    seen.set(file, times)
    const name = common === undefined ? file.slice(file.lastIndexOf('/') + 1) : file.slice(common.length)
    return times === 1 ? name : `${name}#${times}`
  })
}
