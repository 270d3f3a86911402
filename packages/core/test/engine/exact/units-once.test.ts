/**
 * Each unit is loaded once an epoch by an engine, for a windowed order, however many ranks it feeds: counts, not times. The
 * source is the plugin units-source.mjs, which keeps a line for each load.
 */
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type AnyLoader, type FeedJson, type OpenOptions, open } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { tarFile } from '../../../../../test/support/tar.js'
import { groupRows, loadsIn, type Written, writeUnits } from '../../../../../test/support/units-source.mjs'

const plugin = pathToFileURL(join(import.meta.dirname, '../../../../../test/support/units-source.mjs')).href
const home = temporaryFolder()
const bytes = (from: string) => ({ from, as: 'bytes' as const, ragged: { max: 2048 } })

/** All ranks of one engine go through an epoch, a step at a time, as trainers do. Gives rows and bytes read. */
async function epoch(
  json: FeedJson,
  world: number,
  options: OpenOptions,
): Promise<{ ids: string[]; read: number }> {
  const loaders = Array.from(
    { length: world },
    (_, rank) => open(json, { rank, world, epochs: 1, plugins: [plugin], ...options }) as AnyLoader,
  )
  const ids: string[] = []
  try {
    const loops = loaders.map(loader => loader[Symbol.asyncIterator]())
    for (let going = true; going; ) {
      const steps = await Promise.all(loops.map(loop => loop.next()))
      going = steps.every(({ done }) => !done)
      for (const { value } of steps) if (value !== undefined) ids.push(...value.ids)
    }
    return { ids, read: loaders.reduce((sum, loader) => sum + loader.stats().bytesRead, 0) }
  } finally {
    await Promise.all(loaders.map(loader => loader.close()))
  }
}

/** Bytes of a row in the cache, on average. */
const SCALE = 50
const ROW = 2 * 4.5 * SCALE * 3

const data: (Written & { name: string; window: number })[] = [
  { name: '100 units of 100 rows, window 1,000', rows: 10_000, seed: 1, each: 100, window: 1000 },
  { name: 'units of 1 to 500 rows, window 2,000', rows: 20_000, seed: 2, window: 2000 },
]

describe.each(data)('$name', ({ name: _, window, ...written }) => {
  const folder = join(home, String(written.seed))
  writeUnits(folder, { ...written, scale: SCALE })
  const sizes = groupRows(written)
  let opened = 0

  test.each([
    [1, 0],
    [1, 1],
    [1, 4],
    [4, 1],
    [4, 4],
  ])('%i ranks, %i workers: 1.00 loads a unit and epoch', async (world, workers) => {
    const log = join(home, `log-${written.seed}-${opened++}`)
    writeFileSync(log, '')
    const json: FeedJson = {
      source: { units: { path: folder, log } } as unknown as FeedJson['source'],
      order: { shuffle: { window }, seed: 7 },
      fields: { data: bytes('data'), extra: bytes('extra') },
      batch: { size: 25, last: 'keep' },
    }
    // As the engine would by itself, were the data not so small: see cacheWanted. A third of the data, about.
    const depth = 2
    const ahead = depth * 25 * world
    const cache = Math.ceil(1.05 * ROW * (2 * window + 6 * Math.max(...sizes) + ahead))
    const { ids, read } = await epoch(json, world, { workers, cache, depth })
    expect(new Set(ids).size).toBe(written.rows)
    expect(ids.length).toBe(written.rows)
    const loads = loadsIn(log)
    expect(loads.size).toBe(2 * sizes.length)
    expect([...loads].filter(([, times]) => times !== 1)).toEqual([])
    const planned = [0, 1, 2].reduce((sum, part) => sum + statSync(join(folder, `part-${part}.bin`)).size, 0)
    expect(read).toBeGreaterThanOrEqual(planned)
    expect(read / planned).toBeLessThanOrEqual(1.01)
  })
})

describe('windowed tar', () => {
  const rows = 6000
  const shards = 4
  let planned = 0
  for (let shard = 0; shard < shards; shard++) {
    const members = Array.from({ length: rows / shards }, (_, i) => {
      planned += 2560 // with its header, and filled up to whole blocks
      return { name: `k${shard}-${i}.bin`, data: new Uint8Array(2000).fill(i) }
    })
    writeFileSync(join(home, `tar-${shard}.tar`), tarFile(members))
  }

  test.each([1, 4])('%i ranks read 1.1 times the data at most', async world => {
    const json: FeedJson = {
      source: { tar: join(home, `tar-{0..${shards - 1}}.tar`) },
      order: { shuffle: { window: 1000 }, seed: 7 },
      fields: { bin: bytes('bin') },
      batch: { size: 25, last: 'keep' },
    }
    const { ids, read } = await epoch(json, world, { workers: 2, cache: 1.5 * 1000 * 2560 })
    expect(new Set(ids).size).toBe(rows)
    expect(read / planned).toBeLessThanOrEqual(1.1)
  })
})
