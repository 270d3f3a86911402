/** Finds the Zarr stores that a source names: folders, by paths, braces and wildcards, in any store. */
import { type Dirent, readdirSync } from 'node:fs'
import { SourceError } from '../../../core/basics/errors.js'
import { expandBraces } from '../../../core/source/find/braces.js'
import { patternsOf, shortNames } from '../../../core/source/find/data-files.js'
import { compileGlob, isGlob } from '../../../core/source/find/glob.js'
import {
  folderOf,
  prefixOf,
  resolveFolder,
  resolveName,
  withoutSlash,
} from '../../../core/source/find/names.js'
import { listOf } from '../../../core/store/access.js'
import { type Stores, schemeOf } from '../../../core/store/stores.js'
import { isMetadata } from '../meta/metadata.js'

export interface StorePath {
  /** Absolute path of a folder or an archive, or a name with a scheme. */
  root: string
  /** Name in ids and in the fingerprint. */
  name: string
}

export async function findStores(
  spec: string | string[],
  root: string,
  stores: Stores,
): Promise<StorePath[]> {
  const found: string[] = []
  for (const pattern of patternsOf(spec)) {
    for (const name of expanded(resolveName(root, pattern))) {
      if (isGlob(name)) found.push(...(await matches(withoutSlash(name), pattern, stores)))
      else found.push(resolveFolder(root, name))
    }
  }
  const names = shortNames(found, 'store')
  return found.map((root, i) => ({ root, name: names[i] }))
}

function expanded(name: string): string[] {
  try {
    return expandBraces(name)
  } catch (error) {
    throw new SourceError(`zarr: ${(error as Error).message}`, { cause: error })
  }
}

/** The folders and archives that match, sorted by name. */
async function matches(path: string, pattern: string, stores: Stores): Promise<string[]> {
  const { base, test, depth } = compileGlob(path)
  const found =
    schemeOf(path) === undefined
      ? localMatches(base, pattern, test, depth)
      : await farMatches(base, test, stores)
  if (found.length === 0)
    throw new SourceError(`no Zarr store matches "${pattern}" in ${base}`, { file: base })
  return found.sort((a, b) => (a < b ? -1 : 1))
}

function localMatches(
  base: string,
  pattern: string,
  test: (path: string) => boolean,
  depth: number,
): string[] {
  const found: string[] = []
  const walk = (folder: string, prefix: string, below: number): void => {
    let entries: Dirent[]
    try {
      entries = readdirSync(folder, { withFileTypes: true })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new SourceError(`can't list ${folder} for the pattern "${pattern}": ${code}`, {
        file: folder,
        cause: error,
      })
    }
    const isStore = prefix !== '' && entries.some(({ name }) => isMetadata(name))
    if (isStore && test(prefix.slice(0, -1))) found.push(folder)
    if (isStore) return // its own groups are no stores
    for (const entry of entries) {
      const path = `${prefixOf(folder)}${entry.name}`
      if (entry.isFile()) {
        if (entry.name.endsWith('.zip') && test(prefix + entry.name)) found.push(path)
      } else if (below <= depth) walkLinked(entry, path, `${prefix}${entry.name}/`, below + 1)
    }
  }
  const walkLinked = (entry: Dirent, path: string, prefix: string, below: number): void => {
    if (entry.isDirectory() || entry.isSymbolicLink()) walk(path, prefix, below)
  }
  walk(base, '', 0)
  return found
}

async function farMatches(base: string, test: (path: string) => boolean, stores: Stores): Promise<string[]> {
  const folder = prefixOf(base)
  const found = new Set<string>()
  for await (const { name } of listOf(stores, folder)) {
    const above = folderOf(name)
    if (isMetadata(name) && test(above.slice(folder.length))) found.add(above)
    if (name.endsWith('.zip') && test(name.slice(folder.length))) found.add(name)
  }
  return [...found]
}
