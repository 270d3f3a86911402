/** What a path on the command line means: files of a format, a folder, or a definition. */
import { existsSync, statSync } from 'node:fs'
import { SourceError } from '../../core/basics/errors.js'
import { parseSource } from '../../core/define/check/sources.js'
import { codeInSource, refuseCode } from '../../core/define/code.js'
import type { SourceJson } from '../../core/define/types.js'
import { formatOf } from '../../core/source/find/formats.js'
import { isGlob } from '../../core/source/find/glob.js'
import { prefixOf } from '../../core/source/find/names.js'
import { listOf } from '../../core/store/access.js'
import { Stores, schemeOf } from '../../core/store/stores.js'
import { readRegular } from '../../core/system/files/regular.js'
import { sourceByStart, sourceOfFolder, sourceOfFormat } from './formats.js'

/**
 * The source that an argument stands for: `{"synthetic": …}` is a source as in a definition, `x.tar` and `x-*.parquet` are files of a format, a folder
 * with such files in it is these, any other folder is a folder of images, any other pattern is files (unless their first bytes say what they are).
 */
export async function sourceAt(path: string, allowCode = false): Promise<SourceJson> {
  if (/^\s*\{\s*"/.test(path)) return sourceIn(path, allowCode)
  using stores = new Stores()
  const known = await sourceOfFormat(path, stores)
  if (known !== undefined) return known
  if (isGlob(path) || path.includes('{')) return (await sourceByStart(path, stores)) ?? { files: path }
  if (schemeOf(path) !== undefined) return objectsAt(path, stores)
  if (!existsSync(path)) {
    throw new SourceError(
      `there is nothing at ${path}: give a folder, a file or a pattern such as 'train-{0000..0015}.tar' or 'data/*.parquet'`,
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
    return (await sourceByStart(path, stores)) ?? { files: path }
  }
  return (await sourceOfFolder(path, stores)) ?? { folder: path }
}

/** Objects that are looked at to see what lies in a folder of another store: a page of names. */
const LOOKED_AT = 1000

/** The same for a name with a scheme. */
async function objectsAt(path: string, stores: Stores): Promise<SourceJson> {
  if (path.endsWith('.json')) return { tar: path }
  const folder = prefixOf(path)
  let looked = 0
  for await (const { name } of listOf(stores, folder)) {
    if (formatOf(name) === 'tar' && !name.includes('/', folder.length)) return { tar: `${folder}*.tar` }
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
