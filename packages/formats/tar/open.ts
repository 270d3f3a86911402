/**
 * Opens tar shards in WebDataset's form: finds them, finds or builds the index of each (tar/index.ts), and tells the user
 * what may be wrong with them. tar/tar-source.ts reads them while the feed runs.
 */
import { inFile, SourceError } from '../../core/basics/errors.js'
import { IndexFile } from '../../core/source/index/file.js'
import type { OpenContext, SourceKind } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { indexedFiles } from '../indexed-files.js'
import { type Opened, openMany } from '../shared/index-of-source.js'
import { indexShards, type ShardIndex, type ShardMeta } from './index.js'
import { findShards, type ShardPath, type TarJson } from './paths.js'
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
  const { files, ...common } = indexedFiles('tar', shards, indexes, 'members need names like "key.jpg"')
  const manifest: TarManifest = {
    ...common,
    shards: files,
    columns: [...new Set(indexes.flatMap(({ meta }) => meta.columns))],
    indexed: indexedColumns(indexes),
    most: context.most ?? {},
  }
  return { manifest, indexes }
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
  throw inFile(
    file,
    `has ${header.count} samples, ${expected.list} says ${expected.samples}: the shard is cut short, ` +
      'or the list is old',
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

/**
 * Finds samples whose members are not adjacent in their shard: `tar` writes them so from a folder that it does not sort. Each
 * piece counts as a sample of its own, so labels are lost, and there are more samples than there should be.
 */

/** What to tell about a shard; undefined where all is well. Pieces of one sample have no extension in common. */
function scatteredIn(file: string, indexPath: string): string | undefined {
  const index = new IndexFile(indexPath)
  if (!index.has('repeat')) return undefined
  const [keys, hashes, repeats] = [index.text('key'), index.numbers('keyHash'), index.numbers('repeat')]
  const [starts, extensions] = [index.numbers('start'), index.numbers('extension')]
  const repeated = new Set(hashes.filter((_, row) => repeats[row] > 0))
  const first = new Map<string, Set<number>>()
  const scattered = new Set<string>()
  hashes.forEach((hash, row) => {
    if (!repeated.has(hash)) return
    const key = keys.at(row)
    const own = extensions.subarray(starts[row], starts[row + 1])
    const before = first.get(key)
    if (before === undefined) first.set(key, new Set(own))
    else if (own.every(extension => !before.has(extension))) scattered.add(key)
  })
  if (scattered.size === 0) return undefined
  const [such] = scattered
  return (
    `${file}: the members of ${scattered.size} of its samples (such as "${such}") are not adjacent, so each piece counts as a ` +
    'sample: write it again sorted by name (tar --sort=name)'
  )
}
