/**
 * Feeds whose batches are made on the device, without a device: what the consumer needs of each batch (epoch, positions,
 * rows) comes through the ordinary ring, and a generator that is a pure function of it makes the same data whatever the
 * workers, the ranks and the place a run went on from.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  type AnyBatch,
  type AnyLoader,
  type FeedJson,
  type OpenOptions,
  open,
  using,
} from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { Random } from '../../basics/random.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { KernelFeedJson } from '../../define/types.js'
import { fillOptions } from '../../deliver/options.js'
import { generatorOf, poolOf, type SyntheticGenerator } from '../../engine/plan/generate.js'
import { decodeOf, fieldsForDevice, planMaking } from '../../engine/plan/making.js'
import { planFeed } from '../../engine/plan/plan.js'
import { placeOf } from '../../source/made/synthetic.js'

const folder = temporaryFolder()
writeFileSync(
  join(folder, 'gen.cu'),
  '#include "millrace.cuh"\nextern "C" __global__ void draw(millrace::Batch b, float* image, long long* label) {}\n',
)
const kernel = {
  file: 'gen.cu',
  entry: 'draw',
  count: 101,
  fields: {
    image: { dtype: 'f32' as const, shape: [3, 224, 224] },
    label: { dtype: 'i64' as const, shape: [] },
  },
}
const json: KernelFeedJson = {
  source: { kernel },
  order: { shuffle: 'global', seed: 5 },
  batch: { size: 8, last: 'keep' },
}
const gpu: OpenOptions = { root: folder, workers: 2 }
const feedOf = (change: object = {}) => ({ ...json, ...change }) as unknown as FeedJson

const build = new URL('../../../../build/', import.meta.url)
await import(`${build}all/registry.js`)
const { Loader } = (await import(
  `${build}core/deliver/node/loader.js`
)) as typeof import('../../deliver/node/loader.js')

/** Feeds a consumer that has a device of its own and takes slots as they are. */
async function feeding<T>(
  definition: FeedJson,
  { root = '/', ...options }: OpenOptions,
  use: (loader: AnyLoader) => Promise<T>,
): Promise<T> {
  const loader = new Loader(normalizeFeed(definition, root), fillOptions({ ...options, decode: 'gpu' }))
  try {
    return await use(loader as unknown as AnyLoader)
  } finally {
    await loader.close()
  }
}

/** What a kernel would be given for each row, and with it all that it can draw from. */
function drawn(batch: AnyBatch): string[] {
  return Array.from(batch.positions, (position, i) => `${batch.epoch}/${position}=${batch.ids[i]}`)
}

async function epoch(loader: AnyLoader, steps = Number.POSITIVE_INFINITY): Promise<string[]> {
  const rows: string[] = []
  let step = 0
  for await (const batch of loader) {
    rows.push(...drawn(batch))
    if (++step === steps) break
  }
  return rows
}

describe('a kernel', () => {
  test('gets every row of an epoch once, at the same positions whatever the workers', async () => {
    const one = await feeding(feedOf(), { ...gpu, workers: 0 }, loader => epoch(loader))
    const many = await feeding(feedOf(), { ...gpu, workers: 3 }, loader => epoch(loader))
    expect(many).toEqual(one)
    expect(one.map(row => Number(row.split('=')[1])).sort((a, b) => a - b)).toEqual([...Array(101).keys()])
    expect(one.map(row => row.split('=')[0])).toEqual(Array.from({ length: 101 }, (_, i) => `0/${i}`))
  })

  test('goes on from a state, and with other ranks, as if nothing had happened', async () => {
    const whole = await feeding(feedOf(), gpu, async loader => [
      ...(await epoch(loader)),
      ...(await epoch(loader)),
    ])
    const [before, state] = await feeding(feedOf(), gpu, async loader => {
      const rows: string[] = []
      for await (const batch of loader) {
        rows.push(...drawn(batch))
        if (rows.length === 40) return [rows, loader.state()] as const
      }
      throw new Error('the epoch was too short')
    })
    const after = await feeding(feedOf(), { ...gpu, state }, async loader => [
      ...(await epoch(loader)),
      ...(await epoch(loader)),
    ])
    expect([...before, ...after]).toEqual(whole)
    const ranks = await Promise.all(
      [0, 1].map(rank => feeding(feedOf(), { ...gpu, state, rank, world: 2 }, loader => epoch(loader))),
    )
    const place = (row: string) => Number(row.split(/[/=]/)[1])
    expect(ranks.flat().sort((a, b) => place(a) - place(b))).toEqual(whole.slice(40, 101))
  })

  test('takes no room for what it makes', async () => {
    const plan = await planFeed(normalizeFeed(json, folder))
    const { layout } = planMaking(plan, { world: 1, decode: 'gpu' })
    expect(layout.bytes).toBe(65536)
    expect(layout.fields.map(({ unitBytes, bytes }) => [unitBytes, bytes])).toEqual([
      [0, 0],
      [0, 0],
    ])
    // One claim for the whole batch: there is next to nothing to do.
    expect(layout.chunks / layout.stride).toBe(1)
  })

  test('is told as text, with its arguments in order', async () => {
    const plan = await planFeed(normalizeFeed(feedOf({ fields: { y: { from: 'label' } } }), folder))
    const { fields: making } = planMaking(plan, { world: 1, decode: 'gpu' })
    expect(generatorOf({ ...plan, making })).toEqual({
      kind: 'kernel',
      file: join(folder, 'gen.cu'),
      source: readFileSync(join(folder, 'gen.cu'), 'utf8'),
      headers: {},
      entry: 'draw',
      threads: 3 * 224 * 224,
      seed: 5,
      fields: [
        { name: 'image', field: null, dtype: 'f32', dlpack: [2, 32, 1], shape: [3, 224, 224] },
        { name: 'label', field: 'y', dtype: 'i64', dlpack: [0, 64, 1], shape: [] },
      ],
    })
  })

  test('has a content hash of its text: a state notices the change, and loads', async () => {
    const first = await planFeed(normalizeFeed(json, folder))
    const other = temporaryFolder()
    writeFileSync(join(other, 'gen.cu'), `${readFileSync(join(folder, 'gen.cu'), 'utf8')}// another`)
    const second = await planFeed(normalizeFeed(json, other))
    expect(second.hashes.order).toBe(first.hashes.order)
    expect(second.hashes.content).not.toBe(first.hashes.content)
    const state = await feeding(feedOf(), gpu, async loader => {
      await epoch(loader, 2)
      return loader.state()
    })
    const notices: string[] = []
    const notice = (text: string) => notices.push(text)
    await feeding(feedOf(), { ...gpu, root: other, state, notice }, loader => loader.ready)
    expect(notices.join(' ')).toMatch(/content|fields|values/i)
  })

  test('is refused in one sentence where there is no device', async () => {
    const loader = open(feedOf(), { root: folder, workers: 0, allowCode: true })
    await expect(loader.ready).rejects.toThrow(
      'image, label are generated on the GPU: open it with device="cuda"',
    )
    const one = open(feedOf({ fields: { image: { from: 'image' } } }), {
      root: folder,
      workers: 0,
      allowCode: true,
    })
    await expect(one.ready).rejects.toThrow('image is generated on the GPU: open it with device="cuda"')
  })

  test('is what "auto" means', () => {
    expect(decodeOf(normalizeFeed(json, folder), 'auto')).toBe('gpu')
    const tar = { source: { tar: 'a' }, fields: { n: { from: 'n', as: 'int' } }, batch: 1 }
    expect(decodeOf(normalizeFeed(tar, '/'), 'auto')).toBe('cpu')
    expect(decodeOf(normalizeFeed(tar, '/'), 'gpu')).toBe('gpu')
    const synthetic = { synthetic: { count: 9, tensors: { shape: [2] } } }
    const fields = { x: { from: 'data', as: 'npy', dtype: 'u8', shape: [2] } }
    const made = normalizeFeed({ source: synthetic, fields, batch: 1 }, '/')
    expect([decodeOf(made, 'auto'), fieldsForDevice(made, 'generated')]).toEqual(['cpu', ['x']])
    expect(fieldsForDevice(normalizeFeed(tar, '/'), 'generated')).toEqual([])
  })
})

describe('synthetic tensors', () => {
  const tensors = (dtype: string, shape = [2, 3]) => ({
    source: { synthetic: { count: 50, seed: 9, tensors: { shape, dtype } } },
    order: { shuffle: 'global', seed: 2 },
    fields: { x: { from: 'data', as: 'npy', dtype, shape: [6] } },
    batch: 8,
  })
  const planned = async (definition: object) => {
    const plan = await planFeed(normalizeFeed(definition, '/'))
    const { fields: making, layout } = planMaking(plan, { world: 1, decode: 'gpu' })
    return { layout, generator: generatorOf({ ...plan, making }) as SyntheticGenerator | undefined }
  }

  test.each(['u8', 'i16', 'u32', 'i64', 'f16', 'f32', 'f64', 'bool'])(
    '%s: copies from the pool, with the row as first element, are what the CPU makes',
    async dtype => {
      const definition = tensors(dtype) as unknown as FeedJson
      const { generator, layout } = await planned(definition)
      expect(generator).toMatchObject({
        kind: 'synthetic',
        seed: 9,
        dtype,
        elements: 6,
        places: 4096,
        fields: [{ name: 'data', field: 'x', dtype, shape: [6] }],
      })
      expect(layout.fields[0].bytes).toBe(0)
      const pool = poolOf(generator!)
      const bytes = pool.length / (6 + 4096)
      const random = new Random()
      await using(definition, { workers: 1 }, async loader => {
        for await (const batch of loader) {
          const all = batch.get('x') as Uint8Array
          const data = new Uint8Array(all.buffer, all.byteOffset, all.byteLength)
          for (const [i, id] of batch.ids.entries()) {
            const from = placeOf(random, 9, Number(id)) * bytes
            const row = data.subarray(i * 6 * bytes, (i + 1) * 6 * bytes)
            expect(row.subarray(bytes)).toEqual(pool.subarray(from + bytes, from + 6 * bytes))
          }
        }
      })
    },
  )

  test('of which something else is wanted are made on the CPU', async () => {
    const other = (field: object) => ({ ...tensors('u8'), fields: { x: { from: 'data', ...field } } })
    for (const field of [
      { as: 'npy', dtype: 'f32', shape: [6] },
      { as: 'bytes' },
      { as: 'npy', dtype: 'u8', shape: [6], pad: { to: 6 } },
    ]) {
      expect((await planned(other(field))).generator).toBeUndefined()
    }
    expect((await planned(tensors('bf16'))).generator).toBeUndefined()
  })

  test('may stand beside fields that the CPU makes', async () => {
    const fields = {
      x: { from: 'data', as: 'npy', dtype: 'u32', shape: [6] },
      raw: { from: 'data', as: 'bytes', ragged: { max: 24 } },
    }
    const definition = { ...tensors('u32'), fields } as unknown as FeedJson
    await feeding(definition, { workers: 1 }, async loader => {
      for await (const batch of loader) {
        const { values } = batch.get('raw') as { values: Uint8Array }
        const firsts = new Uint32Array(values.slice().buffer).filter((_, i) => i % 6 === 0)
        expect(Array.from(firsts, String)).toEqual(batch.ids)
      }
    })
  })
})
