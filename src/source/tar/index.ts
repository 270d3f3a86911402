/**
 * The index of one tar shard: `.train-0000.tar.millrace` beside `train-0000.tar`. It is built by a scan, or from DALI's index
 * if there is one that proves right. It is good as long as the shard is the file that was indexed. Where only inode or ctime
 * differ, as in a copy, some members are compared, and the index is then bound to the new file.
 */
import { closeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SourceError } from '../../basics/errors.js'
import { type FileIdentity, likeness, probesAgree, takeProbes } from '../../store/identity.js'
import { openRegular, refuseOthers, WITHOUT_WAITING } from '../../system/files/regular.js'
import { NumberBuilder } from '../index/columns.js'
import { IndexFile, type IndexHeader } from '../index/file.js'
import { findIndex, type IndexFound, type IndexWanted, obtainIndex } from '../index/place.js'
import { type IndexTarget, rewriteMeta, writeIndex } from '../index/write.js'
import type { OpenContext } from '../source.js'
import { readDaliIndex } from './foreign.js'
import { BLOCK } from './header.js'
import type { ShardPath } from './paths.js'
import { SampleColumns, type SampleMeta } from './samples.js'
import { type ReadAt, scanTar } from './scan.js'

/** As many samples of a shard, spread evenly, have probes: their first and their last member. */
const PROBED = 32
/** Two changes of a file within this time may leave the same time stamp. In ms. */
const TICK = 50

/** What the header of a shard's index tells besides the samples. */
export interface ShardMeta extends SampleMeta {
  shard: Required<Pick<FileIdentity, 'size' | 'mtimeMs' | 'ctimeMs' | 'ino'>>
}

export interface ShardIndex extends IndexFound {
  meta: ShardMeta
}

type ShardContext = Pick<OpenContext, 'notice' | 'check'>

/** The sidecar of a shard. */
export function sidecarPath(file: string): string {
  return join(dirname(file), `.${basename(file)}.millrace`)
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
  progress?: (bytes: number) => void,
): Promise<ShardIndex> {
  return withMeta(await obtainIndex(wanted(shard, context, progress)))
}

function withMeta(found: IndexFound): ShardIndex {
  return { ...found, meta: found.header.meta as unknown as ShardMeta }
}

function wanted(shard: ShardPath, context: ShardContext, progress?: (bytes: number) => void): IndexWanted {
  return {
    data: shard.file,
    beside: sidecarPath(shard.file),
    problem: (header, path) => malformed(header) ?? staleness(header, path, shard),
    build: target => buildShardIndex(shard, target, context, progress),
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
  const { size, mtimeMs, ctimeMs, ino } = shard ?? {}
  if ([size, mtimeMs, ctimeMs, ino].some(number => typeof number !== 'number'))
    return 'it is malformed: what it tells of its shard'
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
  const like = likeness(was, { ...now, size: now.bytes })
  if (like === 'same') return undefined
  if (was.size !== now.bytes) return `the shard had ${was.size} bytes, now it has ${now.bytes}`
  if (like === 'changed') return 'the shard was changed after the index was made'
  const probes = new IndexFile(path, false, header).numbers('probes')
  if (!contentsAgree(now.file, { ...was, probes }))
    return 'the shard has other contents under the same size and time of change'
  rebind(path, header, now)
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
function rebind(path: string, { meta }: IndexHeader, { ctimeMs, ino }: ShardPath): void {
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
  progress?: (bytes: number) => void,
): Promise<void> {
  if (Math.abs(Date.now() - shard.mtimeMs) < TICK) await sleep(TICK)
  const handle = await open(shard.file, WITHOUT_WAITING).catch(error => {
    throw new SourceError(`can't read ${shard.file}: ${error.code}`, { file: shard.file, cause: error })
  })
  try {
    const read: ReadAt = async (into, position) => {
      let filled = 0
      while (filled < into.length) {
        const { bytesRead } = await handle.read(into, filled, into.length - filled, position + filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return filled
    }
    refuseOthers(shard.file, await handle.stat())
    let samples = check === 'nothing' ? undefined : await readDaliIndex(shard.file, shard.bytes, read, notice)
    if (samples === undefined) {
      samples = new SampleColumns(shard.file)
      await scanTar(read, shard.bytes, shard.file, samples, progress)
    }
    const headers = samples.spread(PROBED).map(offset => offset - BLOCK)
    const probes = new NumberBuilder()
    for (const number of takeProbes(handle.fd, shard.bytes, headers)) probes.push(number)
    // A shard that is still being written would give an index of its past.
    const after = await handle.stat()
    if (after.size !== shard.bytes || after.mtimeMs !== shard.mtimeMs || after.ino !== shard.ino) {
      throw new SourceError(`${shard.file} was changed while it was indexed: wait until it is finished`, {
        file: shard.file,
      })
    }
    const { count, columns, meta } = samples.finish()
    const { bytes: size, mtimeMs, ctimeMs, ino } = shard
    const identity: ShardMeta['shard'] = { size, mtimeMs, ctimeMs, ino }
    writeIndex(target, 'tar', count, { ...meta, shard: identity }, { ...columns, probes })
  } finally {
    await handle.close()
  }
}
