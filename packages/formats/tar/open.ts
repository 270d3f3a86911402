/**
 * Opens tar shards in WebDataset's form: finds them, finds or builds the index of each (tar/index.ts), and tells the user
 * what may be wrong with them. tar/tar-source.ts reads them while the feed runs.
 */
import { createHash } from 'node:crypto'
import { SourceError } from '../../core/basics/errors.js'
import { joined } from '../../core/source/combine/combined.js'
import type { Fingerprint, OpenContext, SourceKind } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'
import { Stores } from '../../core/store/stores.js'
import { type Opened, openMany } from '../shared/index-of-source.js'
import { indexShards, type ShardIndex, type ShardMeta } from './index.js'
import type { TarJson } from './paths.js'
import { findShards, type ShardPath } from './paths.js'
import { scatteredIn } from './scattered.js'
import { type TarManifest, TarSource } from './tar-source.js'

/** A shard with more extensions than this has keys with dots rather than so many columns. */
const MANY_EXTENSIONS = 256
/** Python's pickles run code when they are read. */
const PICKLES = ['pyd', 'pkl', 'pickle', 'pth', 'pt']

async function openTar(json: TarJson, context: OpenContext): Promise<TarManifest> {
  refusePickles(context.wanted)
  using stores = new Stores()
  const shards = await findShards(json, context.root, stores)
  const expected = shards.map(shard => shard.expected?.samples)
  return await openMany('tar', shards, expected, context, context => openIndexes(shards, context, stores))
}

async function openIndexes(
  shards: readonly ShardPath[],
  context: OpenContext,
  stores: Stores,
): Promise<Opened<TarManifest>> {
  const indexes = await indexShards(shards, context, stores)
  shards.forEach((shard, i) => {
    checkCount(shard, indexes[i])
    if (indexes[i].header.columns.extensions.length > MANY_EXTENSIONS)
      context.notice?.(dottedKeys(shard, indexes[i]))
    if (indexes[i].meta.links !== undefined) context.notice?.(linksLeftOut(shard, indexes[i].meta.links))
    const scattered = context.notice && scatteredIn(shard.file, indexes[i].path)
    if (scattered !== undefined) context.notice?.(scattered)
  })
  const manifest: TarManifest = {
    kind: 'tar',
    fingerprint: fingerprint(shards, indexes),
    stamp: joined(shards.map(({ version }, i) => `${timeOf(version)} ${indexes[i].header.checksum}`)),
    indexBytes: indexes.reduce((sum, index) => sum + index.header.bytes, 0),
    shards: shards.map(({ file, name, version: was }, i) => {
      const { path, header } = indexes[i]
      return { file, name, index: path, checksum: header.checksum, count: header.count, was }
    }),
    columns: [...new Set(indexes.flatMap(({ meta }) => meta.columns))],
    indexed: indexedColumns(indexes),
    most: context.most ?? {},
  }
  return { manifest, indexes }
}

/** What tells that a shard was written again. */
function timeOf(version: Version): string | number {
  return typeof version === 'string' ? version : version.mtimeMs
}

function refusePickles(wanted: readonly string[]): void {
  for (const column of wanted) {
    const extension = column.split('.').at(-1) as string
    if (!PICKLES.includes(extension)) continue
    throw new SourceError(
      `column "${column}" holds Python pickles, which run code when they are read: Millrace never decodes them; ` +
        'write the values as .cls, .json or .npy',
    )
  }
}

function checkCount({ file, expected }: ShardPath, { header }: ShardIndex): void {
  if (expected?.samples === undefined || expected.samples === header.count) return
  throw new SourceError(
    `${file} has ${header.count} samples, ${expected.list} says ${expected.samples}: the shard is cut short, ` +
      'or the list is old',
    { file },
  )
}

function linksLeftOut({ file }: ShardPath, { count, first }: NonNullable<ShardMeta['links']>): string {
  return (
    `${file}: ${count} ${count === 1 ? 'member is a link' : 'members are links'} (such as "${first}") and left out, since a link ` +
    'has no bytes: write it again with `tar --dereference --hard-dereference`'
  )
}

function dottedKeys({ file }: ShardPath, { header, meta }: ShardIndex): string {
  return (
    `${file} has ${header.columns.extensions.length} different extensions, such as "${meta.columns[0]}": a key ends ` +
    'at the first dot of the name; pack again with keys that have none'
  )
}

function fingerprint(shards: readonly ShardPath[], indexes: readonly ShardIndex[]): Fingerprint {
  const hash = createHash('sha256')
  const parts = shards.map(({ name, bytes }, i) => {
    const { header, meta } = indexes[i]
    hash.update(`${name}\n${header.count}\n${meta.digest}\n`)
    return { name, count: header.count, bytes }
  })
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  if (count === 0) {
    throw new SourceError(
      `no sample in ${shards.map(({ file }) => file).join(', ')}: members need names like "key.jpg"`,
      {
        file: shards[0].file,
      },
    )
  }
  return { kind: 'tar', count, digest: hash.digest('hex').slice(0, 32), parts }
}

/** Columns of which every shard that has them holds every value; numbers only if they are numbers everywhere. */
function indexedColumns(indexes: readonly ShardIndex[]): TarManifest['indexed'] {
  const types = new Map<string, 'number' | 'string'>()
  for (const { meta } of indexes) {
    for (const { name, number } of meta.small) {
      if (types.get(name) !== 'string') types.set(name, number ? 'number' : 'string')
    }
  }
  return [...types]
    .filter(([name]) =>
      indexes.every(({ meta }) => !meta.columns.includes(name) || meta.small.some(s => s.name === name)),
    )
    .map(([name, type]) => ({ name, type }))
}

export const tar: SourceKind<TarJson> = {
  open: openTar,
  attach: manifest => new TarSource(manifest as TarManifest),
  async shards(json, root) {
    using stores = new Stores()
    return (await findShards(json, root, stores)).map(({ file }) => file)
  },
}
