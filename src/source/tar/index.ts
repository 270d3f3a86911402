/**
 * The index of one tar shard: `.train-0000.tar.millrace` beside `train-0000.tar`; of an object in another store it lies in
 * the cache folder. It is built by a scan, or from DALI's index
 * if there is one that proves right. It is good as long as the shard is the file that was indexed. Where only inode or ctime
 * differ, as in a copy, some members are compared, and the index is then bound to the new file.
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
import { NumberBuilder } from '../index/columns.js'
import { IndexFile, type IndexHeader } from '../index/file.js'
import { type IndexedObject, indexedObject, isIndexedObject } from '../index/indexed-object.js'
import { findIndex, type IndexFound, type IndexSought, obtainIndex } from '../index/place.js'
import { type IndexTarget, rewriteMeta, writeIndex } from '../index/write.js'
import type { OpenContext } from '../source.js'
import { readDaliIndex } from './foreign.js'
import { BLOCK } from './header.js'
import type { ShardPath } from './paths.js'
import { SampleColumns, type SampleMeta } from './samples.js'
import { buffered, PIECE, type ReadAt, scanTar } from './scan.js'

/** As many samples of a shard, spread evenly, have probes: their first and their last member. */
const PROBED = 32
/** Two changes of a file within this time may leave the same time stamp. In ms. */
const TICK = 50

/** What the header of a shard's index tells besides the samples. */
export interface ShardMeta extends SampleMeta {
  /** The file that was indexed, or the version of the object. */
  shard: IndexedObject
}

export interface ShardIndex extends IndexFound {
  meta: ShardMeta
}

type ShardContext = Pick<OpenContext, 'notice' | 'check'>

/** Where the index of a shard may lie: beside a local file, and in the cache folder. */
export function shardIndexPaths(file: string): string[] {
  const beside = sidecarPath(file)
  return beside === undefined ? [cachedPath(file)] : [beside, cachedPath(file)]
}

/** The sidecar of a shard; undefined for an object of another store. */
function sidecarPath(file: string): string | undefined {
  return schemeOf(file) === undefined ? join(dirname(file), `.${basename(file)}.millrace`) : undefined
}

/** An index that is there and up to date. `unchecked` leaves its checksums to those who first use it. */
export function findShardIndex(shard: ShardPath, unchecked = false): ShardIndex | undefined {
  const found = findIndex({ ...wanted(shard, {}), unchecked })
  return found && withMeta(found)
}

/** The index of a shard, built if need be. */
export async function obtainShardIndex(
  shard: ShardPath,
  context: ShardContext,
  stores: Stores,
  progress?: (bytes: number) => void,
): Promise<ShardIndex> {
  const build = (target: IndexTarget): Promise<void> =>
    buildShardIndex(shard, target, context, stores, progress)
  return withMeta(await obtainIndex({ ...wanted(shard, context), build }))
}

function withMeta(found: IndexFound): ShardIndex {
  return { ...found, meta: found.header.meta as unknown as ShardMeta }
}

function wanted(shard: ShardPath, context: ShardContext): IndexSought {
  return {
    data: shard.file,
    beside: sidecarPath(shard.file),
    problem: (header, path) => malformed(header) ?? staleness(header, path, shard),
    doubted: context.check === 'nothing',
    notice: context.notice,
  }
}

/** What an index of a shard must have. Right checksums do not show that: another program may have written it. */
function malformed({ kind, count, columns, meta }: IndexHeader): string | undefined {
  if (kind !== 'tar') return `it is an index of "${kind}"`
  const { digest, columns: names, small, shard } = meta as Partial<ShardMeta>
  const isNames = Array.isArray(names) && names.every(name => typeof name === 'string')
  const isSmall = Array.isArray(small) && small.every(entry => typeof entry?.name === 'string')
  if (typeof digest !== 'string' || !isNames || !isSmall)
    return 'it is malformed: what it tells of its samples'
  if (!isIndexedObject(shard)) return 'it is malformed: what it tells of its shard'
  const members = columns.offset?.length
  const lengths: [string, number | undefined][] = [
    ['key', count],
    ['keyHash', count],
    ['start', count + 1],
    ['extension', members],
    ['offset', members],
    ['size', members],
    ['extensions', columns.extensions?.length],
    ['probes', columns.probes?.length],
    ...['repeat', 'ownKey'].flatMap(name =>
      columns[name] === undefined ? [] : [[name, count] as [string, number]],
    ),
    ...small.flatMap(({ name, number }) => [
      [`small.${name}`, count] as [string, number],
      ...(number ? [[`number.${name}`, count] as [string, number]] : []),
    ]),
  ]
  const wrong = lengths.find(([name, length]) => length === undefined || columns[name]?.length !== length)
  return wrong && `it is malformed: the length of column "${wrong[0]}"`
}

function staleness(header: IndexHeader, path: string, now: ShardPath): string | undefined {
  const { shard: was } = header.meta as unknown as ShardMeta
  if (was.size !== now.bytes) return `the shard had ${was.size} bytes, now it has ${now.bytes}`
  const version = now.version as LocalVersion | string
  if (typeof version === 'string' || 'version' in was) {
    const same = 'version' in was && was.version === version
    return same ? undefined : 'the shard has another version than the one that was indexed'
  }
  const like = likeness(was, version)
  if (like === 'same') return undefined
  if (like === 'changed') return 'the shard was changed after the index was made'
  const probes = new IndexFile(path, false, header).numbers('probes')
  if (!contentsAgree(now.file, { ...was, probes }))
    return 'the shard has other contents under the same size and time of change'
  rebind(path, header, version)
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

/** Binds the index to the file that the shard is now. Where that can't be written, the next run compares again. */
function rebind(path: string, { meta }: IndexHeader, { ctimeMs, ino }: LocalVersion): void {
  try {
    rewriteMeta(path, { ...meta, shard: { ...(meta as unknown as ShardMeta).shard, ctimeMs, ino } })
  } catch {
    // Read-only, or damaged: its checksums are compared next.
  }
}

async function buildShardIndex(
  shard: ShardPath,
  target: IndexTarget,
  { notice, check }: ShardContext,
  stores: Stores,
  progress?: (bytes: number) => void,
): Promise<void> {
  const { file, bytes } = shard
  const version = shard.version as LocalVersion | string
  const local = typeof version !== 'string'
  if (local && Math.abs(Date.now() - version.mtimeMs) < TICK) await sleep(TICK)
  const read: ReadAt = async (into, offset) => {
    const length = Math.max(0, Math.min(into.length, bytes - offset))
    if (length > 0) await readRange(stores, { file, offset, length }, into.subarray(0, length))
    return length
  }
  // Where a request costs as much as many bytes, more of them are read at a time.
  const store = stores.of(file)
  const piece = Math.max(PIECE.first, store.merge.gap)
  let samples =
    check === 'nothing'
      ? undefined
      : await readDaliIndex(shard, local ? read : buffered(read, piece), stores, notice)
  if (samples === undefined) {
    samples = new SampleColumns(file)
    await scanTar(read, bytes, file, samples, progress, piece)
  }
  const probes = new NumberBuilder()
  if (local) {
    const headers = samples.spread(PROBED).map(offset => offset - BLOCK)
    const probe = (into: Buffer, offset: number): unknown => store.readNow?.(file, offset, into)
    for (const number of takeProbes(probe, bytes, headers)) probes.push(number)
  }
  // A shard that is still being written would give an index of its past.
  const after = await statOf(stores, file)
  if (!isSame(version, after.version as LocalVersion | string)) {
    throw new SourceError(`${file} was changed while it was indexed: wait until it is finished`, { file })
  }
  const { count, columns, meta } = samples.finish()
  writeIndex(target, 'tar', count, { ...meta, shard: indexedObject(shard) }, { ...columns, probes })
}

function isSame(was: LocalVersion | string, now: LocalVersion | string): boolean {
  if (typeof was === 'string' || typeof now === 'string') return was === now
  return was.size === now.size && was.mtimeMs === now.mtimeMs && was.ino === now.ino
}
