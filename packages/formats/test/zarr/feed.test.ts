/** Feeds over Zarr stores: the same batches with any number of workers and in any store, and exact resuming. */
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type AnyBatch, digests, type FeedJson, type State, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { writeSlowPlugin } from '../../../../test/support/slow-store.mjs'
import { golden, writeStore } from './stores.js'

const home = temporaryFolder()
const STORES = {
  'v2 group, consolidated True': ['image', 'label', 'deep/name'],
  'v3 group, consolidated False': ['image', 'label', 'deep/name'],
}
const plugin = writeSlowPlugin(join(temporaryFolder(), 'slow.mjs'), { folder: home, latency: 1, errors: 0 })

beforeAll(() => {
  for (const name of Object.keys(STORES)) {
    writeStore(golden(name), join(home, `${name.slice(0, 2)}-a.zarr`))
    writeStore(golden(name), join(home, `${name.slice(0, 2)}-b.zarr`))
  }
})

const ORDERS: FeedJson['order'][] = [
  'none',
  { shuffle: 'global', seed: 3 },
  { shuffle: { window: 8 }, seed: 3 },
]

const feedOf = (path: string, order: FeedJson['order'], size = 3): FeedJson => ({
  source: { zarr: path },
  order,
  fields: {
    image: { from: 'image', as: 'npy', shape: [4, 3], dtype: 'u8' },
    label: { from: 'label', as: 'int' },
    name: { from: 'deep/name', as: 'npy', shape: [2], dtype: 'f32' },
  },
  batch: { size, last: 'keep' },
})

describe.each(Object.keys(STORES))('%s', name => {
  const version = name.slice(0, 2)
  const pattern = `${version}-{a,b}.zarr`

  it.each(ORDERS)('%j gives what zarr-python gives, with any number of workers', async order => {
    const json = feedOf(join(home, pattern), order)
    const seen: string[] = []
    await using(json, { epochs: 1, workers: 2 }, async loader => {
      for await (const batch of loader) seen.push(...rowsIn(batch))
    })
    expect(seen.sort()).toEqual(
      expected(
        name,
        ['a', 'b'].map(letter => `${version}-${letter}.zarr`),
      ).sort(),
    )
    const right = await digests(json, { epochs: 1, workers: 0 })
    expect(await digests(json, { epochs: 1, workers: 2 })).toEqual(right)
    const far = feedOf(`slow://${pattern}`, order)
    expect(await digests(far, { epochs: 1, workers: 2, plugins: [plugin] })).toEqual(right)
  })

  it('goes on from a state with other batches and workers', async () => {
    const order: FeedJson['order'] = { shuffle: { window: 8 }, seed: 3 }
    const all: string[] = []
    await using(feedOf(join(home, pattern), order), { epochs: 1, workers: 2 }, async loader => {
      for await (const batch of loader) all.push(...batch.ids)
    })
    const seen: string[] = []
    let state: State | undefined
    await using(feedOf(join(home, pattern), order), { epochs: 1, workers: 2 }, async loader => {
      for await (const batch of loader) {
        seen.push(...batch.ids)
        state = loader.state()
        if (seen.length === 9) break
      }
    })
    await using(feedOf(join(home, pattern), order, 4), { epochs: 1, workers: 0, state }, async loader => {
      for await (const batch of loader) seen.push(...batch.ids)
    })
    expect(seen).toEqual(all)
  })
})

/** Each row of a batch as a text. */
function rowsIn(batch: AnyBatch): string[] {
  const [image, label, name] = ['image', 'label', 'name'].map(field => batch.get(field) as Uint8Array)
  const hex = (array: Uint8Array, i: number, each: number): string =>
    Buffer.from(array.buffer, array.byteOffset + i * each, each).toString('hex')
  return batch.ids.map((id, i) => `${id} ${hex(image, i, 12)} ${hex(label, i, 8)} ${hex(name, i, 8)}`)
}

/** The same of what zarr-python read. */
function expected(name: string, stores: readonly string[]): string[] {
  const { columns } = golden(name)
  const part = (column: string, i: number, each: number): string =>
    columns[column].hex!.slice(2 * i * each, 2 * (i + 1) * each)
  return stores.flatMap(store =>
    Array.from(
      { length: 10 },
      (_, i) => `${store}:${i} ${part('image', i, 12)} ${part('label', i, 8)} ${part('deep/name', i, 8)}`,
    ),
  )
}
