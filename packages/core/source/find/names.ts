/**
 * Names of data: paths of local files, or names with a scheme, `scheme://…`, which another store serves. A name with a
 * scheme is absolute: it stays as it is, wherever the definition lies.
 */
import { isAbsolute, posix, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SourceError } from '../../basics/errors.js'
import { expandHome } from '../../basics/path.js'
import { schemeOf } from '../../store/stores.js'

/** The full name of what a definition or a list calls `name`. A relative one is relative to `folder`, also in a store. */
export function resolveName(folder: string, name: string): string {
  if (schemeOf(name) !== undefined) return name.startsWith('file:') ? pathOfUrl(name) : name
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(name))
    throw new SourceError(`"${name}": write its scheme in small letters`)
  if (name.startsWith('file:')) return pathOfUrl(name)
  const scheme = schemeOf(folder)
  if (scheme === undefined) {
    const path = expandHome(name)
    return isAbsolute(path) ? path : resolve(folder, path)
  }
  const base = folder.slice(scheme.length + 3)
  const joined = posix.join('/', base, name).slice(1)
  return `${scheme}://${base.startsWith('/') ? '/' : ''}${joined}`
}

/** The same for a folder: without a slash at its end. */
export function resolveFolder(folder: string, name: string): string {
  const full = resolveName(folder, name)
  return schemeOf(full) === undefined ? resolve(full) : withoutSlash(full)
}

/** The folder that a name lies in: without a slash at its end, except where that is all there is. */
export function folderOf(name: string): string {
  const front = rootOf(name)
  return name.slice(0, Math.max(front.length, name.lastIndexOf('/')))
}

/** A folder as names below it begin with it: with a slash at its end. */
export function prefixOf(folder: string): string {
  return folder.endsWith('/') ? folder : `${folder}/`
}

/** The same without the slash, except where that is all there is. */
export function withoutSlash(folder: string): string {
  const front = rootOf(folder)
  return folder.length > front.length && folder.endsWith('/') ? folder.slice(0, -1) : folder
}

/** What stands before all folders: `/`, or `scheme://`. */
function rootOf(name: string): string {
  const scheme = schemeOf(name)
  return scheme === undefined ? name.slice(0, name.startsWith('/') ? 1 : 0) : `${scheme}://`
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url)
  } catch (error) {
    throw new SourceError(`"${url}" is no path of a file here: ${(error as Error).message}`, { cause: error })
  }
}

/** The longest folder path, with its slash, that all files begin with; empty where they have none in common. */
export function commonFolder(files: readonly string[]): string {
  let common = files[0].slice(0, files[0].lastIndexOf('/') + 1)
  for (const file of files) {
    while (!file.startsWith(common)) common = common.slice(0, common.slice(0, -1).lastIndexOf('/') + 1)
  }
  return common
}
