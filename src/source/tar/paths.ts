/**
 * Finds the shards that a tar source names: by paths, lists, brace patterns, globs, `::` joins, and the shard lists of wids
 * (`shards.json`). They stay in the order of the definition; what a glob finds is sorted by name.
 */

import { type Dirent, readdirSync } from 'node:fs'
import { SourceError } from '../../basics/errors.js'
import { inParallel } from '../../basics/parallel.js'
import { ASKED_AT_ONCE, listOf, readWhole, statOf } from '../../store/access.js'
import { codeOf, type Stat } from '../../store/store.js'
import { type Stores, schemeOf } from '../../store/stores.js'
import { expandBraces } from '../find/braces.js'
import { commonFolder } from '../find/common-folder.js'
import { compileGlob, isGlob } from '../find/glob.js'
import { folderOf, prefixOf, resolveName } from '../find/names.js'

export interface ShardPath extends Stat {
  /** Absolute path, or a name with a scheme. */
  file: string
  /** Name in ids and in the fingerprint: the basename where those differ, otherwise relative to the common folder. */
  name: string
  /** What a shard list says about it. */
  expected?: { samples?: number; bytes?: number; list: string }
}

/** A shard that a definition names; what is known of it where it was listed. */
interface Named {
  file: string
  pattern: string
  stat?: Stat
  expected?: ShardPath['expected']
}

/** Bytes of a shard list: some 100,000 shards. */
const MOST_LIST = 16 << 20

export async function findShards(
  spec: string | readonly string[],
  root: string,
  stores: Stores,
): Promise<ShardPath[]> {
  const patterns = (typeof spec === 'string' ? [spec] : [...spec]).flatMap(text => text.split('::'))
  const wanted: Named[] = []
  for (const pattern of patterns) wanted.push(...(await expandPattern(pattern, root, stores)))
  if (wanted.length === 0)
    throw new SourceError('a tar source without a single shard: name at least one file')
  const names = shardNames(wanted.map(({ file }) => file))
  const stats = await inParallel(wanted, ASKED_AT_ONCE, shard => shard.stat ?? statShard(shard, stores))
  return wanted.map(({ file, expected }, i) => {
    const shard = { file, name: names[i], bytes: stats[i].bytes, version: stats[i].version, expected }
    checkBytes(shard)
    return shard
  })
}

async function expandPattern(pattern: string, root: string, stores: Stores): Promise<Named[]> {
  const full = fullName(pattern, root)
  let names: string[]
  try {
    names = expandBraces(full)
  } catch (error) {
    throw new SourceError(`tar: ${(error as Error).message}`, { cause: error })
  }
  const found: Named[] = []
  for (const file of names) {
    const files = isGlob(file) ? await glob(file, pattern, stores) : [{ file, pattern }]
    for (const shard of files) {
      if (isShard(shard.file)) found.push(shard)
      else found.push(...(await widsShards(shard.file, pattern, stores)))
    }
  }
  return found
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

async function statShard({ file, pattern }: Named, stores: Stores): Promise<Stat> {
  try {
    return await statOf(stores, file)
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || (schemeOf(file) !== undefined && code !== 'ENOENT')) throw error
    if (code === 'EISDIR') {
      throw new SourceError(
        `${file} is a folder: use the source "folder", or name its shards, as in "*.tar"`,
        { file },
      )
    }
    const cause = (error as Error).cause ?? error
    if (code === 'ENOTREG')
      throw new SourceError(`${(cause as Error).message}: name the file itself`, { file })
    const from = file.endsWith(pattern) ? '' : ` (from the pattern "${pattern}")`
    const problem = code === 'ENOENT' ? `shard ${file} is missing` : `can't look at shard ${file}: ${code}`
    throw new SourceError(`${problem}${from}: check the path, or correct the pattern`, { file, cause })
  }
}

/** What matches a pattern, sorted by name. */
async function glob(path: string, pattern: string, stores: Stores): Promise<Named[]> {
  const { base, test, depth } = compileGlob(path)
  const found: Named[] = []
  if (schemeOf(path) === undefined) {
    for (const file of localMatches(base, pattern, test, depth)) found.push({ file, pattern })
  } else {
    const folder = prefixOf(base)
    for await (const { name, bytes, version } of listOf(stores, folder)) {
      if (test(name.slice(folder.length))) found.push({ file: name, pattern, stat: { bytes, version } })
    }
  }
  if (found.length === 0) throw new SourceError(`no file matches "${pattern}" in ${base}`, { file: base })
  return found.sort((a, b) => (a.file < b.file ? -1 : 1))
}

function localMatches(
  base: string,
  pattern: string,
  test: (path: string) => boolean,
  depth: number,
): string[] {
  const files: string[] = []
  const walk = (folder: string, prefix: string, below: number): void => {
    let entries: Dirent[]
    try {
      entries = readdirSync(folder, { withFileTypes: true })
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      throw new SourceError(`can't list ${folder} for the pattern "${pattern}": ${code}`, {
        file: folder,
        cause: error,
      })
    }
    for (const entry of entries) {
      if (entry.isDirectory()) {
        if (below < depth) walk(`${folder}/${entry.name}`, `${prefix}${entry.name}/`, below + 1)
      } else if (test(prefix + entry.name)) files.push(`${folder}/${entry.name}`)
    }
  }
  walk(base, '', 0)
  return files
}

/** wids: `{"__kind__": "wids-shard-index-v1", "shardlist": [{"url", "nsamples", "filesize"?}]}`, urls relative to the file. */
async function widsShards(list: string, pattern: string, stores: Stores): Promise<Named[]> {
  const { bytes } = await statShard({ file: list, pattern }, stores)
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

/** Short names that tell the shards apart. A file that is listed twice gets "#2" the second time. */
function shardNames(files: readonly string[]): string[] {
  const different = new Set(files)
  const bases = new Set([...different].map(file => file.slice(file.lastIndexOf('/') + 1)))
  const common = bases.size === different.size ? undefined : commonFolder([...different])
  if (common === '') {
    throw new SourceError(
      'shards of several stores have the same names, so their samples would have the same ids: make a source of each store, ' +
        'and join them by "concat"',
    )
  }
  const seen = new Map<string, number>()
  return files.map(file => {
    const times = (seen.get(file) ?? 0) + 1
    seen.set(file, times)
    const name = common === undefined ? file.slice(file.lastIndexOf('/') + 1) : file.slice(common.length)
    return times === 1 ? name : `${name}#${times}`
  })
}
