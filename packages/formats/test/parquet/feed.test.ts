/** Parquet through the whole engine: the same batches for any workers, exactly resumed, out of any store. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { digest, digests, type FeedJson, type State, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { writeSlowPlugin } from '../../../../test/support/slow-store.mjs'

const golden = join(import.meta.dirname, '../../../../test/golden/parquet')
const root = temporaryFolder()
process.env.MILLRACE_CACHE = join(root, 'cache')
cpSync(golden, root, { recursive: true })

const feed = (order: FeedJson['order'], at = `${root}/`): FeedJson => ({
  source: { parquet: `${at}{codec-zstd,codec-snappy,delta-2}.parquet` },
  order,
  fields: {
    text: { from: 'text', as: 'text', ragged: { max: 100 } },
    lists: { from: 'lists', as: 'npy', dtype: 'i64', shape: [5], ragged: { max: 5 } } as never,
    i64: { from: 'i64', as: 'int', dtype: 'i64' },
    f32: { from: 'f32', as: 'float' },
    fixed: { from: 'fixed', as: 'bytes', ragged: { max: 16 } },
    holes: { from: 'holes', as: 'text', ragged: { max: 100 }, missing: '' } as never,
  },
  batch: { size: 16, last: 'keep' },
})
const ORDERS: [string, FeedJson['order']][] = [
  ['none', 'none'],
  ['global', { shuffle: 'global', seed: 3 }],
  ['windowed', { shuffle: { window: 200 }, seed: 3 } as never],
]

for (const [name, order] of ORDERS) {
  test(`the same for any number of workers, in order ${name}`, async () => {
    const one = await digests(feed(order), { workers: 0 }, 2)
    expect(one).toHaveLength(2 * 38)
    expect(await digests(feed(order), { workers: 2 }, 2)).toEqual(one)
  })
}

test.each([0, 2])('lists in lists are arrays, with %i workers', async workers => {
  const json: FeedJson = {
    source: { parquet: join(root, 'nested-{1,2}.parquet') },
    order: 'none',
    fields: { square: { from: 'square', as: 'npy', dtype: 'f32', shape: [2, 3] } },
    batch: { size: 7, last: 'keep' },
  }
  const values = await using(json, { workers }, async loader => {
    const all: number[] = []
    for await (const batch of loader) all.push(...(batch.square as Float32Array))
    return all
  })
  const square = (i: number) => [0, 1, 2, 10, 11, 12].map(part => 100 * i + part)
  expect(values).toEqual(Array.from({ length: 80 }, (_, i) => square(i % 40)).flat())
})

test('resumed by another number of ranks and workers it goes on exactly', async () => {
  const json = feed({ shuffle: { window: 200 }, seed: 3 } as never)
  const whole = await using(json, { workers: 1 }, async loader => {
    const ids: string[] = []
    for await (const batch of loader) ids.push(...batch.ids)
    return ids
  })
  let state: State | undefined
  const first = await using(json, { workers: 2 }, async loader => {
    const ids: string[] = []
    for await (const batch of loader) {
      ids.push(...batch.ids)
      if (ids.length >= 160) break
    }
    state = loader.state()
    return ids
  })
  const rest = await Promise.all(
    [0, 1].map(rank =>
      using(json, { workers: 1, rank, world: 2, state } as never, async loader => {
        const steps: string[][] = []
        for await (const batch of loader) steps.push(batch.ids)
        return steps
      }),
    ),
  )
  const after = rest[0].flatMap((ids, step) => [...ids, ...rest[1][step]])
  expect([...first, ...after]).toEqual(whole)
})

test('the same out of a store that has to be waited for', async () => {
  const plugin = writeSlowPlugin(join(temporaryFolder(), 'slow.mjs'), {
    folder: root,
    latency: 1,
    errors: 0.01,
  })
  const order = { shuffle: 'global', seed: 3 } as const
  const near = await digests(feed(order), { workers: 1 })
  for (const workers of [0, 2])
    expect(await digests(feed(order, 'slow://'), { workers, plugins: [plugin] })).toEqual(near)
})

test('a null where a field has nothing for it makes a bad sample, which is named', async () => {
  const json = { ...feed('none'), source: { parquet: join(root, 'nulls.parquet') } }
  json.fields = { text: { from: 'text', as: 'text', ragged: { max: 100 } } }
  const run = using(json, { workers: 1 }, async loader => {
    for await (const batch of loader) digest(batch, ['text'])
  })
  await expect(run).rejects.toThrow(/nulls\.parquet:1/)
})
