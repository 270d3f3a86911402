/** Sources that give arrays: what they left in their files is read while the row is written, the same for any workers. */
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { digests, type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { functionHash, type UserFunction } from '../../define/build/call.js'

const root = temporaryFolder()
const [COUNT, WIDTH] = [24, 1500]

/** Rows of f32, little-endian, then rows of u16, big-endian, of which row 5 has a value beyond i16. */
const floats = Float32Array.from({ length: COUNT * WIDTH }, (_, i) => i / 7)
const tokens = Buffer.alloc(COUNT * 4 * 2)
for (let i = 0; i < COUNT * 4; i++) tokens.writeUInt16BE(i === 5 * 4 + 2 ? 40_000 : i, 2 * i)
const file = join(root, 'rows.bin')
writeFileSync(file, Buffer.concat([Buffer.from(floats.buffer), tokens]))

const plugin = join(root, 'plugin.mjs')
writeFileSync(
  plugin,
  `const [COUNT, WIDTH] = [${COUNT}, ${WIDTH}]
const arrays = {
  open: async ({ file }) => ({ fingerprint: { count: COUNT, digest: 'arrays' }, file }),
  attach: ({ file }) => ({
    count: COUNT,
    columns: ['floats', 'tokens', 'id'],
    runs: Float64Array.of(0),
    id: row => 'row ' + row,
    key: row => String(row),
    index: () => undefined,
    need() {},
    sample(row) {
      const at = row * WIDTH * 4
      const half = WIDTH * 2
      return {
        // Two tiles, neither of them read.
        floats: { dtype: 'f32', shape: [WIDTH], tiles: [
          { data: { file, offset: at, length: half }, shape: [WIDTH / 2] },
          { data: { file, offset: at + half, length: half }, at: [WIDTH / 2] },
        ] },
        // Backwards, in the other order of bytes.
        tokens: { dtype: 'u16', shape: [4], tiles: [
          { data: { file, offset: COUNT * WIDTH * 4 + row * 8, length: 8 }, strides: [-2], bigEndian: true },
        ] },
        id: 2n ** 62n + BigInt(row),
      }
    },
  }),
}
export default { sources: { arrays } }
`,
)

const feed = (dtype: 'i64' | 'i16', rest: Partial<FeedJson> = {}): FeedJson => ({
  source: { arrays: { file } } as never,
  fields: {
    floats: { from: 'floats', as: 'npy', dtype: 'f32', shape: [WIDTH] },
    doubles: { from: 'floats', as: 'npy', dtype: 'f64', shape: [WIDTH], pad: { to: 'longest' } },
    tokens: { from: 'tokens', as: 'npy', dtype, shape: [4] },
    id: { from: 'id', as: 'int' },
  },
  batch: { size: 8, last: 'keep' },
  ...rest,
})

test('arrays that are not read yet arrive whole', async () => {
  let row = 0
  const bytes = await using(feed('i64'), { plugins: [plugin], workers: 2 }, async loader => {
    for await (const batch of loader) {
      const { count } = batch
      const part = floats.subarray(row * WIDTH, (row + count) * WIDTH)
      expect(batch.floats).toEqual(part)
      expect(batch.doubles).toEqual(Float64Array.from(part))
      const ids = Array.from({ length: count }, (_, i) => 2n ** 62n + BigInt(row + i))
      expect(batch.id).toEqual(BigInt64Array.from(ids))
      const backwards = Array.from({ length: count * 4 }, (_, i) => (row + (i >> 2)) * 4 + 3 - (i & 3))
      const expected = backwards.map(n => (n === 22 ? 40_000n : BigInt(n)))
      expect(batch.tokens).toEqual(BigInt64Array.from(expected))
      row += count
      if (row === COUNT) return loader.stats().bytesRead
    }
    throw new Error('too few rows')
  })
  expect(bytes).toBeGreaterThanOrEqual(COUNT * (2 * WIDTH * 4 + 8))
})

test('the same for any number of workers', async () => {
  const json = feed('i64', { order: { shuffle: 'global', seed: 4 } })
  const [one, ...others] = await Promise.all(
    [0, 1, 2, 5].map(workers => digests(json, { plugins: [plugin], workers, epochs: 2 })),
  )
  expect(one.length).toBeGreaterThan(0)
  for (const other of others) expect(other).toEqual(one)
})

test('the same out of a store that has to be waited for, also through a function over the sample', async () => {
  const slow = join(root, 'slow.mjs')
  const store = new URL('../../../../test/support/slow-store.mjs', import.meta.url).href
  const options = { folder: root, latency: 2, errors: 0 }
  writeFileSync(
    slow,
    `import { slowStore } from ${JSON.stringify(store)}
    export default { stores: { slow: slowStore(${JSON.stringify(options)}) } }`,
  )
  const far = { ...feed('i64'), source: { arrays: { file: 'slow://rows.bin' } } as never }
  const near = await digests(feed('i64'), { plugins: [plugin], workers: 1 })
  expect(await digests(far, { plugins: [plugin, slow], workers: 2 })).toEqual(near)
  expect(await digests(far, { plugins: [plugin, slow], workers: 0 })).toEqual(near)
  const module = join(root, 'mapped.cjs')
  writeFileSync(
    module,
    `exports.keep = sample => {
      if (!(sample.floats.tiles[1].data instanceof Uint8Array)) throw new Error('it is not read')
      return sample
    }`,
  )
  const { keep } = createRequire(import.meta.url)(module) as { keep: UserFunction }
  const mapped = { ...far, map: { call: { module, export: 'keep', hash: functionHash(keep) } } }
  expect(await digests(mapped, { plugins: [plugin, slow], workers: 1, allowCode: true })).toEqual(near)
})

test('an element that does not fit makes a bad sample, which is named', async () => {
  const run = using(feed('i16'), { plugins: [plugin], workers: 1 }, async loader => {
    for await (const _ of loader);
  })
  await expect(run).rejects.toThrow(/row 5.*element \[1\] of the array is 40000 in u16, which is no i16/s)
})
