/**
 * Opens a list of files: finds its index, or has it made (list-build.ts). The index is good as long as the list has the
 * contents that it was made from.
 */
import { statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { SourceError } from '../../basics/errors.js'
import type { ListJson } from '../../define/types.js'
import { IndexFile, type IndexHeader } from '../index/file.js'
import { obtainIndex } from '../index/place.js'
import type { OpenContext } from '../source.js'
import {
  changedFile,
  type FileList,
  type FileListManifest,
  fileListManifest,
  lookedAt,
  shortHash,
} from './file-list.js'
import {
  buildListIndex,
  hashOf,
  type ListColumn,
  type ListIdentity,
  type ListMeta,
  type ListWanted,
} from './list-build.js'
import { IMAGE_EXTENSIONS } from './open-folder.js'

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
  }
}

export async function openList(json: ListJson, context: OpenContext): Promise<ListManifest> {
  const { path = 'path' } = json
  const list = resolve(context.root, json.list)
  const root = json.root === undefined ? dirname(list) : resolve(context.root, json.root)
  const index = await obtainListIndex({ list, root, path }, context)
  const { columns, from } = index.header.meta as unknown as ListMeta
  const manifest = fileListManifest('files', join(root, from), index)
  const alsoBytes = bytesNames(index.path, columns, path)
  if (alsoBytes.length === 0) {
    throw new SourceError(
      `${list} has columns "image" and "file" besides "path": rename one of them, so that the file's bytes have a name`,
      { file: list },
    )
  }
  return { ...manifest, kind: 'files', listed: { columns, path, bytes: alsoBytes[0], alsoBytes } }
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

async function obtainListIndex(wanted: ListWanted, context: OpenContext): Promise<FileList> {
  const { list, root, path } = wanted
  const now = identityOf(list)
  const spec = JSON.stringify([path, relative(dirname(list), root)])
  const found = await obtainIndex({
    data: `${list}-${shortHash(spec)}`,
    beside: join(dirname(list), `.${basename(list)}-${shortHash(spec)}.millrace`),
    problem: (header, file) =>
      malformed(header, spec) ??
      staleness(header, list, now) ??
      changedFile(
        new IndexFile(file, false, header),
        join(root, (header.meta as unknown as ListMeta).from),
        lookedAt(header.count, context),
      ),
    notice: context.notice,
    doubted: context.check === 'nothing',
    build: target => buildListIndex(target, wanted, spec, now, context),
  })
  return { ...found, checked: lookedAt(found.header.count, context) === found.header.count }
}

function identityOf(list: string): ListIdentity {
  const stat = statSync(list, { throwIfNoEntry: false })
  if (stat?.isFile() !== true) {
    const problem = stat === undefined ? 'is missing' : 'is no file'
    throw new SourceError(`the list ${list} ${problem}: check "list" of the source "files"`, { file: list })
  }
  const { size, mtimeMs, ctimeMs, ino } = stat
  return { size, mtimeMs, ctimeMs, ino }
}

/** What an index of a list must have. Right checksums do not show that: another program may have written it. */
function malformed({ kind, count, columns, meta }: IndexHeader, spec: string): string | undefined {
  if (kind !== 'list') return `it is an index of "${kind}"`
  const { digest, bytes, spec: made, list, from, columns: cells } = meta as Partial<ListMeta>
  if (made !== spec) return 'it was made for another column or folder'
  const told = typeof digest === 'string' && typeof bytes === 'number' && typeof from === 'string'
  if (!told || typeof list !== 'object' || !Array.isArray(cells))
    return 'it is malformed: what it tells of the list'
  const names = cells.flatMap(({ name, number }) => [`cell.${name}`, ...(number ? [`number.${name}`] : [])])
  if (columns.repeat !== undefined) names.push('repeat')
  const whole = ['folder', 'name', 'size', 'time', ...names].every(name => columns[name]?.length === count)
  return whole && columns.folders !== undefined ? undefined : 'it is malformed: the lengths of its columns'
}

function staleness(header: IndexHeader, list: string, now: ListIdentity): string | undefined {
  const { list: was } = header.meta as unknown as ListMeta
  const same = (['size', 'mtimeMs', 'ctimeMs', 'ino'] as const).every(name => was[name] === now[name])
  // A list that was copied or written again with the same contents says the same.
  return same || (was.size === now.size && was.hash === hashOf(list))
    ? undefined
    : 'the list was changed after the index was made'
}
