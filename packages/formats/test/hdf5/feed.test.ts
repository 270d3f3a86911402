/** Feeds over HDF5 files: the same batches with any number of workers, in any store, and after a resume. */
import { copyFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { digests, type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { writeSlowPlugin } from '../../../../test/support/slow-store.mjs'
import { isDelivered } from '../../../core/test/source/delivered.js'
import { GOLDEN } from './support.js'
import { writeHdf5 } from './write.js'

const home = temporaryFolder()
process.env.MILLRACE_CACHE = join(home, 'cache')
for (const [from, to] of [
  ['layouts-v110.h5', 'a.h5'],
  ['layouts-earliest.h5', 'b.h5'],
  ['groups-latest.h5', 'demos.h5'],
  ['types.h5', 'types-1.h5'],
  ['types.h5', 'types-2.h5'],
])
  copyFileSync(join(GOLDEN, from), join(home, to))

const X = { as: 'npy' as const, shape: [5, 7], dtype: 'i32' as const }

/** Two files, datasets of different chunks beside each other, and such as are not chunked. */
const axis = (path: string): Pick<FeedJson, 'source' | 'fields'> => ({
  source: {
    hdf5: {
      path,
      datasets: { odd: 'odd', grow: 'growing_packed', plain: 'contiguous', fill: 'sparse', n: 'compact' },
    },
  },
  fields: {
    odd: { from: 'odd', ...X },
    grow: { from: 'grow', ...X, dtype: 'f32' },
    plain: { from: 'plain', ...X },
    fill: { from: 'fill', as: 'npy', shape: [6], dtype: 'f32' },
    n: { from: 'n', as: 'int' },
  },
})

isDelivered('rows of an axis', () => axis(join(home, '{a,b}.h5')))

isDelivered('groups', () => ({
  source: {
    hdf5: {
      path: join(home, 'demos.h5'),
      datasets: {
        image: 'data/*/obs/img',
        action: 'data/*/action',
        name: 'data/*/name',
        extra: 'data/*/extra',
      },
      rows: 'groups',
    },
  },
  fields: {
    image: { from: 'image', as: 'npy', shape: [4, 3, 4], dtype: 'u8', ragged: { max: 4 } },
    action: { from: 'action', as: 'npy', shape: [4, 2], dtype: 'f32', pad: { to: 4 } },
    name: { from: 'name', as: 'text', ragged: { max: 32 } },
    extra: { from: 'extra', as: 'int', missing: -1 },
  },
}))

isDelivered('texts, lists and members of compounds', () => ({
  source: {
    netcdf4: {
      path: join(home, 'types-{1,2}.h5'),
      datasets: {
        table: 'table',
        words: 'varying',
        lists: 'lists',
        fixed: 'fixed',
        big: 'array/be_f8',
        half: 'scalar/be_f2',
      },
    },
  },
  fields: {
    deep: { from: 'table.in.deep', as: 'int', dtype: 'i64' },
    b: { from: 'table.b', as: 'npy', shape: [2, 3], dtype: 'i16' },
    label: { from: 'table.name', as: 'class', classes: ['n0', 'n1', 'n2', 'n3', 'n4', 'n5'] },
    words: { from: 'words', as: 'text', ragged: { max: 32 } },
    fixed: { from: 'fixed', as: 'text', ragged: { max: 32 } },
    lists: { from: 'lists', as: 'npy', shape: [30], dtype: 'i32', ragged: { max: 30 } },
    big: { from: 'big', as: 'npy', shape: [2, 3], dtype: 'f64' },
    half: { from: 'half', as: 'float' },
  },
}))

it('far files give the same batches as near ones', async () => {
  const plugin = writeSlowPlugin(join(temporaryFolder(), 'slow.mjs'), { folder: home, latency: 1, errors: 0 })
  const rest = { order: { shuffle: { window: 8 }, seed: 3 }, batch: 4 } as const
  const near = await digests({ ...axis(join(home, '{a,b}.h5')), ...rest }, { workers: 0, epochs: 1 })
  const far = { ...axis('slow://{a,b}.h5'), ...rest }
  expect(await digests(far, { workers: 2, epochs: 1, plugins: [plugin] })).toEqual(near)
})

it('large values land in the batch as they lie in the file', async () => {
  const path = join(home, 'large.h5')
  const bytes = Uint8Array.from({ length: 3 * 70_000 }, (_, i) => (i * 7) % 253)
  writeHdf5(path, [{ name: 'x', dims: [3, 70_000], offset: 4096, data: [{ at: 4096, bytes }] }])
  const feed: FeedJson = {
    source: { hdf5: path },
    fields: { x: { from: 'x', as: 'npy', shape: [70_000], dtype: 'u8' } },
    batch: { size: 3, last: 'keep' },
  }
  await using(feed, { workers: 2, epochs: 1 }, async loader => {
    for await (const batch of loader) expect(Buffer.compare(batch.x as Uint8Array, bytes)).toBe(0)
  })
})

it('a file that changes under a feed is named', async () => {
  const path = join(home, 'moving.h5')
  copyFileSync(join(GOLDEN, 'layouts-v110.h5'), path)
  const feed: FeedJson = { ...axis(path), order: 'none', batch: 1 }
  await using(feed, { workers: 0, depth: 2 }, async loader => {
    const read = async () => {
      for await (const _ of loader) utimesSync(path, 1e9, 1e9)
    }
    await expect(read()).rejects.toThrow(/moving\.h5 changed during the run/)
  })
})
