/**
 * Importing a user's module, also when it is TypeScript, or lies where no Millrace is installed. Node strips types itself
 * since 22.18; on older ones a loader hook does it, with the first of a few packages that is installed.
 */
import { createRequire, register } from 'node:module'
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MissingError } from '../../basics/errors.js'
import type { Stripper } from './typescript-hook.js'

/** Packages that can strip types, best first: the one that keeps lines and columns, then those likely to be there. */
const STRIPPERS: readonly Stripper['name'][] = ['sucrase', 'esbuild', 'typescript']

/** Imports the module at a path or file URL, in any thread. */
export async function importModule(file: string): Promise<Record<string, unknown>> {
  const url = isAbsolute(file) ? pathToFileURL(file).href : file
  // Our own code runs as TypeScript: what strips its types strips those of the user's module as well.
  if (!import.meta.url.endsWith('.ts')) {
    if (/\.m?ts$/.test(new URL(url).pathname) && !stripsTypes()) installHook(findStripper(url))
    else if (!findsUs(url)) installHook()
  }
  return import(url)
}

/** Whether Node imports TypeScript itself. */
function stripsTypes(): boolean {
  const { features } = process as { features: { typescript?: unknown } }
  return Boolean(features.typescript)
}

/** Whether `import … from 'millrace'` in that module finds a Millrace. Beside a Python program there may be none. */
function findsUs(url: string): boolean {
  try {
    createRequire(url).resolve('millrace')
    return true
  } catch {
    return false
  }
}

const installed = new Set<string | undefined>()

/** Hooks are per thread, so every worker that imports a feed installs its own. */
function installHook(stripper?: Stripper): void {
  if (installed.has(stripper?.name)) return
  register(new URL('./typescript-hook.js', import.meta.url), { data: stripper })
  installed.add(stripper?.name)
}

/** A package that can strip types: from the module's project, or ours. */
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
