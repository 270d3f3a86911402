/**
 * Rows that are made straight from columns of units: the same batches, and the same errors, as by way of samples. A field with
 * two columns to choose from is always made by way of samples.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { digests, type FeedJson, type OpenOptions, using } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import type { ParquetSource } from '../../../../formats/parquet/parquet-source.js'

vi.hoisted(() => {
  process.env.MILLRACE_BUILT = 'build'
})

const root = temporaryFolder()
process.env.MILLRACE_CACHE = join(root, 'cache')
cpSync(join(import.meta.dirname, '../../../../../test/golden/parquet'), root, { recursive: true })
const built = new URL('../../../../../build/formats/parquet/parquet-source.js', import.meta.url)
const { ParquetSource: Source } = (await import(built.href)) as { ParquetSource: typeof ParquetSource }

afterEach(() => void vi.restoreAllMocks())

type Fields = Record<string, { from: string; [more: string]: unknown }>

const source = (files: string): FeedJson['source'] => ({ parquet: `${root}/${files}.parquet` })

function feedOf(from: FeedJson['source'], fields: Fields, more: Partial<FeedJson> = {}): FeedJson {
  return {
    source: from,
    order: { shuffle: { window: 90 }, seed: 4 },
    fields: fields as never,
    batch: { size: 24, last: 'keep' },
    ...more,
  }
}

/** The same feed, by way of samples. */
function bySamples(feed: FeedJson): FeedJson {
  const fields = Object.entries(feed.fields as unknown as Fields).map(([name, field]) => [
    name,
    { ...field, from: `${field.from}|no-such-column` },
  ])
  return { ...feed, fields: Object.fromEntries(fields) as never }
}

/** Digests of all batches, which are the same both ways; and how many samples were put together for the direct one. */
async function same(feed: FeedJson, options: OpenOptions = {}): Promise<number> {
  const expected = await digests(bySamples(feed), { ...options, workers: 0 }, 1)
  const sample = vi.spyOn(Source.prototype, 'sample')
  expect(await digests(feed, { ...options, workers: 0 }, 1)).toEqual(expected)
  const count = sample.mock.calls.length
  sample.mockRestore()
  expect(await digests(feed, { ...options, workers: 2 }, 1)).toEqual(expected)
  return count
}

const TEXT = { from: 'text', as: 'text', ragged: { max: 100 } }

describe('the same batches as by way of samples', () => {
  const fields: Fields = {
    text: TEXT,
    padded: { from: 'text', as: 'bytes', pad: { max: 100, to: 'longest' } },
    bytes: { from: 'bytes', as: 'bytes', ragged: { max: 100 } },
    fixed: { from: 'fixed', as: 'bytes', ragged: { max: 16 } },
    i64: { from: 'i64', as: 'int', dtype: 'i64' },
    u8: { from: 'u8', as: 'int' },
    f32: { from: 'f32', as: 'float' },
    f64: { from: 'f64', as: 'float', dtype: 'f64' },
  }
  const lists = { from: 'list', as: 'npy', dtype: 'i32', shape: [100], ragged: { max: 100 } }

  it.each(['plain', 'dictionary', 'codec-none', 'codec-snappy', 'codec-zstd', 'delta-1', 'delta-2', 'split'])(
    '%s',
    async file => expect(await same(feedOf(source(file), fields))).toBe(0),
  )

  it('of lists, as elements of one type', async () => {
    const { text, ...rest } = {
      text: TEXT,
      lists,
      padded: { ...lists, ragged: undefined, pad: { max: 100, to: 100 } },
    }
    expect(await same(feedOf(source('plain'), { text, ...rest }))).toBe(0)
  })

  it('of lists of one length', async () => {
    const indices = Array.from({ length: 12 }, (_, i) => 4 * i + 3)
    const threes = { subset: { source: source('plain'), indices } } as never
    const numbers = { from: 'list', as: 'npy', dtype: 'i32', shape: [3] }
    expect(await same(feedOf(threes, { numbers }))).toBe(0)
    // Of another type, they are converted.
    expect(await same(feedOf(threes, { numbers: { ...numbers, dtype: 'i64' } }))).toBe(12)
  })

  it('of values that are null: for these, something else may stand', async () => {
    const missing = Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [
        name,
        { ...field, missing: field.as === 'text' ? 'none' : field.as === 'bytes' ? '' : 7 },
      ]),
    )
    for (const file of ['nulls', 'nulls-v2']) {
      const samples = await same(feedOf(source(file), missing))
      expect(samples).toBeGreaterThan(0)
      expect(samples).toBeLessThan(60)
    }
  })

  it('of rows that are bad', async () => {
    const some = { text: { ...TEXT, ragged: { max: 23 } }, u8: { from: 'u8', as: 'int' } }
    for (const policy of ['drop', 'mask']) {
      const onError = { policy, budget: 1000 } as never
      for (const file of ['plain', 'codec-none', 'dictionary'])
        expect(await same(feedOf(source(file), some, { onError }))).toBeGreaterThan(0)
    }
  })

  it('of several files, and of a part of them', async () => {
    const files = source('{codec-zstd,codec-snappy}')
    const part = { subset: { source: files, range: [50, 350] } } as never
    expect(await same(feedOf(part, fields))).toBe(0)
    expect(await same(feedOf({ concat: [files, source('codec-none')] } as never, fields))).toBe(0)
  })
})

it('fails with the same words', async () => {
  const failure = (feed: FeedJson): Promise<string> =>
    using(feed, { workers: 0 }, async loader => {
      for await (const batch of loader) batch.ids
      return 'nothing'
    }).catch(error => (error as Error).message)
  const cases: [string, Fields][] = [
    ['codec-none', { text: { ...TEXT, ragged: { max: 20 } } }],
    ['codec-none', { text: { ...TEXT, from: 'fixed' } }],
    ['plain', { number: { from: 'text', as: 'int' } }],
    ['plain', { number: { from: 'u32', as: 'int', dtype: 'i32' } }],
    ['plain', { text: TEXT, numbers: { from: 'list', as: 'npy', dtype: 'i32', shape: [3] } }],
    ['nulls', { text: TEXT }],
  ]
  for (const [file, fields] of cases) {
    const feed = feedOf(source(file), fields, { order: 'none' })
    const said = await failure(feed)
    expect(said).not.toBe('nothing')
    expect((await failure(bySamples(feed))).replaceAll(' or "no-such-column"', '')).toBe(said)
  }
})
