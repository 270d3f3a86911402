/** Finds the shards that an index.json names, and reads the offsets of those that are not compressed. */

import { createHash } from 'node:crypto'
import { inFile, SourceError } from '../../core/basics/errors.js'
import { inParallel } from '../../core/basics/parallel.js'
import { joined } from '../../core/source/combine/combined.js'
import { findDataFiles, patternsOf } from '../../core/source/find/data-files.js'
import { folderOf, resolveName } from '../../core/source/find/names.js'
import type { Fingerprint } from '../../core/source/source.js'
import { ASKED_AT_ONCE, readRange, readWhole, statOf } from '../../core/store/access.js'
import { isMissing, type Stat } from '../../core/store/store.js'
import type { Stores } from '../../core/store/stores.js'
import type { Shard } from './manifest.js'
import { checkTable } from './shard-source.js'

/** Bytes of an index.json: some millions of shards. */
const MOST_INDEX = 512 << 20

/** An index.json that a definition names. */
export interface FoundIndex {
  /** Its full name, and the folder that shards are relative to. */
  file: string
  folder: string
  /** What stands before the names of its shards in ids. */
  prefix: string
  json: Record<string, unknown>
  /** Of its text. */
  digest: string
}

/** The index.json of each folder that is named. */
export async function findIndexes(
  spec: string | readonly string[],
  root: string,
  stores: Stores,
  source: string,
): Promise<FoundIndex[]> {
  const named = patternsOf(spec).map(path =>
    path.endsWith('.json') ? path : `${path.replace(/\/$/, '')}/index.json`,
  )
  const files = await findDataFiles(named, root, stores, { source, what: 'index' })
  const indexes: FoundIndex[] = []
  for (const { file, name } of files) {
    const text = (await readWhole(stores, file, MOST_INDEX)).toString()
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch (cause) {
      throw inFile(file, `is no JSON: ${(cause as Error).message}: copy or write it again`, { cause })
    }
    if (typeof json !== 'object' || json === null)
      throw inFile(file, `is no index of ${source}: it should be an object`)
    const prefix = files.length === 1 ? '' : name.replace(/[^/]*$/, '')
    const digest = createHash('sha256').update(text).digest('hex')
    indexes.push({ file, folder: folderOf(file), prefix, json: json as Record<string, unknown>, digest })
  }
  return indexes
}

/** The full name of a shard. Names never lead out of the folder of their index. */
export function shardFile({ file, folder }: FoundIndex, name: unknown): string {
  const right =
    typeof name === 'string' &&
    name !== '' &&
    !/^[/~]|\\|\0|:\/\/|^file:/.test(name) &&
    !name.split('/').some(part => part === '..' || part === '.' || part === '')
  if (!right)
    throw inFile(file, `names a shard ${JSON.stringify(name)}: it should be a file below its own folder`)
  return resolveName(folder, name as string)
}

/** A shard's size and version; undefined where it is missing. */
export async function statShard(stores: Stores, file: string): Promise<Stat | undefined> {
  try {
    return await statOf(stores, file)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Does something for each shard, many at once: they may lie far away. */
export function forShards<T, R>(
  shards: readonly T[],
  work: (shard: T, i: number) => Promise<R>,
): Promise<R[]> {
  return inParallel(shards, ASKED_AT_ONCE, work)
}

export function missingShard(file: string, index: string): SourceError {
  return new SourceError(`shard ${file} is missing, ${index} names it: copy it, or write the index again`, {
    file,
  })
}

export function wrongSize(file: string, index: string, bytes: number, told: number): SourceError {
  return inFile(
    file,
    `has ${bytes} bytes, ${index} says ${told}: the shard is cut short, or the index is old`,
  )
}

/** Times, or versions, of all shards. */
export function stampOf(shards: readonly { was: Stat['version'] }[]): string | undefined {
  return joined(shards.map(({ was }) => `${typeof was === 'string' ? was : was.mtimeMs}`))
}

/** A whole number that is not negative. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

interface TableOf {
  file: string
  count: number
  bytes: number
  was: Stat['version']
  /** Where its offsets begin in the table. */
  table: number
}

/** Reads the offsets of shards into one table. */
export async function readTables(stores: Stores, shards: readonly TableOf[]): Promise<SharedArrayBuffer> {
  const words = shards.reduce((sum, { count }) => sum + count + 1, 0)
  for (const { file, count, bytes } of shards)
    if (4 * (count + 2) > bytes)
      throw inFile(file, `has ${bytes} bytes, too few for the ${count} samples that index.json tells of`)
  const table = new SharedArrayBuffer(4 * words)
  await forShards(shards, async ({ file, count, bytes, was, table: at }) => {
    const head = Buffer.allocUnsafeSlow(4 * (count + 2))
    await readRange(stores, { file, offset: 0, length: head.length, was }, head)
    try {
      checkTable(head, count, file, bytes)
    } catch (error) {
      throw new SourceError((error as Error).message, { file, offset: 0, cause: error })
    }
    new Uint8Array(table, 4 * at, 4 * (count + 1)).set(head.subarray(4))
  })
  return table
}

/** Gives each shard its place in the table of offsets. */
export function placeTables(shards: readonly Shard[]): void {
  let at = 0
  for (const shard of shards) {
    shard.table = at
    at += shard.count + 1
  }
}

/** The fingerprint of shards; `form` is what decides their rows besides. Where there is none, `none` says why. */
export function shardsPrint(
  kind: string,
  form: unknown,
  parts: NonNullable<Fingerprint['parts']>,
  none: () => SourceError,
): Fingerprint {
  const hash = createHash('sha256').update(JSON.stringify(form))
  for (const { name, count, bytes } of parts) hash.update(`${name}\n${count}\n${bytes}\n`)
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  if (count === 0) throw none()
  return { kind, count, digest: hash.digest('hex').slice(0, 32), parts }
}
