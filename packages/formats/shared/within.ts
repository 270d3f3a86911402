/**
 * Names that data state, not the definition: rows of a list, urls of a shard list, paths in a table. They lie in the folder of what
 * states them, or in the `root` that the definition gives for it, however they are written (docs/troubleshoot.md). Links in the file system are
 * followed; those that lead out are counted.
 */
import { lstatSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { SourceError } from '../../core/basics/errors.js'
import { commonFolder, folderOf, prefixOf, resolveName, withoutSlash } from '../../core/source/find/names.js'
import { schemeOf } from '../../core/store/stores.js'

/** Where names may lead: full names of folders. */
export interface Bounds {
  folder: string
  root?: string
}

/** What a name leads to, relative to the first of these folders from which that is within the bounds. */
export function boundName(
  name: string,
  { folder, root = folder }: Bounds,
  bases: readonly string[] = [folder],
): { file: string; inside: boolean } {
  let file = ''
  for (const base of bases) {
    file = resolveName(base, name)
    if (schemeOf(file) === undefined) file = resolve(file)
    if (isWithin(file, [root, folder])) return { file, inside: true }
  }
  return { file, inside: false }
}

/** Whether a full name lies in one of these folders. */
export function isWithin(file: string, folders: readonly string[]): boolean {
  return folders.some(folder => file.startsWith(prefixOf(folder)) && !goesUp(file))
}

/** Whether `..` is part of a path or a URL. */
export function goesUp(name: string): boolean {
  return /(^|\/)(\.|%2e){2}(\/|$)/i.test(name)
}

/** `what` names these files, which lie elsewhere: "train.csv, line 3: ../secret". `instead`: what to do where no root would do. */
export function leadsOut(
  what: string,
  files: readonly string[],
  { folder, root }: Bounds,
  instead?: string,
): SourceError {
  const more = files.length > 1 ? ` (and ${files.length - 1} more)` : ''
  const would = withoutSlash(commonFolder(files))
  const hint =
    instead ??
    (would === ''
      ? 'they lie in several stores: make a source of each'
      : `if you trust it, "root": ${JSON.stringify(would)} would do`)
  return new SourceError(
    `${what}${more} leads out of ${[folder, ...(root === undefined || root === folder ? [] : [root])].join(' and ')}. ` +
      `What data name lies in their own folder, or in the "root" that the definition gives: ${hint}`,
    { file: files[0] },
  )
}

/** How many of some files there are, and the first of them. */
export interface Counted {
  count: number
  first: string
}

export function isCounted(value: Counted | undefined): boolean {
  return value === undefined || (typeof value?.count === 'number' && typeof value.first === 'string')
}

/** Counts links that lead out of all of some local folders. */
export class LinkCounter {
  found: Counted | undefined
  private real: string[] | undefined
  /** Whether folders lead out, by their paths. */
  private readonly folders: Map<string, boolean>

  constructor(private readonly roots: readonly string[]) {
    this.folders = new Map(roots.map(root => [root, false]))
  }

  /** A file below one of the folders, by its full path. It counts where it is a link; of a folder that is one, once. */
  file(path: string): void {
    if (this.folderLeadsOut(folderOf(path))) return
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) this.link(path)
  }

  /** A link, by its full path; says whether it leads out. */
  link(path: string): boolean {
    let to: string
    try {
      this.real ??= this.roots.map(root => prefixOf(realpathSync.native(root)))
      to = realpathSync.native(path)
    } catch {
      return false // It leads nowhere: that is said where it is read.
    }
    if (this.real.some(root => prefixOf(to).startsWith(root))) return false
    this.found = { count: (this.found?.count ?? 0) + 1, first: this.found?.first ?? `${path} → ${to}` }
    return true
  }

  private folderLeadsOut(folder: string): boolean {
    let out = this.folders.get(folder)
    if (out === undefined) {
      out = folder !== '/' && (this.folderLeadsOut(folderOf(folder)) || this.link(folder))
      this.folders.set(folder, out)
    }
    return out
  }
}

/** The notice of them. */
export function tellOfLinks(root: string, links: Counted | undefined, notice?: (text: string) => void): void {
  if (links === undefined) return
  const many = links.count === 1 ? 'a link leads' : `${links.count} links lead`
  notice?.(`${root}: ${many} out of it, and ${links.count === 1 ? 'is' : 'are'} followed (${links.first})`)
}
