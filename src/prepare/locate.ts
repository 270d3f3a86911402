/** What a path on the command line means: a folder of files, tar shards, or a definition. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { SourceError } from '../basics/errors.js'
import { parseSource } from '../define/check/sources.js'
import { codeInSource, refuseCode } from '../define/code.js'
import type { SourceJson } from '../define/types.js'
import { TABLE_EXTENSIONS } from '../source/files/table.js'
import { isGlob } from '../source/find/glob.js'
import { prefixOf } from '../source/find/names.js'
import { listOf } from '../store/access.js'
import { Stores, schemeOf } from '../store/stores.js'
import { readRegular } from '../system/files/regular.js'

const ARROW = /\.(arrow|feather)$/i
const PARQUET = /\.(parquet|pq)$/i
/** What Hugging Face's datasets leave in a folder that they save. */
const DATASETS = ['state.json', 'dataset_dict.json']
const ZARR = /\.zarr(\.zip)?\/?$/i
/** One of these lies at the top of every Zarr store. */
const ZARR_ROOTS = ['zarr.json', '.zgroup', '.zarray', '.zmetadata']
const TAR = /\.(tar|tgz|tar\.gz)$/i

/**
 * The source that an argument stands for: `{"synthetic": …}` is a source as in a definition, `x.tar` and patterns of it are shards, a folder with tar files in it is
 * those shards, any other folder is a folder of images, any other pattern is files.
 */
export async function sourceAt(path: string, allowCode = false): Promise<SourceJson> {
  if (/^\s*\{\s*"/.test(path)) return sourceIn(path, allowCode)
  if (TAR.test(path)) return { tar: path }
  if (ARROW.test(path)) return { arrow: path }
  if (PARQUET.test(path)) return { parquet: path }
  if (ZARR.test(path)) return { zarr: path }
  if (isGlob(path) || path.includes('{')) return { files: path }
  if (schemeOf(path) !== undefined) return objectsAt(path)
  if (!existsSync(path)) {
    throw new SourceError(
      `there is nothing at ${path}: give a folder, a tar file or a pattern such as 'train-{0000..0015}.tar'`,
      {
        file: path,
      },
    )
  }
  if (isShardList(path)) return { tar: path }
  if (!statSync(path).isDirectory()) {
    if (isDefinition(path)) {
      throw new SourceError(
        `${path} defines a feed; here its data is wanted: name the folder or the shards`,
        {
          file: path,
        },
      )
    }
    return { files: isTable(path) ? { list: path } : path }
  }
  const names = readdirSync(path)
  if (names.some(name => DATASETS.includes(name))) return { arrow: path }
  if (names.some(name => ZARR_ROOTS.includes(name))) return { zarr: path }
  const shards = names.filter(name => TAR.test(name)).sort()
  return shards.length > 0 ? { tar: shards.map(name => `${path}/${name}`) } : { folder: path }
}

function isTable(path: string): boolean {
  return TABLE_EXTENSIONS.includes(path.slice(path.lastIndexOf('.') + 1).toLowerCase())
}

/** Objects that are looked at to see what lies in a folder of another store: a page of names. */
const LOOKED_AT = 1000

/** The same for a name with a scheme. */
async function objectsAt(path: string): Promise<SourceJson> {
  if (path.endsWith('.json')) return { tar: path }
  if (isTable(path)) return { files: { list: path } }
  using stores = new Stores()
  const folder = prefixOf(path)
  let looked = 0
  for await (const { name } of listOf(stores, folder)) {
    if (TAR.test(name) && !name.includes('/', folder.length)) return { tar: `${folder}*.tar` }
    if (++looked === LOOKED_AT) break
  }
  return looked > 0 ? { folder: path } : { files: path }
}

function sourceIn(text: string, allowCode: boolean): SourceJson {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw new SourceError(`${text.slice(0, 60)}… is no JSON: ${(cause as Error).message}`, { cause })
  }
  const source = parseSource(json, '')
  refuseCode(codeInSource(source, process.cwd()), allowCode)
  return source
}

/** Whether a file is wids' list of shards. */
function isShardList(path: string): boolean {
  return path.endsWith('.json') && statSync(path).isFile() && readRegular(path).includes('wids-shard-index')
}

/** Whether a file is the JSON of a feed, not a sample of a dataset. */
function isDefinition(path: string): boolean {
  if (!path.endsWith('.json')) return false
  try {
    const json: unknown = JSON.parse(readRegular(path))
    return typeof json === 'object' && json !== null && 'source' in json && 'batch' in json
  } catch {
    return false
  }
}

/** Whether JSON is a source alone, such as `{"files": …}`, and no feed, which has several keys. */
function isSource(text: string): boolean {
  try {
    const keys = Object.keys(JSON.parse(text) as object)
    return keys.length === 1 && keys[0] !== 'source'
  } catch {
    return false
  }
}

/** Whether an argument is a definition of a feed rather than data: `x.json`, `x.feed.ts`, `x.json#val`, `{…}`. */
export function looksLikeFeed(argument: string): boolean {
  if (argument.trimStart().startsWith('{')) return !isSource(argument)
  if (schemeOf(argument) !== undefined) return false
  return /\.(json|[cm]?[jt]s)(#[^/]*)?$/.test(argument) && !(existsSync(argument) && isShardList(argument))
}
