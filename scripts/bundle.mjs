// Puts the modules of a worker thread into one file, in dist/: threads start sooner when they don't open 200 files each.
// What is loaded later (`await import`) lies in chunks/ beside it.
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

/**
 * Modules that stay files of their own. A module that the user writes may import Millrace in the same thread, from the
 * other files of dist/: error classes, what is known of native memory, and which sources plugins have brought must be there
 * once. And a module that finds other files by its own place (`import.meta`) must stay in that place.
 */
const ONCE = /^(basics|system)\/|^define\/plugin-sources\.js$/

function staysAlone(dist, file) {
  return ONCE.test(relative(dist, file)) || readFileSync(file, 'utf8').includes('import.meta')
}

/** The modules that `entry` loads at once, without those that it imports later. */
function eager(dist, entry) {
  const found = new Set()
  const visit = file => {
    if (found.has(file) || staysAlone(dist, file)) return
    found.add(file)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(STATIC)) visit(resolve(dirname(file), path))
  }
  visit(join(dist, entry))
  return found
}
const STATIC = /^(?:import|export)\b[^'"()]*?['"](\.[^'"]+)['"]/gm

/** Replaces `entry`, a path below `dist`, by a file with all that it imports. */
export async function bundleThread(dist, entry) {
  const first = eager(dist, entry)
  const bundle = await rolldown({
    input: join(dist, entry),
    cwd: dist,
    platform: 'node',
    checks: { bundlerTimings: false }, // a slow machine is no fault
    plugins: [
      {
        name: 'millrace',
        resolveId(id, from) {
          if (from === undefined) return undefined
          if (!id.startsWith('.')) return { id, external: true }
          const file = resolve(dirname(from), id)
          return staysAlone(dist, file) ? { id: file, external: true } : undefined
        },
        // With the map of tsc, so that `--enable-source-maps` shows lines of src/.
        load: file => ({ code: readFileSync(file, 'utf8'), map: readFileSync(`${file}.map`, 'utf8') }),
      },
    ],
  })
  await bundle.write({
    dir: dirname(join(dist, entry)),
    format: 'esm',
    sourcemap: true,
    sourcemapExcludeSources: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    // What is loaded at once and also needed by what is loaded later would be a file for each: it is one.
    codeSplitting: { groups: [{ name: 'at-once', test: file => first.has(file) }] },
  })
  await bundle.close()
}
