/** The FEED of the command line: `cats.json`, `cats.feed.ts#val`, or `{"source": …}` as it is. */
import { closeSync, existsSync, readdirSync } from 'node:fs'
import { basename, dirname, extname, resolve } from 'node:path'
import { DefinitionError, MillraceError, nearest } from '../../core/basics/errors.js'
import { isObject } from '../../core/basics/shape.js'
import { isBuilt, isFeed } from '../../core/define/build/feed.js'
import { validateFeed } from '../../core/define/check/validate.js'
import { applyVariant } from '../../core/define/check/variants.js'
import { type AllowCode, codeIn, refuseCode } from '../../core/define/code.js'
import { normalizeFeed } from '../../core/define/normalize.js'
import type { FeedJson } from '../../core/define/types.js'
import { openRegular, readRegular } from '../../core/system/files/regular.js'
import { importModule } from '../../core/system/node/typescript.js'

export interface LoadedFeed {
  /** The definition, its variant applied. */
  json: FeedJson
  /** The folder against which its relative paths are resolved. */
  root: string
  /** What to call it: `cats.feed.ts#val`. */
  name: string
  /** What of its code may run, also of variants that are chosen later. */
  allowCode: AllowCode
}

const MODULES = ['.ts', '.mts', '.js', '.mjs']

/**
 * The feed that an argument means, checked. Only with `allowCode` may a feed that is JSON name code. It may have sources of
 * these plugins, which are loaded.
 */
export async function loadFeed(
  argument: string,
  allowCode: AllowCode = false,
  plugins: readonly string[] = [],
): Promise<LoadedFeed> {
  const inline = /^\s*\{/.test(argument)
  const [place, variant] = inline ? splitInline(argument) : splitPath(argument)
  const file = resolve(place)
  const name = inline ? 'inline' : basename(file)
  try {
    const { definition, built } = inline ? { definition: parse(place), built: false } : await read(file)
    const whole = validateFeed(definition)
    const json = variant === undefined ? whole : applyVariant(whole, variant)
    const root = inline ? process.cwd() : dirname(file)
    if (!built) refuseCode(codeIn(normalizeFeed(json, root, plugins)), allowCode)
    return {
      json,
      root,
      allowCode: built || allowCode,
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

/** A client that may not run code names a module, which is code. */
export function refuseModule(path: string): void {
  if (!MODULES.includes(extname(splitPath(path)[0]))) return
  throw new DefinitionError(
    '',
    `${path} is a module, and to load it is to run it: the client has to allow it (allowCode in its request), and the ` +
      'engine too (millrace serve --allow-code)',
  )
}

/** A definition; `built`: put together by a module itself, so that it may run the code that it names. */
interface Read {
  definition: unknown
  built: boolean
}

async function read(file: string): Promise<Read> {
  const type = extname(file)
  if (type !== '.json' && !MODULES.includes(type)) {
    throw new DefinitionError(
      '',
      `a feed is a .json file or a module (${MODULES.join(', ')})${instead(file)}`,
    )
  }
  if (!existsSync(file)) throw new DefinitionError('', `there is no such file${similar(file)}`)
  if (type !== '.json') return fromModule(file)
  return { definition: parse(textOf(file)), built: false }
}

/** What to do with data or a program that was given in place of a feed. */
function instead(file: string): string {
  if (extname(file) === '.py')
    return '; of a trainer in Python, `millrace diagnose --attach PID` looks at one that runs, --loader FILE.py:OBJECT at a loader'
  return existsSync(file) ? `; \`millrace inspect ${file}\` says what is in it, and the source to write` : ''
}

/** A file that is none (a FIFO, a device) could be read for ever: by an engine, for all of its clients. */
function textOf(file: string): string {
  try {
    return readRegular(file)
  } catch (error) {
    throw new DefinitionError('', (error as Error).message)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DefinitionError('', `not JSON: ${(error as Error).message}`)
  }
}

async function fromModule(file: string): Promise<Read> {
  let exported: unknown
  try {
    closeSync(openRegular(file).fd)
    exported = (await importModule(file)).default
  } catch (error) {
    if (error instanceof MillraceError) throw error
    throw new MillraceError(`${file} can't be imported: ${(error as Error).message}`, { cause: error })
  }
  if (isFeed(exported)) return { definition: exported.json, built: isBuilt(exported) }
  if (isObject(exported)) return { definition: exported, built: false }
  throw new DefinitionError('', 'its default export is no feed: write `export default feed({ … })`')
}

function similar(file: string): string {
  const folder = dirname(file)
  if (!existsSync(folder)) return `, nor its folder ${folder}`
  const near = nearest(basename(file), readdirSync(folder))
  return near === undefined ? '' : `; did you mean "${near}"?`
}
