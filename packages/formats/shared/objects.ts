/**
 * The objects of a store as a list of files: sorted by relative path, byte by byte, and collected as columns, as a walk over a
 * local folder collects them. Folders are the parts of names before a slash.
 */

import { createHash } from 'node:crypto'
import { SourceError } from '../../core/basics/errors.js'
import { prefixOf } from '../../core/source/find/names.js'
import { NumberBuilder, TextBuilder } from '../../core/source/index/columns.js'
import { listOf, type StoreOf } from '../../core/store/access.js'
import type { Listed } from '../../core/store/store.js'
import type { WalkOptions } from './walk.js'

/** Objects after which progress is told. */
const REPORT_EVERY = 4096

/** An object by its path relative to the folder that was listed. One that ends with a slash stands for a folder. */
export interface FoundObject {
  path: string
  bytes: number
  version: string
}

export interface ObjectColumns {
  count: number
  bytes: number
  /** Of relative paths and sizes, as a walk makes it. */
  digest: string
  /** The same with versions: whether an index is of these very objects. */
  listing: string
  columns: Record<'folders' | 'name' | 'version', TextBuilder> & Record<'folder' | 'size', NumberBuilder>
}

/** All objects below a folder. */
export async function listObjects(
  stores: StoreOf,
  root: string,
  progress?: (objects: number) => void,
): Promise<FoundObject[]> {
  const folder = prefixOf(root)
  const found: FoundObject[] = []
  for await (const object of listOf(stores, folder)) {
    if (object.name !== folder) found.push(foundObject(object, folder))
    if (found.length % REPORT_EVERY === 0) progress?.(found.length)
  }
  return found
}

export function foundObject({ name, bytes, version }: Listed, folder: string): FoundObject {
  return { path: name.slice(folder.length), bytes, version: version as string }
}

/** The objects that `take` takes, in folders that `enter` enters, sorted. */
export function objectColumns(
  objects: readonly FoundObject[],
  { enter, take }: Pick<WalkOptions, 'enter' | 'take'>,
): ObjectColumns {
  const folders = new FolderNumbers(enter)
  const [name, version] = [new TextBuilder(), new TextBuilder()]
  const [folder, size] = [new NumberBuilder(), new NumberBuilder()]
  const [digest, listing] = [createHash('sha256'), createHash('sha256')]
  let bytes = 0
  let last: string | undefined
  for (const object of [...objects].sort((a, b) => compareBytes(a.path, b.path))) {
    const slash = object.path.lastIndexOf('/') + 1
    const number = folders.number(object.path.slice(0, slash))
    if (number === undefined || slash === object.path.length || object.path === last) continue
    if (!take(object.path)) continue
    last = object.path
    folder.push(number)
    name.push(object.path.slice(slash))
    size.push(object.bytes)
    version.push(object.version)
    bytes += object.bytes
    digest.update(`${object.path}\0${object.bytes}\n`)
    listing.update(`${object.path}\0${object.version}\n`)
  }
  return {
    count: name.length,
    bytes,
    digest: digest.digest('hex').slice(0, 32),
    listing: listing.update(folders.names.join('\n')).digest('hex').slice(0, 32),
    columns: { folders: folders.column(), folder, name, size, version },
  }
}

/** Numbers for the folders that are entered, in the order in which they are met; the root, "", has 0. */
class FolderNumbers {
  readonly names: string[] = ['']
  /** By path; undefined for folders that are not entered. */
  private readonly numbers = new Map<string, number | undefined>([['', 0]])

  constructor(private readonly enter: (folder: string) => boolean) {}

  number(folder: string): number | undefined {
    if (this.numbers.has(folder)) return this.numbers.get(folder)
    const above = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1)
    const entered = this.number(above) !== undefined && this.enter(folder)
    const number = entered ? this.names.push(folder) - 1 : undefined
    this.numbers.set(folder, number)
    return number
  }

  column(): TextBuilder {
    const column = new TextBuilder()
    for (const name of this.names) column.push(name)
    return column
  }
}

/** The order of two texts as UTF-8, byte by byte: that of their code points. */
function compareBytes(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    // Surrogates stand for code points above all others.
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1
  }
  return a.length - b.length
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

/** Refuses names of several stores in one source: ids are relative to one folder. */
export function oneStore(schemes: ReadonlySet<string | undefined>, what: string): void {
  if (schemes.size < 2) return
  const names = [...schemes].map(scheme => (scheme === undefined ? 'local files' : `${scheme}://`))
  throw new SourceError(
    `${what} names ${names.sort().join(' and ')}: make a source of each, and join them by "concat"`,
  )
}
