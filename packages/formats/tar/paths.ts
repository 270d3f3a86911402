/**
 * Finds the shards that a tar source names (find/data-files.ts), and those that the shard lists of wids (`shards.json`) name.
 */

import { inFile, SourceError } from '../../core/basics/errors.js'
import type { PathsJson } from '../../core/define/types.js'
import {
  type DataFile,
  describeFiles,
  expandPattern,
  type FileWords,
  type NamedFile,
  patternsOf,
  statNamed,
} from '../../core/source/find/data-files.js'
import { folderOf, resolveFolder, resolveName } from '../../core/source/find/names.js'
import { readWhole } from '../../core/store/access.js'
import type { Stores } from '../../core/store/stores.js'
import { withPath } from '../paths.js'
import { boundName, leadsOut } from '../shared/within.js'

/** `root`: where the shards that a shard list names may lie, besides the folder of the list. */
export type TarJson = PathsJson | { path: PathsJson; root?: string }

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

export async function findShards(json: TarJson, root: string, stores: Stores): Promise<ShardPath[]> {
  const wanted: Named[] = []
  const { path, root: given } = withPath(json)
  const listRoot = given === undefined ? undefined : resolveFolder(root, given)
  for (const pattern of patternsOf(path)) {
    for (const found of await expandPattern(pattern, resolveName(root, unpiped(pattern)), stores, WORDS)) {
      if (isShard(found.file)) wanted.push(found)
      else wanted.push(...(await widsShards(found.file, pattern, listRoot, stores)))
    }
  }
  const shards = await describeFiles(wanted, stores, WORDS)
  shards.forEach(checkBytes)
  return shards
}

function unpiped(pattern: string): string {
  if (pattern.startsWith('pipe:')) {
    throw new SourceError(
      `"${pattern}": Millrace runs no commands from a definition, and a pipe can't be read at random; ` +
        'download the shards and name the files',
    )
  }
  return pattern
}

/** Whether a file is a shard rather than a list of shards. */
function isShard(file: string): boolean {
  if (/\.(tar\.gz|tgz|tar\.zst|tar\.bz2|tar\.xz)$/i.test(file)) {
    throw inFile(
      file,
      `is compressed as a whole, so its samples can't be read one by one: unpack it ` +
        '(`gunzip -k`, `unzstd`, …) and name the .tar; single members may be compressed (`x.json.gz`)',
    )
  }
  return !file.endsWith('.json')
}

/** wids: `{"__kind__": "wids-shard-index-v1", "shardlist": [{"url", "nsamples", "filesize"?}]}`, urls relative to the file. */
async function widsShards(
  list: string,
  pattern: string,
  root: string | undefined,
  stores: Stores,
): Promise<Named[]> {
  const { bytes } = await statNamed({ file: list, pattern }, stores, WORDS)
  if (bytes > MOST_LIST) {
    throw inFile(
      list,
      `has ${bytes} bytes: a shard list of wids has ${MOST_LIST} at most; name the shards by a pattern`,
    )
  }
  const text = (await readWhole(stores, list, MOST_LIST)).toString()
  let json: { shardlist?: Entry[] }
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw inFile(list, `is no JSON: ${(error as Error).message}`, { cause: error })
  }
  const right = (entry: Entry | null): boolean =>
    typeof entry?.url === 'string' &&
    !entry.url.includes('\0') &&
    isCount(entry.nsamples) &&
    isCount(entry.filesize)
  if (!Array.isArray(json?.shardlist) || !json.shardlist.every(right)) {
    throw inFile(
      list,
      'is no shard list of wids: it needs "shardlist": [{"url": …, "nsamples": …}], counts being whole numbers',
    )
  }
  const bounds = { folder: folderOf(list), root }
  const bound = json.shardlist.map(({ url }) => boundName(unpiped(url), bounds))
  const outside = bound.findIndex(({ inside }) => !inside)
  if (outside >= 0)
    throw leadsOut(
      `${list}: shard ${json.shardlist[outside].url}`,
      bound.flatMap(({ file, inside }) => (inside ? [] : [file])),
      bounds,
    )
  return json.shardlist.map(({ nsamples, filesize }, i) => ({
    file: bound[i].file,
    pattern: list,
    expected: { list, samples: nsamples ?? undefined, bytes: filesize ?? undefined },
  }))
}

function checkBytes({ file, bytes, expected }: ShardPath): void {
  if (expected?.bytes === undefined || expected.bytes === bytes) return
  throw inFile(
    file,
    `has ${bytes} bytes, ${expected.list} says ${expected.bytes}: the shard is cut short, or the list is old`,
  )
}

interface Entry {
  url: string
  nsamples?: number | null
  filesize?: number | null
}

const isCount = (value: unknown): boolean =>
  value === undefined || value === null || (Number.isSafeInteger(value) && (value as number) >= 0)
