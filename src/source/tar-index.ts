/**
 * The index of one tar shard: `.train-0000.tar.millrace` beside `train-0000.tar`. Built by a scan, or from an index
 * of DALI's if there is one that proves right; good as long as the shard keeps its size and time of change.
 */
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { SourceError } from '../errors.js'
import { type IndexHeader, writeIndex } from './index-file.js'
import { findIndex, type IndexFound, type IndexWanted, obtainIndex } from './index-place.js'
import type { OpenContext } from './source.js'
import { readDaliIndex } from './tar-foreign.js'
import type { ShardPath } from './tar-paths.js'
import { SampleColumns, type SampleMeta } from './tar-samples.js'
import { type ReadAt, scanTar } from './tar-scan.js'

/** What the header of a shard's index tells besides the samples. */
export interface ShardMeta extends SampleMeta {
  shard: { bytes: number; mtimeMs: number }
}

export interface ShardIndex extends IndexFound {
  meta: ShardMeta
}

/** The sidecar of a shard. */
export function sidecarPath(file: string): string {
  return join(dirname(file), `.${basename(file)}.millrace`)
}

/** An index that is there and up to date. */
export function findShardIndex(shard: ShardPath): ShardIndex | undefined {
  const found = findIndex(wanted(shard, {}))
  return found && withMeta(found)
}

/** The index of a shard, built if need be. */
export async function obtainShardIndex(
  shard: ShardPath,
  context: Pick<OpenContext, 'notice'>,
  progress?: (bytes: number) => void,
): Promise<ShardIndex> {
  return withMeta(await obtainIndex(wanted(shard, context, progress)))
}

function withMeta(found: IndexFound): ShardIndex {
  return { ...found, meta: found.header.meta as unknown as ShardMeta }
}

function wanted(
  shard: ShardPath,
  { notice }: Pick<OpenContext, 'notice'>,
  progress?: (bytes: number) => void,
): IndexWanted {
  return {
    data: shard.file,
    beside: sidecarPath(shard.file),
    problem: header => staleness(header, shard),
    build: path => buildShardIndex(shard, path, notice, progress),
    notice,
  }
}

function staleness(header: IndexHeader, { bytes, mtimeMs }: ShardPath): string | undefined {
  if (header.kind !== 'tar') return `it is an index of "${header.kind}"`
  const { shard } = header.meta as unknown as ShardMeta
  if (shard.bytes !== bytes) return `the shard had ${shard.bytes} bytes, now it has ${bytes}`
  if (shard.mtimeMs !== mtimeMs) return 'the shard was changed after the index was made'
  return undefined
}

async function buildShardIndex(
  shard: ShardPath,
  path: string,
  notice?: (text: string) => void,
  progress?: (bytes: number) => void,
): Promise<void> {
  const handle = await open(shard.file).catch(error => {
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
    let samples = await readDaliIndex(shard.file, shard.bytes, read, notice)
    if (samples === undefined) {
      samples = new SampleColumns(shard.file)
      await scanTar(read, shard.bytes, shard.file, samples, progress)
    }
    // A shard that is still being written would give an index of its past.
    const after = await handle.stat()
    if (after.size !== shard.bytes || after.mtimeMs !== shard.mtimeMs) {
      throw new SourceError(`${shard.file} was changed while it was indexed: wait until it is finished`, {
        file: shard.file,
      })
    }
    const { count, columns, meta } = samples.finish()
    const { bytes, mtimeMs } = shard
    writeIndex(path, 'tar', count, { ...meta, shard: { bytes, mtimeMs } }, columns)
  } finally {
    await handle.close()
  }
}
