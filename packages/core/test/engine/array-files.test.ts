/** Feeds of .npz and .npy files: the same batches from any number of workers, resumed anywhere, and verified. */
import { cpSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type AnyBatch, digests, type FeedJson, type State, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { npyOf } from '../../../../test/support/npy.js'
import { inspect } from '../../../tools/prepare/inspect.js'
import { sourceAt } from '../../../tools/prepare/locate.js'
import { verify } from '../../../tools/prepare/verify/verify.js'

const golden = join(import.meta.dirname, '../../../../test/golden/arrays')
const folder = temporaryFolder()
const LARGE = 300 << 10

beforeAll(() => {
  process.env.MILLRACE_CACHE = join(folder, 'cache')
  for (const kind of ['stored', 'deflated'])
    for (const n of [0, 1, 2]) cpSync(join(golden, `${kind}.npz`), join(folder, `${kind}-${n}.npz`))
  // Rows that go from the file straight into the slot.
  for (const n of [0, 1]) {
    const bytes = Uint8Array.from({ length: 4 * LARGE }, (_, i) => (i * 31 + (i >> 10) + n) % 256)
    writeFileSync(join(folder, `large-${n}.npy`), npyOf([4, LARGE], bytes))
  }
})

const rowsOf = (kind: string, order: FeedJson['order']): FeedJson => ({
  source: { npz: { path: join(folder, `${kind}-{0..2}.npz`), rows: 'axis' } },
  order,
  fields: {
    x: {
      from: 'x',
      as: 'npy',
      dtype: 'f32',
      shape: [2, 2],
      apply: [{ crop: { size: [2, 2], at: 'random' } }],
    },
    f: { from: 'f', as: 'npy', dtype: 'f32', shape: [5] },
    y: { from: 'y', as: 'int' },
    name: { from: 'names', as: 'text' },
    rgb: { from: 'rec.rgb', as: 'npy', dtype: 'u8', shape: [3] },
  },
  batch: { size: 4, last: 'keep' },
})

describe.each<[string, FeedJson['order']]>([
  ['in order', 'none'],
  ['globally', { shuffle: 'global', seed: 3 }],
  ['by window', { shuffle: { window: 8 }, seed: 3 }],
])('rows %s', (_, order) => {
  it('are the same from any number of workers, and resumed anywhere', async () => {
    for (const kind of ['stored', 'deflated']) {
      const json = rowsOf(kind, order)
      const alone = await digests(json, { workers: 0 }, 2)
      expect(alone).toHaveLength(10)
      expect(await digests(json, { workers: 2 }, 2)).toEqual(alone)
      let state: State | undefined
      await using(json, { workers: 2 }, async loader => {
        let step = 0
        for await (const _batch of loader) if (++step === 2) break
        state = loader.state()
      })
      expect(await digests(json, { workers: 0, state })).toEqual(alone.slice(2, 5))
    }
  })

  it('hold what was stored, packed or not', async () => {
    const valuesOf = (kind: string) =>
      using(rowsOf(kind, order), { workers: 1 }, async loader => {
        const out: unknown[] = []
        for await (const batch of loader) {
          const { x, f, y, name, rgb } = batch as AnyBatch & Record<string, ArrayLike<unknown>>
          out.push(
            [x, f, y, rgb].map(values => Array.from(values, String)),
            [...(name as string[])],
          )
        }
        return out
      })
    const stored = await valuesOf('stored')
    expect(stored.length).toBe(10)
    expect(await valuesOf('deflated')).toEqual(stored)
  })
})

it('large rows go into the slot as they are', async () => {
  const json: FeedJson = {
    source: { npy: { path: join(folder, 'large-{0,1}.npy'), rows: 'axis' } },
    fields: { data: { from: 'data', as: 'npy', dtype: 'u8', shape: [LARGE] } },
    batch: 8,
  }
  await using(json, { workers: 2 }, async loader => {
    for await (const batch of loader) {
      const data = batch.data as Uint8Array
      for (const row of [0, 3, 5]) {
        const [n, at] = [row >> 2, (row & 3) * LARGE + 1000]
        expect(data[row * LARGE + 1000]).toBe((at * 31 + (at >> 10) + n) % 256)
      }
    }
  })
})

it('inspect counts what is left unread, and verify reads it', async () => {
  const source = { npy: { path: join(folder, 'large-{0,1}.npy'), rows: 'axis' as const } }
  expect(await sourceAt('x/large-{0,1}.npy')).toEqual({ npy: 'x/large-{0,1}.npy' })
  const summary = await inspect(source, { root: folder })
  expect(summary).toMatchObject({ samples: 8, bytes: 8 * LARGE, layout: { schema: [{ name: 'data' }] } })
  expect(await verify(source, { root: folder, workers: 0 })).toMatchObject({ bytes: 8 * LARGE, bad: [] })
})

it('a file that is cut off after it was opened ends the run with its name', async () => {
  const path = join(folder, 'cut.npy')
  writeFileSync(path, npyOf([4, LARGE], new Uint8Array(4 * LARGE)))
  const json: FeedJson = {
    source: { npy: { path, rows: 'axis' } },
    fields: { data: { from: 'data', as: 'npy', dtype: 'u8', shape: [LARGE] } },
    batch: 1,
    onError: 'drop',
  }
  await using(json, { workers: 0, depth: 1 }, async loader => {
    await loader.ready
    truncateSync(path, 5000)
    utimesSync(path, 1e9, 1e9)
    const run = async () => {
      for await (const _batch of loader);
    }
    await expect(run()).rejects.toThrow(/cut\.npy changed during the run/)
  })
})
