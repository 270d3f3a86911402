/**
 * The index of one tar shard (index/of-file.ts says where it lies and how long it is good). It is built by a scan, or from
 * DALI's index if there is one that proves right.
 */
import type { IndexHeader } from '../../core/source/index/file.js'
import type { IndexedObject } from '../../core/source/index/indexed-object.js'
import {
  type BuiltIndex,
  type FileIndexKind,
  type IndexTools,
  wrongLength,
} from '../../core/source/index/of-file.js'
import type { IndexFound } from '../../core/source/index/place.js'
import { buffered } from '../../core/source/index/read-at.js'
import type { OpenContext } from '../../core/source/source.js'
import type { Stores } from '../../core/store/stores.js'
import { obtainFileIndexes } from '../shared/index-of-files.js'
import { readDaliIndex } from './foreign.js'
import { BLOCK } from './header.js'
import type { ShardPath } from './paths.js'
import { SampleColumns, type SampleMeta } from './samples.js'
import { PIECE, scanTar } from './scan.js'

/** As many samples of a shard, spread evenly, have probes: their first and their last member. */
const PROBED = 32

/** What the header of a shard's index tells besides the samples. */
export interface ShardMeta extends SampleMeta {
  /** The file that was indexed, or the version of the object. */
  shard: IndexedObject
}

export interface ShardIndex extends IndexFound {
  meta: ShardMeta
}

const SHARD: FileIndexKind<ShardPath> = { kind: 'tar', what: 'shard', malformed, build }

/** The indexes of all shards, built if need be. */
export async function indexShards(
  shards: readonly ShardPath[],
  context: OpenContext,
  stores: Stores,
): Promise<ShardIndex[]> {
  const found = await obtainFileIndexes(SHARD, shards, context, stores, 'indexing tar shards')
  return found.map(index => ({ ...index, meta: index.header.meta as unknown as ShardMeta }))
}

function malformed(header: IndexHeader): string | undefined {
  const { count, columns, meta } = header
  const { digest, columns: names, small } = meta as Partial<ShardMeta>
  const isNames = Array.isArray(names) && names.every(name => typeof name === 'string')
  const isSmall = Array.isArray(small) && small.every(entry => typeof entry?.name === 'string')
  if (typeof digest !== 'string' || !isNames || !isSmall)
    return 'it is malformed: what it tells of its samples'
  const members = columns.offset?.length
  return wrongLength(header, [
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
  ])
}

async function build(
  shard: ShardPath,
  { read, stores, piece, local, check, notice, progress }: IndexTools,
): Promise<BuiltIndex> {
  const { file, bytes } = shard
  const first = Math.max(PIECE.first, piece)
  let samples =
    check === 'nothing'
      ? undefined
      : await readDaliIndex(shard, local ? read : buffered(read, first), stores, notice)
  if (samples === undefined) {
    samples = new SampleColumns(file)
    await scanTar(read, bytes, file, samples, progress, first)
  }
  const probes = samples.spread(PROBED).map(offset => offset - BLOCK)
  const { count, columns, meta } = samples.finish()
  return { count, columns, meta: { ...meta }, probes }
}
