/**
 * The index of the files below a folder: folders, names, sizes, times of change. `folder` and `files` find it or make it
 * here. It is good as long as no folder and no file in it was changed.
 */

import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { inParallel } from '../../core/basics/parallel.js'
import { prefixOf } from '../../core/source/find/names.js'
import { IndexFile, type IndexHeader } from '../../core/source/index/file.js'
import { type IndexFound, obtainIndex } from '../../core/source/index/place.js'
import { writeIndex } from '../../core/source/index/write.js'
import type { Fingerprint, Manifest, OpenContext } from '../../core/source/source.js'
import { ASKED_AT_ONCE, type StoreOf, statOf } from '../../core/store/access.js'
import { isMissing } from '../../core/store/store.js'
import { type FoundObject, objectColumns } from '../shared/objects.js'
import { type WalkOptions, walkFiles } from '../shared/walk.js'
import { type Counted, isCounted, tellOfLinks } from '../shared/within.js'

export interface FileListWanted {
  /** The folder that all files lie below, absolute or with a scheme. */
  root: string
  /** Names the index in the cache folder. */
  data: string
  beside?: string
  /** What was looked for, in a word: an index for something else doesn't fit. */
  spec: string
  walk: Pick<WalkOptions, 'enter' | 'take'>
  /** The objects below a root that has a scheme. */
  objects?: readonly FoundObject[]
  /** What the walk left out, to be kept with the index. Asked when it is done. */
  leftOut?: () => LeftOut
}

/** Files that lie there and are no samples. */
export interface LeftOut {
  /** Pictures in no class folder, and hidden ones: how many, and one of them. */
  outside?: Counted
  hidden?: Counted
  /** Other files, by extension. */
  others?: Record<string, number>
}

export interface FileListManifest extends Manifest {
  root: string
  index: string
  checksum: number
  /** Whether every file was looked at when the list was opened, not just a selection. */
  checked: boolean
}

/** A found list, and how far it was looked at. */
export interface FileList extends IndexFound {
  checked: boolean
}

/** Lists up to this long are compared file by file when they are opened (2.6 µs a file); of longer ones, as many as `selected`. */
export const LOOKED_AT = { all: 16_384, selected: 2_048 }

interface FileListMeta {
  digest: string
  bytes: number
  spec: string
  leftOut?: LeftOut
  links?: Counted
  /** Of the paths and versions of objects. */
  listing?: string
}

/** What was left out when the index was made. */
export function leftOutOf({ header }: IndexFound): LeftOut {
  return (header.meta as unknown as FileListMeta).leftOut ?? {}
}

/** Finds or makes the index of the files below a folder. */
export async function obtainFileList(wanted: FileListWanted, context: OpenContext): Promise<FileList> {
  if (wanted.objects !== undefined) return obtainObjectList(wanted, wanted.objects, context)
  const { root, spec, walk } = wanted
  const most = (count: number): number => lookedAt(count, context)
  const found = await obtainIndex({
    data: wanted.data,
    beside: wanted.beside,
    problem: (header, path) => malformed(header, spec) ?? staleness(header, path, root, most(header.count)),
    notice: context.notice,
    doubted: context.check === 'nothing',
    build: async target => {
      const progress = (files: number): void => context.progress?.(files, 0, `listing ${root}`, 'files')
      const { count, bytes, digest, folders, folderTimes, folder, name, size, time, links } = await walkFiles(
        root,
        {
          ...walk,
          progress,
          notice: context.notice,
        },
      )
      const leftOut = wanted.leftOut?.()
      const meta = {
        digest,
        bytes,
        spec,
        ...(leftOut && { leftOut }),
        ...(links && { links }),
      } satisfies FileListMeta
      writeIndex(target, 'files', count, meta, { folders, folderTimes, folder, name, size, time })
    },
  })
  tellOfLinks(root, linksOf(found), context.notice)
  return { ...found, checked: most(found.header.count) === found.header.count }
}

/** Links that led out when the index was made. One by an earlier version does not know. */
export function linksOf({ header }: IndexFound): Counted | undefined {
  return (header.meta as unknown as FileListMeta).links
}

/** The same for objects, which are listed every time: the index is of these very ones, or made anew. */
async function obtainObjectList(
  { data, spec, walk, leftOut }: FileListWanted,
  objects: readonly FoundObject[],
  context: OpenContext,
): Promise<FileList> {
  const { count, bytes, digest, listing, columns } = objectColumns(objects, walk)
  const left = leftOut?.()
  const found = await obtainIndex({
    data,
    problem: header =>
      malformed(header, spec) ??
      ((header.meta as unknown as FileListMeta).listing === listing
        ? undefined
        : 'objects were added, removed or changed after it was made'),
    notice: context.notice,
    doubted: context.check === 'nothing',
    build: async target => {
      const meta = { digest, bytes, spec, listing, ...(left && { leftOut: left }) } satisfies FileListMeta
      writeIndex(target, 'files', count, meta, columns)
    },
  })
  return { ...found, checked: true }
}

/** How many of the files in a list are compared with it when it is opened. */
export function lookedAt(count: number, { check }: OpenContext): number {
  return check !== undefined || count <= LOOKED_AT.all ? count : LOOKED_AT.selected
}

/** The manifest's part that every list of files has. */
export function fileListManifest(kind: string, root: string, list: FileList): FileListManifest {
  const { path, header, checked } = list
  const { digest, bytes } = header.meta as unknown as FileListMeta
  const fingerprint: Fingerprint = {
    kind,
    count: header.count,
    digest,
    parts: [{ name: kind, count: header.count, bytes }],
  }
  return {
    kind,
    fingerprint,
    stamp: (header.columns.time ?? header.columns.version).crc,
    indexBytes: header.bytes,
    root,
    index: path,
    checksum: header.checksum,
    checked,
  }
}

/** A short name for a specification, to tell indexes of the same folder apart. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

/** What an index of files must have. Right checksums do not show that: another program may have written it. */
function malformed({ kind, count, columns, meta }: IndexHeader, spec: string): string | undefined {
  if (kind !== 'files') return `it is an index of "${kind}"`
  const { digest, bytes, spec: made, leftOut = {}, links } = meta as Partial<FileListMeta>
  if (made !== spec) return 'it was made for other names'
  if (typeof digest !== 'string' || typeof bytes !== 'number' || !isLeftOut(leftOut) || !isCounted(links))
    return 'it is malformed: what it tells of its files'
  const stamp = columns.version === undefined ? 'time' : 'version'
  const rows = ['folder', 'name', 'size', stamp].every(name => columns[name]?.length === count)
  const folders =
    columns.folders !== undefined &&
    (stamp === 'version' || columns.folders.length === columns.folderTimes?.length)
  return rows && folders ? undefined : 'it is malformed: the lengths of its columns'
}

function isLeftOut(value: LeftOut | null): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { outside, hidden, others = {} } = value
  if (![outside, hidden].every(isCounted)) return false
  return typeof others === 'object' && others !== null && Object.values(others).every(Number.isFinite)
}

/** Whether a folder, or one of `most` files that are spread evenly, is no longer what it was. */
function staleness(header: IndexHeader, path: string, root: string, most: number): string | undefined {
  const index = new IndexFile(path, false, header)
  const texts = index.text('folders')
  const folders = Array.from({ length: texts.length }, (_, i) => `${root}/${texts.at(i)}`)
  const folderTimes = index.numbers('folderTimes')
  const late = folders.findIndex((path, i) => timeOf(path) !== folderTimes[i])
  if (late >= 0) return `the folder ${folders[late]} was changed after the index was made`
  return changedFile(index, root, most)
}

/** Whether one of `most` files, spread evenly over the list, is no longer what it was. */
export function changedFile(index: IndexFile, root: string, most: number): string | undefined {
  if (index.has('version')) return undefined
  const [sizes, times] = [index.numbers('size'), index.numbers('time')]
  for (const { row, file } of spreadFiles(index, root, most)) {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat?.size !== sizes[row] || stat?.mtimeMs !== times[row])
      return `${file} was changed after the index was made`
  }
  return undefined
}

/** The same for objects in another store. */
export async function changedObject(
  index: IndexFile,
  root: string,
  most: number,
  stores: StoreOf,
): Promise<string | undefined> {
  if (!index.has('version')) return undefined
  const versions = index.text('version')
  const changed = await inParallel(
    [...spreadFiles(index, root, most)],
    ASKED_AT_ONCE,
    async ({ row, file }) => {
      try {
        return (await statOf(stores, file)).version === versions.at(row) ? undefined : file
      } catch (error) {
        if (isMissing(error)) return file
        throw error
      }
    },
  )
  const first = changed.find(file => file !== undefined)
  return first && `${first} was changed after the index was made`
}

/** `most` files, spread evenly over the list. */
function* spreadFiles(
  index: IndexFile,
  root: string,
  most: number,
): Generator<{ row: number; file: string }> {
  const prefix = prefixOf(root)
  const [folders, folder, names] = [index.text('folders'), index.numbers('folder'), index.text('name')]
  for (let i = 0; i < most; i++) {
    const row = Math.floor((i * index.header.count) / most)
    yield { row, file: `${prefix}${folders.at(folder[row])}${names.at(row)}` }
  }
}

function timeOf(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs
}
