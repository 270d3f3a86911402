/** Arrow files as a source: what every source does, feeds of them, and what happens to damaged, missing and changed data. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { digest, type FeedJson, type State, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { slowStore } from '../../../../test/support/slow-store.mjs'
import { SourceError } from '../../../core/basics/errors.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import type { Source } from '../../../core/source/source.js'
import { addStore } from '../../../core/store/stores.js'
import { conforms, readRow } from '../../../core/test/source/conformance.js'
import { inspect } from '../../../tools/prepare/inspect.js'
import { sourceAt } from '../../../tools/prepare/locate.js'
import type { ArrowJson } from '../../arrow/find.js'

const golden = join(import.meta.dirname, '../../../../test/golden/arrow')
const copy = (name: string, to: string): void => copyFileSync(join(golden, name), to)

const far = temporaryFolder()
addStore('slow', slowStore({ folder: far, latency: 1, errors: 0 }))

const TYPES = ['whole', 'f32', 'text', 'bytes', 'list', 'kind', 'nested.a', 'image', 'price', 'words']
const ROW_0 = {
  whole: '0',
  f32: '-1',
  text: '',
  bytes: '',
  kind: 'cat',
  'nested.a': '0',
  image: '\xff\xd8\x00',
  price: '-50',
}

for (const name of ['types.arrow', 'types.stream', 'types.lz4.arrow', 'types.zstd.stream'])
  conforms({
    name: `arrow, ${name}`,
    json: { arrow: '*.arrow' },
    wanted: TYPES,
    write: root => {
      for (const file of ['a.arrow', 'b.arrow']) copy(name, join(root, file))
    },
    change: root => copy('one.arrow', join(root, 'b.arrow')),
    count: 22,
    first: ROW_0,
  })

conforms({
  name: 'arrow, large values',
  json: { arrow: 'wide.arrow' },
  wanted: ['photo', 'article', 'tokens', 'n'],
  write: root => copy('wide.stream', join(root, 'wide.arrow')),
  change: root => copy('types.stream', join(root, 'wide.arrow')),
  count: 6,
  first: { photo: '\0'.repeat(5000), n: '0' },
})

const saved = (root: string): void => cpSync(join(golden, 'saved'), join(root, 'saved'), { recursive: true })
conforms({
  name: 'arrow, a folder of datasets',
  json: { arrow: { path: 'saved', split: 'train' } },
  wanted: ['image', 'label', 'x', 'qa.text'],
  write: saved,
  change: root => copy('one.arrow', join(root, 'saved/train/data-00001-of-00002.arrow')),
  count: 25,
  first: { label: '0', 'qa.text': 't0' },
})

conforms({
  name: 'arrow in a slow store',
  json: folder => ({ arrow: { path: `slow://${folder}/saved`, split: 'train' } }),
  store: { scheme: 'slow', folder: far },
  wanted: ['image', 'label', 'x', 'qa.text'],
  write: saved,
  change: root => copy('one.arrow', join(root, 'saved/train/data-00001-of-00002.arrow')),
  count: 25,
  first: { label: '0', 'qa.text': 't0' },
})

const home = temporaryFolder()
const large = join(home, 'large.arrow')
beforeAll(() => {
  process.env.MILLRACE_CACHE = join(home, 'cache')
  writeFileSync(large, gunzipSync(readFileSync(join(golden, 'large.arrow.gz'))))
  cpSync(join(golden, 'saved'), join(home, 'saved'), { recursive: true })
  for (const name of ['wide.stream', 'types.zstd.stream', 'types.arrow']) copy(name, join(home, name))
})

// ---------------------------------------------------------------- feeds

const feeds: [string, FeedJson][] = [
  [
    'a large batch, in parts',
    {
      source: { subset: { source: { arrow: large }, range: [100, 9100] } },
      fields: {
        n: { from: 'n', as: 'int' },
        maybe: { from: 'maybe', as: 'float', missing: -1 },
        text: { from: 'text', as: 'text', ragged: { max: 16 } },
        list: { from: 'list', as: 'npy', dtype: 'i32', shape: [2], pad: { to: 2, value: -7 } },
      },
      batch: { size: 250, last: 'keep' },
    },
  ],
  [
    'values of their own',
    {
      source: { arrow: join(home, 'wide.stream') },
      fields: {
        photo: { from: 'photo', as: 'bytes', ragged: { max: 8000 }, missing: '' },
        pixels: { from: 'pixels', as: 'npy', dtype: 'f32', shape: [70, 64] },
        n: { from: 'n', as: 'int' },
      },
      batch: { size: 4, last: 'keep' },
    },
  ],
  [
    'compressed batches',
    {
      source: { arrow: join(home, 'types.zstd.stream') },
      fields: {
        whole: { from: 'whole', as: 'int', dtype: 'i64' },
        text: { from: 'text', as: 'text', ragged: { max: 64 }, missing: 'nothing' },
        matrix: { from: 'matrix', as: 'npy', dtype: 'u8', shape: [2, 3] },
        price: { from: 'price', as: 'float', dtype: 'f64', missing: 0 },
        turns: { from: 'turns', as: 'text', ragged: { max: 64 }, missing: '' },
      },
      batch: { size: 4, last: 'keep' },
    },
  ],
  [
    "Hugging Face's, balanced by the label",
    {
      source: { arrow: { path: join(home, 'saved'), split: 'train' } },
      fields: {
        image: { from: 'image', as: 'bytes', ragged: { max: 100 } },
        label: { from: 'label', as: 'int' },
        x: { from: 'x', as: 'npy', dtype: 'f32', shape: [2, 3] },
        text: { from: 'qa.text', as: 'text', ragged: { max: 8 } },
      },
      batch: { size: 4, last: 'keep' },
    },
  ],
]

const ORDERS: FeedJson['order'][] = [
  'none',
  { shuffle: 'global', seed: 3 },
  { shuffle: { window: 5000 }, seed: 3 },
]

/** The digests of an epoch's batches, and the state after the last of them. */
async function delivered(feed: FeedJson, workers: number, resume?: State, stop = Infinity) {
  const batches: string[] = []
  let state: State | undefined
  await using(feed, { workers, state: resume }, async loader => {
    for await (const batch of loader) {
      batches.push(digest(batch, Object.keys(feed.fields)))
      state = loader.state()
      if (batches.length === stop) break
    }
  })
  return { batches, state }
}

describe.each(feeds)('a feed of %s', (_, feed) => {
  it.each(ORDERS)('is the same with any number of workers, and resumes: %j', async order => {
    const whole = await delivered({ ...feed, order }, 0)
    expect(await delivered({ ...feed, order }, 2)).toEqual(whole)
    const first = await delivered({ ...feed, order }, 2, undefined, 1)
    const rest = await delivered({ ...feed, order }, 1, first.state)
    expect([...first.batches, ...rest.batches]).toEqual(whole.batches)
  })
})

it('a folder that is missing is named, also where a split is asked for', async () => {
  await expect(open({ arrow: { path: join(home, 'savd'), split: 'train' } })).rejects.toThrow(
    /savd is missing: check the path/,
  )
})

describe('labels', () => {
  it('are index columns: where, balance and stratify go by them', async () => {
    const arrow = { path: join(home, 'saved'), split: 'train' }
    const only = await open({ subset: { source: { arrow }, where: { label: 2, 'qa.n': { '>=': 10 } } } })
    expect(only.count).toBe([...Array(25).keys()].filter(i => i % 3 === 2 && i >= 10).length)
    const types = await open({
      subset: { source: { arrow: join(home, 'types.arrow') }, where: { kind: 'dog' } },
    })
    expect(Array.from({ length: types.count }, (_, row) => readRow(types, row, ['whole']).whole)).toEqual([
      1n,
      4n,
      7n,
    ])
  })
})

describe('inspect', () => {
  it('knows folders and files by their names, and tells columns, batches and classes', async () => {
    const train = join(home, 'saved/train')
    expect(await sourceAt(train)).toEqual({ arrow: train })
    expect(await sourceAt('x/*.arrow')).toEqual({ arrow: 'x/*.arrow' })
    expect(await sourceAt('x.feather')).toEqual({ arrow: 'x.feather' })
    const { samples, layout, classes } = await inspect({ arrow: train }, { root: home })
    expect(samples).toBe(25)
    expect(layout?.chunks).toBe('2 record batches of 13 rows, stream')
    expect(layout?.schema).toContainEqual({ name: 'label', type: 'int64, 3 classes: cat, dog, ox', nulls: 0 })
    expect(layout?.schema).toContainEqual({ name: 'image.path', type: 'utf8', nulls: 25 })
    expect(classes.map(({ name, samples }) => [name, samples])).toEqual([
      ['cat', 9],
      ['dog', 8],
      ['ox', 8],
    ])
    const packed = await inspect({ arrow: join(home, 'types.zstd.stream') }, { root: home })
    expect(packed.layout?.codecs).toEqual(['zstd'])
  })
})

// ---------------------------------------------------------------- what can be wrong

async function open(json: unknown, wanted: string[] = []): Promise<Source> {
  const context = { root: home, wanted, notice: (text: string) => notices.push(text) }
  return attachSource(await openSource(json as { arrow: ArrowJson }, context))
}
const notices: string[] = []

async function refusal(arrow: ArrowJson, wanted: string[] = []): Promise<string> {
  const error = await open({ arrow }, wanted).catch(error => error)
  expect(error).toBeInstanceOf(SourceError)
  return error.message
}

const write = (name: string, bytes: Uint8Array): string => {
  const file = join(temporaryFolder(), name)
  writeFileSync(file, bytes)
  return file
}

describe('what can be wrong', () => {
  it('a file that is missing, cut short, or of another kind', async () => {
    expect(await refusal('nowhere.arrow')).toMatch(/file .*nowhere\.arrow is missing/)
    const bytes = readFileSync(join(golden, 'types.arrow'))
    expect(await refusal(write('a.arrow', bytes.subarray(0, 9000)))).toMatch(
      /footer is missing.*write it again/,
    )
    const stream = readFileSync(join(golden, 'types.stream'))
    expect(await refusal(write('a.arrow', stream.subarray(0, 9000)))).toMatch(
      /the file ends at 9000: it is cut short/,
    )
    expect(await refusal(write('a.arrow', Buffer.from('PAR1 and more')))).toMatch(
      /Parquet: use the source "parquet"/,
    )
    expect(await refusal(write('a.arrow', Buffer.from('FEA1 and more')))).toMatch(
      /Feather version 1: write it again/,
    )
    expect(await refusal(write('a.arrow', Buffer.from('hello, world')))).toMatch(
      /neither as an Arrow file nor as a stream/,
    )
    expect(await refusal(write('a.arrow', Buffer.alloc(0)))).toMatch(/neither/)
  })

  it('big-endian data is refused by name', async () => {
    // In the schema's table, endianness is absent for little-endian: its field is set in a copy of the vtable of a golden file.
    const error = await refusal(write('big.arrow', readFileSync(join(golden, 'big-endian.stream'))))
    expect(error).toMatch(/big-endian, which Millrace does not read/)
  })

  it('a column of a type that is not read is named where it is wanted', async () => {
    for (const name of ['unread.arrow', 'unread-v4.arrow']) {
      const own = write(name, readFileSync(join(golden, name)))
      const source = await open({ arrow: own })
      expect(source.columns).toEqual(['n'])
      expect(readRow(source, 1, ['n'])).toEqual({ n: 2n })
      expect(await refusal(own, ['either'])).toMatch(
        /column "either" is union<.*>, which Millrace does not read/,
      )
    }
  })

  it('a buffer that does not unpack makes the rows of its batch bad, with the file and the offset', async () => {
    const bytes = readFileSync(join(golden, 'types.zstd.stream'))
    const at = bytes.lastIndexOf(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]))
    bytes.fill(0xee, at, at + 4)
    const source = await open({ arrow: write('bad.stream', bytes) })
    const bad = source.columns.filter(column => {
      try {
        readRow(source, source.count - 1, [column])
        return false
      } catch (error) {
        expect((error as Error).message).toMatch(/bad\.stream: rows \d+ to 10, at offset \d+/)
        return true
      }
    })
    expect(bad.length).toBeGreaterThan(0)
    for (const column of bad) expect(() => readRow(source, 0, [column])).not.toThrow()
  })

  it('an index is made once, and anew when the data changed', async () => {
    const file = write('x.arrow', readFileSync(join(golden, 'types.arrow')))
    await open({ arrow: file })
    notices.length = 0
    expect((await open({ arrow: file })).count).toBe(11)
    expect(notices).toEqual([])
    copy('one.arrow', file)
    expect((await open({ arrow: file })).count).toBe(1)
    expect(notices.join()).toMatch(/index of .*x\.arrow is rebuilt: the file had/)
  })

  it('files that change while a feed runs are not read on', async () => {
    const file = write('x.arrow', readFileSync(join(golden, 'wide.stream')))
    const feed = {
      source: { arrow: file },
      fields: { n: { from: 'photo', as: 'bytes', ragged: { max: 8000 }, missing: '' } },
      batch: 1,
    }
    await using(feed as FeedJson, { workers: 0 }, async loader => {
      const read = async () => {
        for await (const batch of loader) {
          expect(batch.count).toBe(1)
          truncateSync(file, 1000)
          utimesSync(file, 1, 1)
        }
      }
      await expect(read()).rejects.toThrow(/x\.arrow changed during the run/)
    })
  })

  it('a null without "missing" is a bad sample, and the message says that there are nulls', async () => {
    const feed = {
      source: { arrow: join(home, 'types.arrow') },
      fields: { image: { from: 'image', as: 'bytes', ragged: { max: 9 } } },
      batch: 4,
    }
    const read = (): Promise<void> =>
      using(feed as FeedJson, { workers: 0 }, async loader => {
        for await (const batch of loader) expect(batch.count).toBe(4)
      })
    await expect(read()).rejects.toThrow(
      /sample types\.arrow:2 .*Columns with nulls.* image \(3\).*"missing".*only a path/,
    )
  })

  it('files with different columns may stand together', async () => {
    const folder = temporaryFolder()
    mkdirSync(folder, { recursive: true })
    copy('one.arrow', join(folder, 'a.arrow'))
    copy('delta.stream', join(folder, 'b.arrow'))
    const source = await open({ arrow: join(folder, '*.arrow') })
    expect(source.count).toBe(11)
    expect(readRow(source, 1, ['kind', 'whole'])).toEqual({ kind: new Uint8Array(Buffer.from('a')) })
    // Also where other columns of the file have nulls, "missing" stands for a column that it lacks.
    const feed = {
      source: { arrow: join(folder, '*.arrow') },
      fields: { whole: { from: 'whole', as: 'int', missing: -1 } },
      order: 'none',
      batch: 11,
    }
    const found = await using(feed as FeedJson, { workers: 0, epochs: 1 }, async loader => {
      for await (const batch of loader) return [...(batch.whole as BigInt64Array)]
    })
    expect(found).toEqual([4n, ...Array<bigint>(10).fill(-1n)])
    rmSync(folder, { recursive: true })
  })
})

it.each([19, 21])('a batch that says it has %d rows, of columns with 20 values, is refused', async rows => {
  const file = readFileSync(join(golden, 'numbers.arrow'))
  /** Where the length of the first batch lies. */
  const at = 1792
  expect(file.readBigInt64LE(at)).toBe(20n)
  file.writeBigInt64LE(BigInt(rows), at)
  const path = join(temporaryFolder(), 'x.arrow')
  writeFileSync(path, file)
  await expect(openSource({ arrow: path }, { root: '/', wanted: [] })).rejects.toThrow(
    new RegExp(`x\\.arrow.*says that it has ${rows} rows, and its column "d19_3" has 20 values`),
  )
})
