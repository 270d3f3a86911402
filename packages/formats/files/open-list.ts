/**
 * Opens a list of files: finds its index, or has it made (list-build.ts). The index is good as long as the list has the
 * contents that it was made from.
 */

import { basename, dirname, join, relative } from 'node:path'
import { inFile, SourceError } from '../../core/basics/errors.js'
import { combinedFingerprint, joined } from '../../core/source/combine/combined.js'
import { folderOf, prefixOf, resolveFolder } from '../../core/source/find/names.js'
import { IndexFile, type IndexHeader } from '../../core/source/index/file.js'
import {
  type IndexedObject,
  indexedObject,
  isIndexedObject,
  isSameObject,
} from '../../core/source/index/indexed-object.js'
import { type IndexFound, obtainIndex } from '../../core/source/index/place.js'
import type { Manifest, OpenContext } from '../../core/source/source.js'
import { statOf } from '../../core/store/access.js'
import { codeOf } from '../../core/store/store.js'
import { Stores, schemeOf } from '../../core/store/stores.js'
import { isCounted, isWithin, tellOfLinks } from '../shared/within.js'
import { hashOf, localText } from '../text-lines.js'
import {
  changedFile,
  changedObject,
  type FileList,
  type FileListManifest,
  fileListManifest,
  linksOf,
  lookedAt,
  shortHash,
} from './file-list.js'
import { buildListIndex, type ListColumn, type ListMeta, type ListWanted, listRoot } from './list-build.js'
import { IMAGE_EXTENSIONS } from './open-folder.js'

/** Files that a list (CSV, TSV or JSON lines) names, one a line; its other columns are columns of the samples. */
export interface ListJson {
  list: string
  /** The column that holds the paths ("path"), or several of them, by the names that their files get. */
  path?: string
  paths?: Record<string, string>
  /** The folder that they are relative to; that of the list by default. */
  root?: string
}

/** As many files are looked at to see whether they are pictures. */
const LOOKED_AT = 100

export interface ListManifest extends FileListManifest {
  kind: 'files'
  listed: {
    columns: ListColumn[]
    /** The column that holds the path. */
    path: string
    /** The first of the names that the file's bytes go by, and all of them. */
    bytes: string
    alsoBytes: string[]
    /** The bytes are all that it gives: other columns are those of a list beside it. */
    only?: boolean
  }
}

export async function openList(json: ListJson, context: OpenContext): Promise<Manifest> {
  if (json.paths !== undefined) return openSeveral(json, json.paths, context)
  const { path = 'path' } = json
  const { list, manifest, columns } = await openPaths(json, path, context)
  const alsoBytes = bytesNames(manifest.index, columns, path)
  if (alsoBytes.length === 0) {
    throw inFile(
      list,
      `has columns "image" and "file" besides "path": rename one of them, so that the file's bytes have a name`,
    )
  }
  return { ...manifest, kind: 'files', listed: { columns, path, bytes: alsoBytes[0], alsoBytes } }
}

/** Several columns with paths: lists side by side, each with the files of one column. The first has the other columns, too. */
async function openSeveral(
  json: ListJson,
  paths: Readonly<Record<string, string>>,
  context: OpenContext,
): Promise<Manifest> {
  const children: ListManifest[] = []
  for (const [name, path] of Object.entries(paths)) {
    const { list, manifest, columns } = await openPaths(json, path, context, name)
    const cells = columns.filter(column => !Object.values(paths).includes(column.name))
    if (cells.some(column => column.name === name))
      throw inFile(list, `has a column "${name}": give the files of "${path}" another name`)
    const only = children.length > 0
    const listed = { columns: only ? [] : cells, path, bytes: name, alsoBytes: [name], only }
    children.push({ ...manifest, kind: 'files', listed })
  }
  const prints = children.map(child => child.fingerprint)
  return {
    kind: 'zip',
    fingerprint: combinedFingerprint('files', prints[0].count, Object.entries(paths), prints),
    stamp: joined(children.map(child => child.stamp)),
    indexBytes: children.reduce((sum, child) => sum + child.indexBytes, 0),
    children,
  }
}

/** The list by one of its columns with paths. */
async function openPaths(
  json: ListJson,
  path: string,
  context: OpenContext,
  as?: string,
): Promise<{ list: string; manifest: FileListManifest; columns: ListColumn[] }> {
  const list = resolveFolder(context.root, json.list)
  const root = json.root === undefined ? folderOf(list) : resolveFolder(context.root, json.root)
  using stores = new Stores()
  const index = await obtainListIndex({ list, root, path, as }, context, stores)
  const { columns, from } = index.header.meta as unknown as ListMeta
  return { list, manifest: fileListManifest('files', listRoot(root, from), index), columns }
}

/** What the file's bytes go by: the list's own columns come first. */
function bytesNames(indexPath: string, columns: readonly ListColumn[], path: string): string[] {
  const names = new IndexFile(indexPath).text('name')
  const looked = Math.min(LOOKED_AT, names.length)
  const pictures = Array.from({ length: looked }, (_, i) => names.at(i)).every(name =>
    IMAGE_EXTENSIONS.includes(name.slice(name.lastIndexOf('.') + 1).toLowerCase()),
  )
  const usual = pictures ? ['image', 'file'] : ['file', 'image']
  const own = usual.filter(name => !columns.some(column => column.name === name))
  return path === 'path' || own.includes(path) ? own : [...own, path]
}

async function obtainListIndex(wanted: ListWanted, context: OpenContext, stores: Stores): Promise<FileList> {
  const { list, root, path } = wanted
  const local = schemeOf(list) === undefined
  const now = await identityOf(list, stores)
  const below = local && schemeOf(root) === undefined ? relative(dirname(list), root) : root
  const spec = JSON.stringify([path, !local && root === folderOf(list) ? '' : below])
  const most = ({ count }: IndexHeader): number => lookedAt(count, context)
  const rootOf = ({ meta }: IndexHeader): string => listRoot(root, (meta as unknown as ListMeta).from)
  let changed: string | undefined
  let built = false
  const obtain = (): Promise<IndexFound> =>
    obtainIndex({
      data: `${list}-${shortHash(spec)}`,
      beside: local ? join(dirname(list), `.${basename(list)}-${shortHash(spec)}.millrace`) : undefined,
      problem: (header, file) =>
        malformed(header, spec) ??
        staleness(header, list, now) ??
        changed ??
        misplaced(header, file, wanted) ??
        changedFile(new IndexFile(file, false, header), rootOf(header), most(header)),
      notice: context.notice,
      doubted: context.check === 'nothing',
      build: async target => {
        built = true
        await buildListIndex(target, wanted, spec, now, context, stores)
      },
    })
  let found = await obtain()
  if (!built) {
    const { path, header } = found
    changed = await changedObject(new IndexFile(path, false, header), rootOf(header), most(header), stores)
    if (changed !== undefined) found = await obtain()
  }
  tellOfLinks(root, linksOf(found), context.notice)
  return { ...found, checked: most(found.header) === found.header.count }
}

/** An index by an earlier version, or one that came with the data, may name what a list may not. */
function misplaced({ meta }: IndexHeader, file: string, { list, root }: ListWanted): string | undefined {
  const { from } = meta as unknown as ListMeta
  if (from === '') return undefined
  const folders = new IndexFile(file).text('folders')
  const base = prefixOf(listRoot(root, from))
  for (let i = 0; i < folders.length; i++)
    if (!isWithin(`${base}${folders.at(i)}x`, [root, folderOf(list)])) return 'it names files elsewhere'
  return undefined
}

async function identityOf(list: string, stores: Stores): Promise<IndexedObject> {
  try {
    return indexedObject(await statOf(stores, list))
  } catch (error) {
    const code = codeOf(error)
    if (schemeOf(list) !== undefined && code !== 'ENOENT') throw error
    const problem = code === 'ENOENT' || code === 'ENOTDIR' ? 'is missing' : 'is no file'
    throw new SourceError(`the list ${list} ${problem}: check "list" of the source "files"`, { file: list })
  }
}

/** What an index of a list must have. Right checksums do not show that: another program may have written it. */
function malformed({ kind, count, columns, meta }: IndexHeader, spec: string): string | undefined {
  if (kind !== 'list') return `it is an index of "${kind}"`
  const { digest, bytes, spec: made, list, from, columns: cells, links } = meta as Partial<ListMeta>
  if (made !== spec) return 'it was made for another column or folder'
  const reported = typeof digest === 'string' && typeof bytes === 'number' && typeof from === 'string'
  if (!reported || !isIndexedObject(list) || !Array.isArray(cells) || !isCounted(links))
    return 'it is malformed: what it tells of the list'
  const names = cells.flatMap(({ name, number }) => [`cell.${name}`, ...(number ? [`number.${name}`] : [])])
  if (columns.repeat !== undefined) names.push('repeat')
  const stamp = columns.version === undefined ? 'time' : 'version'
  const whole = ['folder', 'name', 'size', stamp, ...names].every(name => columns[name]?.length === count)
  return whole && columns.folders !== undefined ? undefined : 'it is malformed: the lengths of its columns'
}

function staleness(header: IndexHeader, list: string, now: IndexedObject): string | undefined {
  const { list: was } = header.meta as unknown as ListMeta
  if (isSameObject(was, now)) return undefined
  // A local list that was copied or written again with the same contents says the same.
  const local = !('version' in was) && !('version' in now)
  return local && was.size === now.size && was.hash === hashOf(localText(list))
    ? undefined
    : 'the list was changed after the index was made'
}
