/**
 * Opens files as they are. The definition names them one by one, by braces or by globs ("**" for any depth). Rows are sorted
 * by path, not in the order of the definition.
 */

import { statSync } from 'node:fs'
import { inFile, SourceError } from '../../core/basics/errors.js'
import { inParallel } from '../../core/basics/parallel.js'
import { expandHome } from '../../core/basics/path.js'
import { expandBraces } from '../../core/source/find/braces.js'
import { compileGlob, type Glob, isGlob } from '../../core/source/find/glob.js'
import { commonFolder, prefixOf, resolveName, withoutSlash } from '../../core/source/find/names.js'
import { IndexFile } from '../../core/source/index/file.js'
import type { OpenContext } from '../../core/source/source.js'
import { ASKED_AT_ONCE, statOf } from '../../core/store/access.js'
import { isMissing } from '../../core/store/store.js'
import { Stores, schemeOf } from '../../core/store/stores.js'
import { isHidden } from '../shared/hidden.js'
import { type FoundObject, foundObject, listObjects, oneStore } from '../shared/objects.js'
import { type FileListManifest, fileListManifest, obtainFileList, shortHash } from './file-list.js'
import { extensionOf } from './file-list-source.js'

/** As many files are looked at for the names of columns. */
const LOOKED_AT = 100

export interface FilesManifest extends FileListManifest {
  kind: 'files'
  columns: string[]
}

export async function openFiles(json: string | string[], context: OpenContext): Promise<FilesManifest> {
  const patterns = [json].flat()
  const paths = patterns.flatMap(pattern =>
    expandBraces(expandHome(pattern)).map(path => resolveName(context.root, path)),
  )
  const exact = paths.filter(path => !isGlob(path))
  const globs = paths.filter(isGlob).map(compileGlob)
  const schemes = new Set(paths.map(schemeOf))
  oneStore(schemes, 'the source "files"')
  const root = withoutSlash(commonFolder([...exact, ...globs.map(({ base }) => `${prefixOf(base)}*`)]))
  const spec = JSON.stringify(paths.map(path => path.slice(root.length)))
  const objects = schemes.has(undefined) ? checkFiles(exact) : await findObjects(root, exact, globs, context)
  const data = `${prefixOf(root)}files-${shortHash(spec)}`
  const index = await obtainFileList(
    { root, spec, data, walk: matcher(root, exact, globs), objects },
    context,
  )
  if (index.header.count === 0) {
    throw new SourceError(`no file matches ${patterns.join(', ')} in ${root}: check the pattern`, {
      file: root,
    })
  }
  const manifest = fileListManifest('files', root, index)
  return { ...manifest, columns: columnNames(index.path) } as FilesManifest
}

function checkFiles(paths: readonly string[]): undefined {
  for (const file of paths) {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat?.isFile()) continue
    throw new SourceError(
      stat === undefined
        ? `${file} is missing: check the path`
        : `${file} is no file: to take what lies in it, write "${file}/*"`,
      { file },
    )
  }
}

/** What another store has of these files, and below the folders of these patterns. */
async function findObjects(
  root: string,
  exact: readonly string[],
  globs: readonly Glob[],
  { progress }: OpenContext,
): Promise<FoundObject[]> {
  using stores = new Stores()
  const folder = prefixOf(root)
  const found = await inParallel(exact, ASKED_AT_ONCE, async name => {
    try {
      return foundObject({ name, ...(await statOf(stores, name)) }, folder)
    } catch (error) {
      if (!isMissing(error)) throw error
      throw inFile(name, 'is missing: check the path')
    }
  })
  const bases = [...new Set(globs.map(({ base }) => prefixOf(base)))]
  // One that lies in another one is listed with it.
  for (const base of bases.filter(base => !bases.some(other => other !== base && base.startsWith(other)))) {
    const reported = (files: number): void => progress?.(found.length + files, 0, `listing ${base}`, 'files')
    for (const { path, ...object } of await listObjects(stores, base, reported))
      found.push({ path: `${base.slice(folder.length)}${path}`, ...object })
  }
  return found
}

/** One walk for all patterns, so that a file that two of them match is one sample. */
function matcher(root: string, exact: readonly string[], globs: readonly Glob[]) {
  const prefix = prefixOf(root)
  const named = new Set(exact.map(path => path.slice(prefix.length)))
  const folders = new Set<string>()
  for (const path of [...named, ...globs.map(({ base }) => `${base}/`.slice(prefix.length))]) {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1))
      folders.add(path.slice(0, at + 1))
  }
  const below = ({ base }: Glob, path: string): string | undefined => {
    const whole = prefix + path
    const start = prefixOf(base)
    return whole.startsWith(start) ? whole.slice(start.length) : undefined
  }
  return {
    // Globs pass over hidden folders and files, as shells do; what is named is taken.
    enter: (folder: string): boolean =>
      folders.has(folder) ||
      (!isHidden(folder.slice(0, -1)) &&
        globs.some(glob => (below(glob, folder)?.split('/').length ?? Infinity) - 1 <= glob.depth)),
    take: (file: string): boolean =>
      named.has(file) ||
      (!isHidden(file) &&
        globs.some(glob => {
          const path = below(glob, file)
          return path !== undefined && glob.test(path)
        })),
  }
}

function columnNames(indexPath: string): string[] {
  const names = new IndexFile(indexPath).text('name')
  const extensions = new Set<string>()
  for (let i = 0; i < Math.min(LOOKED_AT, names.length); i++) extensions.add(extensionOf(names.at(i)))
  extensions.delete('')
  return [...extensions, 'file', 'path', 'name']
}
