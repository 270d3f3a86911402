/**
 * A loader hook for feeds outside any project, which still find the Millrace that reads them, and for Nodes that don't
 * know TypeScript: finds .ts files and strips their types. Runs in a thread of Node's.
 */
import { readFile } from 'node:fs/promises'
import { createRequire, type InitializeHook, type LoadHook, type ResolveHook } from 'node:module'
import { fileURLToPath } from 'node:url'

/** A package that strips types, and where it was found. */
export interface Stripper {
  name: 'sucrase' | 'esbuild' | 'typescript'
  path: string
}

type Strip = (code: string, file: string) => string

/** Undefined where Node strips types itself. */
let strip: Strip | undefined

export const initialize: InitializeHook<Stripper | undefined> = async stripper => {
  if (stripper) strip = strippers[stripper.name](createRequire(import.meta.url)(stripper.path))
}

/** What is used of these packages: each has its own way. */
interface Library {
  transform(code: string, options: object): { code: string } // sucrase
  transformSync(code: string, options: object): { code: string } // esbuild
  transpileModule(code: string, options: object): { outputText: string } // typescript
  ModuleKind: { ESNext: number }
  ScriptTarget: { ESNext: number }
}

const strippers: Record<Stripper['name'], (library: Library) => Strip> = {
  sucrase: library => (code, filePath) =>
    library.transform(code, { transforms: ['typescript'], disableESTransforms: true, filePath }).code,
  esbuild: library => (code, sourcefile) =>
    library.transformSync(code, { loader: 'ts', format: 'esm', target: 'esnext', sourcefile }).code,
  typescript: library => {
    const compilerOptions = { module: library.ModuleKind.ESNext, target: library.ScriptTarget.ESNext }
    return (code, fileName) => library.transpileModule(code, { compilerOptions, fileName }).outputText
  },
}

/** What a specifier may mean in TypeScript when there is no such file: `./x.js` is `./x.ts`, and so is `./x`. */
const MEANINGS: readonly [RegExp, string][] = [
  [/\.js$/, '.ts'],
  [/\.mjs$/, '.mts'],
  [/(?<!\.\w+)$/, '.ts'],
]

export const resolve: ResolveHook = async (specifier, context, next) => {
  try {
    return await next(specifier, context)
  } catch (error) {
    if (!/^\.{0,2}\/|^file:/.test(specifier)) return await ourOwn(specifier, context, next, error)
    for (const [from, to] of MEANINGS) {
      if (!from.test(specifier)) continue
      try {
        return await next(specifier.replace(from, to), context)
      } catch {
        // The error names the specifier as the user wrote it.
      }
    }
    throw error
  }
}

/** A feed outside any project still finds the Millrace that reads it. */
async function ourOwn(
  specifier: string,
  context: Parameters<ResolveHook>[1],
  next: Parameters<ResolveHook>[2],
  error: unknown,
): Promise<Awaited<ReturnType<ResolveHook>>> {
  if (!/^millrace(\/|$)/.test(specifier)) throw error
  return await next(specifier, { ...context, parentURL: import.meta.url })
}

export const load: LoadHook = async (url, context, next) => {
  if (strip === undefined || !url.startsWith('file:') || !/\.m?ts$/.test(new URL(url).pathname)) {
    return await next(url, context)
  }
  const file = fileURLToPath(url)
  return { format: 'module', source: strip(await readFile(file, 'utf8'), file), shortCircuit: true }
}
