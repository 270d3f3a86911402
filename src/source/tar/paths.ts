/**
 * Finds the shards that a tar source names: by paths, lists, brace patterns, globs, `::` joins, and the shard lists of wids
 * (`shards.json`). They stay in the order of the definition; what a glob finds is sorted by name.
 */

import { type Dirent, readdirSync, statSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SourceError } from '../../basics/errors.js'
import { expandHome } from '../../basics/path.js'
import { kindOf, readRegular } from '../../system/files/regular.js'
import { expandBraces } from '../find/braces.js'
import { commonFolder } from '../find/common-folder.js'
import { compileGlob, isGlob } from '../find/glob.js'

export interface ShardPath {
  /** Absolute path. */
  file: string
  /** Name in ids and in the fingerprint: the basename where those differ, otherwise relative to the common folder. */
  name: string
  bytes: number
  mtimeMs: number
  ctimeMs: number
  ino: number
  /** What a shard list says about it. */
  expected?: { samples?: number; list: string }
}

/** Bytes of a shard list: some 100,000 shards. */
const MOST_LIST = 16 << 20

type Found = Omit<ShardPath, 'name'>

export function findShards(spec: string | readonly string[], root: string): ShardPath[] {
  const patterns = (typeof spec === 'string' ? [spec] : [...spec]).flatMap(text => text.split('::'))
  const found = patterns.flatMap(pattern => expandPattern(pattern, root))
  if (found.length === 0) throw new SourceError('a tar source without a single shard: name at least one file')
  const names = shardNames(found.map(shard => shard.file))
  return found.map((shard, i) => ({ ...shard, name: names[i] }))
}

function expandPattern(pattern: string, root: string): Found[] {
  const local = localPath(pattern, root)
  let names: string[]
  try {
    names = expandBraces(local)
  } catch (error) {
    throw new SourceError(`tar: ${(error as Error).message}`, { cause: error })
  }
  return names.flatMap(name => (isGlob(name) ? glob(name, pattern) : shardOrList(name, pattern)))
}

function localPath(pattern: string, root: string): string {
  if (pattern.startsWith('pipe:')) {
    throw new SourceError(
      `"${pattern}": Millrace runs no commands from a definition, and a pipe can't be read at random; ` +
        'download the shards and name the files',
    )
  }
  if (pattern.startsWith('file:')) return pathOfUrl(pattern)
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(pattern)
  if (scheme !== null) {
    throw new SourceError(
      `"${pattern}": shards behind ${scheme[1]}:// can't be read yet; download them first`,
    )
  }
  const path = expandHome(pattern)
  return isAbsolute(path) ? path : resolve(root, path)
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url)
  } catch (error) {
    throw new SourceError(`"${url}" is no path of a file here: ${(error as Error).message}`, { cause: error })
  }
}

function shardOrList(file: string, pattern: string): Found[] {
  if (/\.(tar\.gz|tgz|tar\.zst|tar\.bz2|tar\.xz)$/i.test(file)) {
    throw new SourceError(
      `${file} is compressed as a whole, so its samples can't be read one by one: unpack it ` +
        '(`gunzip -k`, `unzstd`, …) and name the .tar; single members may be compressed (`x.json.gz`)',
      { file },
    )
  }
  return file.endsWith('.json') ? widsShards(file, pattern) : [statShard(file, pattern)]
}

function statShard(file: string, pattern: string): Found {
  try {
    const stat = statSync(file)
    if (stat.isDirectory()) {
      throw new SourceError(
        `${file} is a folder: use the source "folder", or name its shards, as in "*.tar"`,
        { file },
      )
    }
    if (!stat.isFile()) {
      throw new SourceError(`${file} is ${kindOf(stat)}, not a regular file: name the file itself`, { file })
    }
    const { size: bytes, mtimeMs, ctimeMs, ino } = stat
    return { file, bytes, mtimeMs, ctimeMs, ino }
  } catch (error) {
    if (error instanceof SourceError) throw error
    const code = (error as NodeJS.ErrnoException).code
    const from = file.endsWith(pattern) ? '' : ` (from the pattern "${pattern}")`
    const problem = code === 'ENOENT' ? `shard ${file} is missing` : `can't look at shard ${file}: ${code}`
    throw new SourceError(`${problem}${from}: check the path, or correct the pattern`, { file, cause: error })
  }
}

function glob(path: string, pattern: string): Found[] {
  const { base, test, depth } = compileGlob(path)
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
  if (files.length === 0) throw new SourceError(`no file matches "${pattern}" in ${base}`, { file: base })
  return files.sort().flatMap(file => shardOrList(file, pattern))
}

/** wids: `{"__kind__": "wids-shard-index-v1", "shardlist": [{"url", "nsamples", "filesize"?}]}`, urls relative to the file. */
function widsShards(list: string, pattern: string): Found[] {
  const { bytes } = statShard(list, pattern)
  if (bytes > MOST_LIST) {
    throw new SourceError(
      `${list} has ${bytes} bytes: a shard list of wids has ${MOST_LIST} at most; name the shards by a pattern`,
      { file: list },
    )
  }
  let json: { shardlist?: Entry[] }
  try {
    json = JSON.parse(readRegular(list))
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
  return json.shardlist.map(({ url, nsamples, filesize }) => {
    const shard = statShard(localPath(url, dirname(list)), list)
    if (typeof filesize === 'number' && filesize !== shard.bytes) {
      throw new SourceError(
        `${shard.file} has ${shard.bytes} bytes, ${list} says ${filesize}: the shard is cut short, or the list is old`,
        { file: shard.file },
      )
    }
    return { ...shard, expected: { list, samples: nsamples ?? undefined } }
  })
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
  const seen = new Map<string, number>()
  return files.map(file => {
    const times = (seen.get(file) ?? 0) + 1
    seen.set(file, times)
    const name = common === undefined ? file.slice(file.lastIndexOf('/') + 1) : file.slice(common.length)
    return times === 1 ? name : `${name}#${times}`
  })
}
