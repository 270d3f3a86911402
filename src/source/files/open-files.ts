/**
 * Opens files as they are. The definition names them one by one, by braces or by globs ("**" for any depth). Rows are sorted
 * by path, not in the order of the definition.
 */
import { statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { SourceError } from '../../basics/errors.js'
import { expandHome } from '../../basics/path.js'
import { expandBraces } from '../find/braces.js'
import { commonFolder } from '../find/common-folder.js'
import { compileGlob, type Glob, isGlob } from '../find/glob.js'
import { isHidden } from '../find/hidden.js'
import { IndexFile } from '../index/file.js'
import type { OpenContext } from '../source.js'
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
    expandBraces(expandHome(pattern)).map(path => (isAbsolute(path) ? path : resolve(context.root, path))),
  )
  const exact = paths.filter(path => !isGlob(path))
  const globs = paths.filter(isGlob).map(compileGlob)
  checkFiles(exact)
  const root = commonFolder([...exact, ...globs.map(({ base }) => join(base, '*'))]).replace(/(.)\/$/, '$1')
  const spec = JSON.stringify(paths.map(path => path.slice(root.length)))
  const index = await obtainFileList(
    { root, spec, data: join(root, `files-${shortHash(spec)}`), walk: matcher(root, exact, globs) },
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

function checkFiles(paths: readonly string[]): void {
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

/** One walk for all patterns, so that a file that two of them match is one sample. */
function matcher(root: string, exact: readonly string[], globs: readonly Glob[]) {
  const prefix = root.endsWith('/') ? root : `${root}/`
  const named = new Set(exact.map(path => path.slice(prefix.length)))
  const folders = new Set<string>()
  for (const path of [...named, ...globs.map(({ base }) => `${base}/`.slice(prefix.length))]) {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1))
      folders.add(path.slice(0, at + 1))
  }
  const below = ({ base }: Glob, path: string): string | undefined => {
    const whole = prefix + path
    const start = base.endsWith('/') ? base : `${base}/`
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
