/**
 * Functions of the user's own. In a definition they are references: the module to import, where in it the function
 * stands, and a hash of its text, so that every thread finds the same function or says that it is another.
 */
import { pathToFileURL } from 'node:url'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { DefinitionError } from '../../basics/errors.js'
import type { Random } from '../../basics/random.js'
import { shortHash } from '../hash.js'
import type { CallJson } from '../types.js'

/** A function over one value of a field, or over the sample: may use the random source, may be asynchronous. */
export type UserFunction<In = never, Out = unknown> = (value: In, random: Random) => Out | Promise<Out>

/** Where workers read which program they belong to: their own `process.argv` names the worker's file. */
const PROGRAM = 'millrace.program'
if (isMainThread && process.argv[1] !== undefined)
  setEnvironmentData(PROGRAM, pathToFileURL(process.argv[1]).href)

const OWN_MODULE = 'put the feed into a module of its own with `export default feed(...)`'

/**
 * The hash of a function's text. Blanks don't count outside quotes: one way of stripping types leaves blanks where
 * the types were, another does not.
 */
export function functionHash(fn: UserFunction): string {
  const pieces = Function.prototype.toString
    .call(fn)
    .match(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|\w+|[^\w\s]/gs)
  return shortHash((pieces ?? []).join(' '))
}

const PYTHON = 'python:'

/** Whether a reference means a function in Python. */
export function isPython({ call }: CallJson): boolean {
  return call.module.startsWith(PYTHON)
}

/** Where the pickled function of such a reference can be read. */
export function pythonPath({ call }: CallJson): string {
  return call.module.slice(PYTHON.length)
}

/** The function that a reference means. `load` imports a module by its URL. */
export async function resolveCall(
  { call }: CallJson,
  load: (url: string) => Promise<Record<string, unknown>> = url => import(url),
): Promise<UserFunction> {
  const { module, hash } = call
  if (!isMainThread && module === getEnvironmentData(PROGRAM)) {
    throw new DefinitionError(
      '',
      `${module} is the program itself, and every worker would run it again: ${OWN_MODULE}`,
    )
  }
  const namespace = await load(module)
  const fn = call.export === undefined ? functionAt(namespace.default, call.path!) : namespace[call.export]
  const place =
    call.export === undefined ? `at "${call.path}" of the default export` : `named "${call.export}"`
  if (typeof fn !== 'function') {
    throw new DefinitionError(
      '',
      `${module} has no function ${place}: ${call.export === undefined ? OWN_MODULE : 'export it'}`,
    )
  }
  const found = functionHash(fn as UserFunction)
  if (found !== hash) {
    throw new DefinitionError(
      '',
      `the function ${place} in ${module} is not the one of the definition (hash ${found}, expected ${hash}): ` +
        'make the definition again, or take the function back to what it was',
    )
  }
  return fn as UserFunction
}

/** A feed carries its functions by path; see feed.ts. */
function functionAt(feed: unknown, path: string): unknown {
  const functions = (feed as { functions?: unknown } | undefined)?.functions
  return functions instanceof Map ? functions.get(path) : undefined
}

/** The file, as a URL, whose code called the module `callee`; undefined where there is none, as in a REPL. */
export function callerFile(callee: string): string | undefined {
  const { prepareStackTrace } = Error
  try {
    Error.prepareStackTrace = (_, sites) => sites
    const sites = new Error().stack as unknown as NodeJS.CallSite[]
    const files = sites.map(site => fileUrl(site.getFileName()))
    return files.find(file => file !== undefined && file !== callee && file !== import.meta.url)
  } finally {
    Error.prepareStackTrace = prepareStackTrace
  }
}

/** What a stack trace calls a file, as a URL without query. */
function fileUrl(name: string | null | undefined): string | undefined {
  if (!name || /^(?!file:)[a-z]+:/.test(name)) return undefined
  return (name.startsWith('file:') ? name : pathToFileURL(name).href).replace(/[?#].*$/, '')
}
