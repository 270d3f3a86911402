/** The FEED of the command line: `cats.json`, `cats.feed.ts#val`, or `{"source": …}` as it is. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, resolve } from 'node:path'
import { isFeed } from '../define/feed.js'
import { isObject } from '../define/schema.js'
import type { FeedJson } from '../define/types.js'
import { validateFeed } from '../define/validate.js'
import { applyVariant } from '../define/variants.js'
import { DefinitionError, MillraceError, nearest } from '../errors.js'
import { importModule } from '../system/typescript.js'

export interface LoadedFeed {
  /** The definition, its variant applied. */
  json: FeedJson
  /** The folder against which its relative paths are resolved. */
  root: string
  /** What to call it: `cats.feed.ts#val`. */
  name: string
}

const MODULES = ['.ts', '.mts', '.js', '.mjs']

/** The feed that an argument means, checked. */
export async function loadFeed(argument: string): Promise<LoadedFeed> {
  const inline = /^\s*\{/.test(argument)
  const [place, variant] = inline ? splitInline(argument) : splitPath(argument)
  const file = resolve(place)
  const name = inline ? 'inline' : basename(file)
  try {
    const json = validateFeed(inline ? parse(place) : await read(file))
    return {
      json: variant === undefined ? json : applyVariant(json, variant),
      root: inline ? process.cwd() : dirname(file),
      name: variant === undefined ? name : `${name}#${variant}`,
    }
  } catch (error) {
    if (error instanceof DefinitionError && !inline) error.message = `${place}: ${error.message}`
    throw error
  }
}

/** `{…}#val` → `{…}` and `val`. */
function splitInline(argument: string): [string, string | undefined] {
  const match = /^(.*\})\s*#([^{}"#]+)$/s.exec(argument)
  return match ? [match[1], match[2].trim()] : [argument, undefined]
}

/** `cats.json#val` → `cats.json` and `val`; a file that has # in its name goes before. */
function splitPath(argument: string): [string, string | undefined] {
  const hash = argument.lastIndexOf('#')
  if (hash < 0 || existsSync(argument)) return [argument, undefined]
  return [argument.slice(0, hash), argument.slice(hash + 1)]
}

async function read(file: string): Promise<unknown> {
  const type = extname(file)
  if (type !== '.json' && !MODULES.includes(type)) {
    throw new DefinitionError('', `a feed is a .json file or a module (${MODULES.join(', ')})`)
  }
  if (!existsSync(file)) throw new DefinitionError('', `there is no such file${similar(file)}`)
  return type === '.json' ? parse(readFileSync(file, 'utf8')) : await fromModule(file)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DefinitionError('', `not JSON: ${(error as Error).message}`)
  }
}

async function fromModule(file: string): Promise<unknown> {
  let exported: unknown
  try {
    exported = (await importModule(file)).default
  } catch (error) {
    if (error instanceof MillraceError) throw error
    throw new MillraceError(`${file} can't be imported: ${(error as Error).message}`, { cause: error })
  }
  if (isFeed(exported)) return exported.json
  if (isObject(exported)) return exported
  throw new DefinitionError('', 'its default export is no feed: write `export default feed({ … })`')
}

function similar(file: string): string {
  const folder = dirname(file)
  if (!existsSync(folder)) return `, nor its folder ${folder}`
  const near = nearest(basename(file), readdirSync(folder))
  return near === undefined ? '' : `; did you mean "${near}"?`
}
