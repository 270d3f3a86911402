/**
 * The engine as it is built: makers are threads that load compiled files, so these tests use dist/ with the types of
 * packages/. `npm test` builds first. A test that changes a module inside uses build/ instead, where each is a file of its own:
 * `vi.hoisted(() => { process.env.MILLRACE_BUILT = 'build' })`.
 */

import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as Millrace from '../../packages/all/index.js'
import type { Feeding } from '../../packages/core/engine/ring/feeding.js'

const entry = process.env.MILLRACE_BUILT === 'build' ? 'build/all/index.js' : 'dist/index.js'
const built = new URL(`../../${entry}`, import.meta.url)
if (!existsSync(built)) throw new Error('the engine is not built: npm run build')

/** The path that a feed module outside the repository imports. */
export const MILLRACE = fileURLToPath(built)
export const engine = (await import(built.href)) as typeof Millrace
export const { open, feed, fromJson } = engine

export type AnyLoader = Millrace.Loader<Millrace.Batch & Record<string, unknown>>
export type AnyBatch = Millrace.Batch & Record<string, unknown>
export type { FeedJson, OpenOptions, State } from '../../packages/all/index.js'

/** The feeding of an open loader, for tests that look at its ring. */
export function feedingOf(loader: object): Feeding {
  return (loader as { supply: { feeding: Feeding } }).supply.feeding
}

/** Rows whose only column is their own number: cheap to make, and every row can be checked. */
export function numbers(count: number): Millrace.FeedJson['source'] {
  return { synthetic: { count, tensors: { shape: [1], dtype: 'u32' } } }
}

/**
 * A feed of such rows. Makers claim as many rows at once as fill 64 KiB, so rows that may be longer (`max`) have the
 * rows of a batch made by several of them.
 */
export function numberFeed(
  count: number,
  rest: Partial<Millrace.FeedJson> = {},
  max = 16_384,
): Millrace.FeedJson {
  return {
    source: numbers(count),
    order: { shuffle: 'global', seed: 1 },
    fields: { number: { from: 'data', as: 'bytes', ragged: { max } } },
    batch: { size: 4, last: 'keep' },
    ...rest,
  }
}

/** The numbers in a batch of a number feed. */
export function numbersIn(batch: AnyBatch): string[] {
  const { values } = batch.number as Millrace.Ragged
  return Array.from(new Uint32Array(values.slice().buffer), String)
}

/** Opens a feed, hands the loader over, and closes it whatever happens. */
export async function using<T>(
  json: Millrace.FeedJson | Millrace.Feed,
  options: Millrace.OpenOptions,
  use: (loader: AnyLoader) => Promise<T>,
): Promise<T> {
  const loader = open(json, options) as AnyLoader
  try {
    return await use(loader)
  } finally {
    await loader.close()
  }
}

/** The ids of each step of one loop. */
export async function loopIds(loader: AnyLoader, steps = Number.POSITIVE_INFINITY): Promise<string[][]> {
  const out: string[][] = []
  await loader.ready
  if (steps === 0) return out
  for await (const batch of loader) {
    out.push(batch.ids)
    if (out.length === steps) break
  }
  return out
}

/** A hash of everything that a batch shows, but for the number of its step: that is counted from where a run began. */
export function digest(batch: AnyBatch, fields: readonly string[]): string {
  const hash = createHash('sha256')
  const { epoch, position, count, ids } = batch
  hash.update(JSON.stringify([epoch, position, count, ids]))
  hash.update(bytesOf(batch.positions)).update(batch.valid)
  for (const name of fields) {
    const value = batch.get(name)
    hash.update(JSON.stringify([name, batch.shape(name)]))
    if (Array.isArray(value)) hash.update(JSON.stringify(value))
    else if ('offsets' in value) hash.update(bytesOf(value.values)).update(bytesOf(value.offsets))
    else hash.update(bytesOf(value)).update(bytesOf(batch.lengths(name)))
  }
  return hash.digest('hex')
}

/** The digests of all batches of some loops. */
export async function digests(
  json: Millrace.FeedJson | Millrace.Feed,
  options: Millrace.OpenOptions,
  loops = 1,
): Promise<string[]> {
  const fields = Object.keys('json' in json ? json.json.fields : json.fields)
  return using(json, options, async loader => {
    const out: string[] = []
    for (let loop = 0; loop < loops; loop++) {
      for await (const batch of loader) out.push(digest(batch, fields))
    }
    return out
  })
}

const names = Object.keys(engine).filter(name => name !== 'open')

/** A feed module with functions in it, as a user would write it, and the feed that it exports. */
export async function feedModule(folder: string, name: string, code: string): Promise<Millrace.Feed> {
  const path = join(folder, name)
  writeFileSync(path, `import { ${names.join(', ')} } from ${JSON.stringify(built.href)}\n${code}\n`)
  return (await import(pathToFileURL(path).href)).default
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}
