/**
 * The code that a definition asks to run: functions, datasets in Python and CUDA kernels. JSON may come from anywhere, so the
 * program that opens it has to allow its code. The code of a feed that the program itself built may run (docs/troubleshoot.md).
 */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DefinitionError } from '../basics/errors.js'
import { at } from '../basics/mistakes.js'
import { expandHome } from '../basics/path.js'
import { isPython, pythonPath } from './build/call.js'
import { allSources } from './nested.js'
import type { CallJson, NormalFeed, SourceJson } from './types.js'

/** One place of a definition that asks for code. */
export interface CodeUse {
  /** Where it stands: `fields.label.map.call`. */
  path: string
  /** What it is: `a function`. */
  what: string
  /** The file that would be run. */
  file: string
}

/** Whether a definition may run code: all of it, none, or these files alone. */
export type AllowCode = boolean | readonly string[]

/** A key that definitions once had. */
export const NO_COMMAND =
  'a definition does not name the interpreter: leave "command" out. The program that opens the feed names it: the ' +
  'option "python" of open() in Node, MILLRACE_PYTHON on the command line; the Python package runs its own'

const HOW =
  'JSON does not run code by itself. If you trust where it comes from, allow it: --allow-code on the command line, ' +
  'allowCode: true in open() of Node, allow_code=True in Python'

/** All code that a feed asks for. */
export function codeIn(feed: NormalFeed): CodeUse[] {
  const uses = codeInSource(feed.source, feed.root, 'source')
  for (const { name, map } of feed.fields) {
    if (map) uses.push(functionUse(map, at(at('fields', name), 'map')))
  }
  if (feed.map) uses.push(functionUse(feed.map, 'map'))
  return uses
}

/** All code that a source asks for. Relative paths are relative to the folder `root`. */
export function codeInSource(source: SourceJson, root: string, path = ''): CodeUse[] {
  return allSources(source).flatMap(({ source: found, keys }) => {
    const place = keys.reduce<string>(at, path)
    if ('python' in found) {
      return [{ path: at(place, 'python'), what: 'a dataset in Python', file: found.python.payload }]
    }
    if (!('kernel' in found)) return []
    const file = resolve(root, expandHome(found.kernel.file))
    return [{ path: at(place, 'kernel'), what: 'a CUDA kernel', file }]
  })
}

function functionUse(map: CallJson, path: string): CodeUse {
  const { module } = map.call
  const python = isPython(map)
  return {
    path: at(path, 'call'),
    what: python ? 'a function in Python' : 'a function',
    file: python ? pythonPath(map) : module.startsWith('file:') ? fileURLToPath(module) : module,
  }
}

/** Throws at the first use that is not allowed; `how` says how it can be. */
export function refuseCode(uses: readonly CodeUse[], allowed: AllowCode, how = HOW): void {
  if (allowed === true) return
  const files = Array.isArray(allowed) ? allowed : []
  const refused = uses.find(({ file }) => !files.includes(file))
  if (refused === undefined) return
  const { path, what, file } = refused
  throw new DefinitionError(path, `this is ${what} and would run code from ${file}. ${how}`)
}
