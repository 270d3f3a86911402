/**
 * The index of one data file: `.train-0000.tar.millrace` beside `train-0000.tar`; of an object in another store it lies in
 * the cache folder. It is good as long as the file is the one that was indexed. Where only inode or ctime differ, as in a
 * copy, some places of the file are compared (probes), and the index is then bound to the new file.
 */
import { closeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SourceError } from '../../basics/errors.js'
import { readRange, statOf } from '../../store/access.js'
import {
  type FileIdentity,
  type LocalVersion,
  likeness,
  probesAgree,
  takeProbes,
} from '../../store/identity.js'
import { type Stores, schemeOf } from '../../store/stores.js'
import { cachedPath } from '../../system/files/cache-folder.js'
import { openRegular } from '../../system/files/regular.js'
import type { DataFile } from '../find/data-files.js'
import type { OpenContext } from '../source.js'
import { type ColumnBuilder, NumberBuilder } from './columns.js'
import { IndexFile, type IndexHeader } from './file.js'
import { type IndexedObject, indexedObject, isIndexedObject } from './indexed-object.js'
import { findIndex, type IndexFound, type IndexSought, obtainIndex } from './place.js'
import type { ReadAt } from './read-at.js'
import { type IndexTarget, rewriteMeta, writeIndex } from './write.js'

/** Two changes of a file within this time may leave the same time stamp. In ms. */
const TICK = 50

/** Reads of a local file up to this size take less time than a turn of Node's pool of threads. Bytes. */
const SHORT = 64 << 10

/** What one kind of source keeps in the index of a file. */
export interface FileIndexKind<File extends DataFile> {
  kind: string
  /** What messages call the file; the index keeps what it was under this name. */
  what: string
  /** What is wrong with an index of this kind: right checksums don't show that, another program may have written it. */
  malformed(header: IndexHeader): string | undefined
  /** Reads the file and makes the columns of its index. */
  build(file: File, tools: IndexTools): Promise<BuiltIndex>
}

/** What `build` may use. */
export interface IndexTools {
  read: ReadAt
  stores: Stores
  /** Bytes that should be read at once at least: where a request costs as much as many bytes, this is more. */
  piece: number
  local: boolean
  check?: OpenContext['check']
  notice?: OpenContext['notice']
  progress?: (bytes: number) => void
}

export interface BuiltIndex {
  count: number
  meta: Record<string, unknown>
  columns: Record<string, ColumnBuilder>
  /** Offsets at which a local file is probed: spread over it, and where samples begin. */
  probes: readonly number[]
}

export type IndexContext = Pick<OpenContext, 'notice' | 'check'>

/** Where the index of a file may lie: beside a local file, and in the cache folder. */
export function fileIndexPaths(file: string): string[] {
  const beside = sidecarPath(file)
  return beside === undefined ? [cachedPath(file)] : [beside, cachedPath(file)]
}

/** The sidecar of a file; undefined for an object of another store. */
function sidecarPath(file: string): string | undefined {
  return schemeOf(file) === undefined ? join(dirname(file), `.${basename(file)}.millrace`) : undefined
}

/** An index that is there and up to date. `unchecked` leaves its checksums to those who first use it. */
export function findFileIndex<File extends DataFile>(
  kind: FileIndexKind<File>,
  file: File,
  unchecked = false,
): IndexFound | undefined {
  return findIndex({ ...wanted(kind, file, {}), unchecked })
}

/** The index of a file, built if need be. */
export function obtainFileIndex<File extends DataFile>(
  kind: FileIndexKind<File>,
  file: File,
  context: IndexContext,
  stores: Stores,
  progress?: (bytes: number) => void,
): Promise<IndexFound> {
  const build = (target: IndexTarget): Promise<void> =>
    buildFileIndex(kind, file, target, context, stores, progress)
  return obtainIndex({ ...wanted(kind, file, context), build })
}

function wanted<File extends DataFile>(
  kind: FileIndexKind<File>,
  file: File,
  context: IndexContext,
): IndexSought {
  return {
    data: file.file,
    beside: sidecarPath(file.file),
    problem: (header, path) => malformed(kind, header) ?? staleness(kind.what, header, path, file),
    doubted: context.check === 'nothing',
    notice: context.notice,
  }
}

function malformed<File extends DataFile>(
  { kind, what, malformed }: FileIndexKind<File>,
  header: IndexHeader,
): string | undefined {
  if (header.kind !== kind) return `it is an index of "${header.kind}"`
  if (!isIndexedObject(header.meta[what] as Partial<LocalVersion>))
    return `it is malformed: what it tells of its ${what}`
  return malformed(header)
}

/** Names a column of an index that has not the length it should have. */
export function wrongLength(
  { columns }: IndexHeader,
  lengths: readonly (readonly [string, number | undefined])[],
): string | undefined {
  const wrong = lengths.find(([name, length]) => length === undefined || columns[name]?.length !== length)
  return wrong && `it is malformed: the length of column "${wrong[0]}"`
}

function staleness(what: string, header: IndexHeader, path: string, now: DataFile): string | undefined {
  const was = header.meta[what] as IndexedObject
  if (was.size !== now.bytes) return `the ${what} had ${was.size} bytes, now it has ${now.bytes}`
  const version = now.version as LocalVersion | string
  if (typeof version === 'string' || 'version' in was) {
    const same = 'version' in was && was.version === version
    return same ? undefined : `the ${what} has another version than the one that was indexed`
  }
  const like = likeness(was, version)
  if (like === 'same') return undefined
  if (like === 'changed') return `the ${what} was changed after the index was made`
  const probes = new IndexFile(path, false, header).numbers('probes')
  if (!contentsAgree(now.file, { ...was, probes }))
    return `the ${what} has other contents under the same size and time of change`
  rebind(what, path, header, version)
  return undefined
}

function contentsAgree(file: string, was: FileIdentity): boolean {
  const { fd } = openRegular(file)
  try {
    return probesAgree(fd, was)
  } finally {
    closeSync(fd)
  }
}

/** Binds the index to what the file is now. Where that can't be written, the next run compares again. */
function rebind(what: string, path: string, { meta }: IndexHeader, { ctimeMs, ino }: LocalVersion): void {
  try {
    rewriteMeta(path, { ...meta, [what]: { ...(meta[what] as LocalVersion), ctimeMs, ino } })
  } catch {
    // Read-only, or damaged: its checksums are compared next.
  }
}

async function buildFileIndex<File extends DataFile>(
  { kind, what, build }: FileIndexKind<File>,
  data: File,
  target: IndexTarget,
  { notice, check }: IndexContext,
  stores: Stores,
  progress?: (bytes: number) => void,
): Promise<void> {
  const { file, bytes } = data
  const version = data.version as LocalVersion | string
  const local = typeof version !== 'string'
  if (local && Math.abs(Date.now() - version.mtimeMs) < TICK) await sleep(TICK)
  const store = stores.of(file)
  const read: ReadAt = async (into, offset) => {
    const length = Math.max(0, Math.min(into.length, bytes - offset))
    const part = into.subarray(0, length)
    if (local && length <= SHORT) store.readNow?.(file, offset, part)
    else if (length > 0) await readRange(stores, { file, offset, length }, part)
    return length
  }
  const tools: IndexTools = { read, stores, piece: store.merge.gap, local, check, notice, progress }
  const built = await build(data, tools)
  const probes = new NumberBuilder()
  if (local) {
    const probe = (into: Buffer, offset: number): unknown => store.readNow?.(file, offset, into)
    for (const number of takeProbes(probe, bytes, built.probes)) probes.push(number)
  }
  // A file that is still being written would give an index of its past.
  const after = await statOf(stores, file)
  if (!isSame(version, after.version as LocalVersion | string)) {
    throw new SourceError(`${file} was changed while it was indexed: wait until it is finished`, { file })
  }
  const meta = { ...built.meta, [what]: indexedObject(data) }
  writeIndex(target, kind, built.count, meta, { ...built.columns, probes })
}

function isSame(was: LocalVersion | string, now: LocalVersion | string): boolean {
  if (typeof was === 'string' || typeof now === 'string') return was === now
  return was.size === now.size && was.mtimeMs === now.mtimeMs && was.ino === now.ino
}
