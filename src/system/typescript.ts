/**
 * Importing a user's module, also when it is TypeScript. Node strips types itself since 22.18; on older ones a loader
 * hook does it, with whichever of a few packages is installed.
 */
import { createRequire, register } from 'node:module'
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MissingError } from '../errors.js'
import type { Stripper } from './typescript-hook.js'

/** Packages that can strip types, best first: the one that keeps lines and columns, then those likely to be there. */
const STRIPPERS: readonly Stripper['name'][] = ['sucrase', 'esbuild', 'typescript']

/** Imports the module at a path or file URL, in any thread. */
export async function importModule(file: string): Promise<Record<string, unknown>> {
  const url = isAbsolute(file) ? pathToFileURL(file).href : file
  if (/\.m?ts$/.test(new URL(url).pathname) && !stripsTypes()) installHook(url)
  return import(url)
}

/** Whether an import of TypeScript just works here: in Node itself, or because our own code runs as TypeScript. */
function stripsTypes(): boolean {
  const { features } = process as { features: { typescript?: unknown } }
  return Boolean(features.typescript) || import.meta.url.endsWith('.ts')
}

let installed = false

/** Hooks are per thread, so every worker that imports a feed installs its own. */
function installHook(url: string): void {
  if (installed) return
  const stripper = findStripper(url)
  register(new URL('./typescript-hook.js', import.meta.url), { data: stripper })
  installed = true
}

/** A package that can strip types: the project's of the module, or ours. */
function findStripper(url: string): Stripper {
  for (const from of [url, import.meta.url]) {
    const require = createRequire(from)
    for (const name of STRIPPERS) {
      try {
        // TypeScript 7 is a native program without the function that is needed here.
        if (name === 'typescript' && Number.parseInt(require(`${name}/package.json`).version, 10) >= 7)
          continue
        return { name, path: require.resolve(name) }
      } catch {
        // Not installed there: the next one.
      }
    }
  }
  throw new MissingError(
    `Node ${process.versions.node} needs a package to read TypeScript (${url}). Install one: npm install sucrase`,
  )
}
