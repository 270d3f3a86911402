/** What a path on the command line means: files of a format, a folder, or a definition. */
import { existsSync, statSync } from 'node:fs'
import { SourceError } from '../../core/basics/errors.js'
import { parseSource } from '../../core/define/check/sources.js'
import { codeInSource, refuseCode } from '../../core/define/code.js'
import { allFormats } from '../../core/define/format.js'
import type { SourceJson } from '../../core/define/types.js'
import { isGlob } from '../../core/source/find/glob.js'
import { prefixOf } from '../../core/source/find/names.js'
import { listOf } from '../../core/store/access.js'
import { Stores, schemeOf } from '../../core/store/stores.js'
import { readRegular } from '../../core/system/files/regular.js'
import { filesOfFormat, PICTURE, sourceByStart, sourceOf, sourceOfFolder, sourceOfFormat } from './formats.js'

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
  const listed = formatOfList(path)
  if (listed !== undefined) return sourceOf(listed, path)
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
  const listed = path.endsWith('.json') && allFormats().find(({ finds }) => finds?.list)
  if (listed) return sourceOf(listed.name, path)
  const folder = prefixOf(path)
  const names: string[] = []
  for await (const { name } of listOf(stores, folder)) {
    names.push(name.slice(folder.length))
    if (names.length === LOOKED_AT) break
  }
  if (names.some(name => name.includes('/') && PICTURE.test(name))) return { folder: path }
  const here = names.filter(name => !name.includes('/'))
  return filesOfFormat(folder, '*', here) ?? (names.length > 0 ? { folder: path } : { files: path })
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

/** The format of the files that a file lists, as wids lists shards; undefined: it is no such list. */
function formatOfList(path: string): string | undefined {
  if (!path.endsWith('.json') || !statSync(path).isFile()) return undefined
  const text = readRegular(path)
  return allFormats().find(({ finds }) => finds?.list && text.includes(finds.list))?.name
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
  return /\.(json|[cm]?[jt]s)(#[^/]*)?$/.test(argument) && !(existsSync(argument) && formatOfList(argument))
}
