/**
 * Finds the shards that a tar source names (find/data-files.ts), and those that the shard lists of wids (`shards.json`) name.
 */
import { SourceError } from '../../basics/errors.js'
import { readWhole } from '../../store/access.js'
import type { Stores } from '../../store/stores.js'
import {
  type DataFile,
  describeFiles,
  expandPattern,
  type FileWords,
  type NamedFile,
  patternsOf,
  statNamed,
} from '../find/data-files.js'
import { folderOf, resolveName } from '../find/names.js'

export interface ShardPath extends DataFile {
  /** What a shard list says about it. */
  expected?: { samples?: number; bytes?: number; list: string }
}

/** A shard that a definition names. */
interface Named extends NamedFile {
  expected?: ShardPath['expected']
}

const WORDS: FileWords = {
  source: 'tar',
  what: 'shard',
  folderHint: 'use the source "folder", or name its shards, as in "*.tar"',
}

/** Bytes of a shard list: some 100,000 shards. */
const MOST_LIST = 16 << 20

export async function findShards(
  spec: string | readonly string[],
  root: string,
  stores: Stores,
): Promise<ShardPath[]> {
  const wanted: Named[] = []
  for (const pattern of patternsOf(spec)) {
    for (const found of await expandPattern(pattern, fullName(pattern, root), stores, WORDS)) {
      if (isShard(found.file)) wanted.push(found)
      else wanted.push(...(await widsShards(found.file, pattern, stores)))
    }
  }
  const shards = await describeFiles(wanted, stores, WORDS)
  shards.forEach(checkBytes)
  return shards
}

function fullName(pattern: string, root: string): string {
  if (pattern.startsWith('pipe:')) {
    throw new SourceError(
      `"${pattern}": Millrace runs no commands from a definition, and a pipe can't be read at random; ` +
        'download the shards and name the files',
    )
  }
  return resolveName(root, pattern)
}

/** Whether a file is a shard rather than a list of shards. */
function isShard(file: string): boolean {
  if (/\.(tar\.gz|tgz|tar\.zst|tar\.bz2|tar\.xz)$/i.test(file)) {
    throw new SourceError(
      `${file} is compressed as a whole, so its samples can't be read one by one: unpack it ` +
        '(`gunzip -k`, `unzstd`, …) and name the .tar; single members may be compressed (`x.json.gz`)',
      { file },
    )
  }
  return !file.endsWith('.json')
}

/** wids: `{"__kind__": "wids-shard-index-v1", "shardlist": [{"url", "nsamples", "filesize"?}]}`, urls relative to the file. */
async function widsShards(list: string, pattern: string, stores: Stores): Promise<Named[]> {
  const { bytes } = await statNamed({ file: list, pattern }, stores, WORDS)
  if (bytes > MOST_LIST) {
    throw new SourceError(
      `${list} has ${bytes} bytes: a shard list of wids has ${MOST_LIST} at most; name the shards by a pattern`,
      { file: list },
    )
  }
  const text = (await readWhole(stores, list, MOST_LIST)).toString()
  let json: { shardlist?: Entry[] }
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new SourceError(`${list} is no JSON: ${(error as Error).message}`, { file: list, cause: error })
  }
  const right = (entry: Entry | null): boolean =>
    typeof entry?.url === 'string' &&
    !entry.url.includes('\0') &&
    isCount(entry.nsamples) &&
    isCount(entry.filesize)
  if (!Array.isArray(json?.shardlist) || !json.shardlist.every(right)) {
    throw new SourceError(
      `${list} is no shard list of wids: it needs "shardlist": [{"url": …, "nsamples": …}], counts being whole numbers`,
      {
        file: list,
      },
    )
  }
  return json.shardlist.map(({ url, nsamples, filesize }) => ({
    file: fullName(url, folderOf(list)),
    pattern: list,
    expected: { list, samples: nsamples ?? undefined, bytes: filesize ?? undefined },
  }))
}

function checkBytes({ file, bytes, expected }: ShardPath): void {
  if (expected?.bytes === undefined || expected.bytes === bytes) return
  throw new SourceError(
    `${file} has ${bytes} bytes, ${expected.list} says ${expected.bytes}: the shard is cut short, or the list is old`,
    { file },
  )
}

interface Entry {
  url: string
  nsamples?: number | null
  filesize?: number | null
}

const isCount = (value: unknown): boolean =>
  value === undefined || value === null || (Number.isSafeInteger(value) && (value as number) >= 0)
