/** TFRecord files: counted, read at random, checked by their checksums, from any store; what is damaged is named. */
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { retried, SlowStore } from '../../../../test/support/slow-store.mjs'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { FeedJson, SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { OpenContext, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import { conforms, readRow } from '../../../core/test/source/conformance.js'
import { isDelivered } from '../../../core/test/source/delivered.js'
import { verify } from '../../../tools/prepare/verify/verify.js'
import { example, framed, lengthOf, tfrecordFile } from './write-records.js'

const record = (i: number, size = 40 * i) =>
  example({
    image: Buffer.alloc(size, i),
    label: { ints: [i] },
    text: `text ${i}`,
    box: { floats: [i, 0.5] },
  })
const records = (count: number, from = 0) => Array.from({ length: count }, (_, i) => record(from + i))

const home = temporaryFolder()
const notices: string[] = []
beforeEach(() => {
  notices.length = 0
})

const openAt = async (json: SourceJson, more: Partial<OpenContext> = {}): Promise<Source> =>
  attachSource(
    await openSource(json, { root: home, wanted: [], notice: text => notices.push(text), ...more }),
  )

conforms({
  name: 'tfrecord',
  json: { tfrecord: ['a-{0..1}.tfrecord', 'b*.tfrecord'] },
  wanted: ['text', 'record'],
  write: root => {
    for (const [i, name] of ['a-0', 'a-1', 'b0'].entries())
      writeFileSync(join(root, `${name}.tfrecord`), tfrecordFile(records(i === 1 ? 0 : 5, 10 * i)))
  },
  change: root => writeFileSync(join(root, 'b0.tfrecord'), tfrecordFile(records(5, 30))),
  count: 10,
  first: { text: 'text 0', record: record(0).toString('latin1') },
})

const feedHome = temporaryFolder()
for (const name of ['x', 'y'])
  writeFileSync(join(feedHome, name), tfrecordFile(records(17, name === 'x' ? 0 : 20)))
isDelivered('tfrecord', () => ({
  source: { tfrecord: [join(feedHome, 'x'), join(feedHome, 'y')] },
  fields: {
    image: { from: 'image', as: 'bytes', ragged: { max: 4000 } },
    label: { from: 'label', as: 'int' },
    box: { from: 'box', as: 'npy', shape: [2], dtype: 'f32' },
    text: { from: 'text', as: 'text', ragged: { max: 16 } },
  },
}))

describe('what is damaged', () => {
  const write = (name: string, data: Uint8Array) => writeFileSync(join(home, name), data)

  it.each([3, 11, 12, 30])('a record that is cut after %i bytes is named', async left => {
    const whole = tfrecordFile(records(3, 1))
    const at = whole.length - framed(record(3)).length
    write('cut.tfrecord', whole.subarray(0, at + left))
    await expect(openAt({ tfrecord: 'cut.tfrecord' })).rejects.toThrow(
      new RegExp(
        `cut.tfrecord: the file ends at byte ${at + left}, in the middle of record 2, which begins at byte ${at}.*truncate -s ${at}`,
      ),
    )
  })

  it('a length with a wrong checksum is named, a first one as no TFRecord', async () => {
    const whole = tfrecordFile(records(3, 1))
    const at = framed(record(1)).length
    whole[at] ^= 1
    write('length.tfrecord', whole)
    await expect(openAt({ tfrecord: 'length.tfrecord' })).rejects.toThrow(
      `the checksum of the length of record 1, at byte ${at}, is wrong: the file is damaged`,
    )
    write('other.tfrecord', Buffer.from('this is a text, and no file of records'))
    await expect(openAt({ tfrecord: 'other.tfrecord' })).rejects.toThrow('this is no TFRecord file')
  })

  it('data with a wrong checksum make a bad sample, unless `check` is false', async () => {
    const whole = tfrecordFile(records(3, 1))
    whole[whole.length - 20] ^= 4
    write('data.tfrecord', whole)
    const source = await openAt({ tfrecord: 'data.tfrecord' })
    expect(readRow(source, 1, ['text']).text).toBeDefined()
    expect(() => readRow(source, 2, ['text'])).toThrow(/checksum \(CRC-32C\).*"check": false/)
    const unchecked = await openAt({ tfrecord: { path: 'data.tfrecord', check: false } })
    expect(readRow(unchecked, 2, ['record']).record).toHaveLength(record(3).length)
  })

  it('a record that is no tf.Example is a bad sample, and its bytes can be had', async () => {
    write('raw.tfrecord', tfrecordFile([record(1), Buffer.from([0x0a, 0xff])]))
    const source = await openAt({ tfrecord: 'raw.tfrecord' })
    expect(source.columns).toEqual(['record'])
    expect(() => readRow(source, 1, ['text'])).toThrow(/no tf.Example: .* ask for the column "record"/)
    expect(readRow(source, 1, ['record']).record).toEqual(new Uint8Array([0x0a, 0xff]))
  })

  it('files without a record, files that are missing, and folders are refused', async () => {
    write('empty.tfrecord', Buffer.alloc(0))
    await expect(openAt({ tfrecord: 'empty.tfrecord' })).rejects.toThrow('no row in')
    await expect(openAt({ tfrecord: 'none.tfrecord' })).rejects.toThrow(/file .*none.tfrecord is missing/)
    await expect(openAt({ tfrecord: '.' })).rejects.toThrow(
      'is a folder: name its files, as in "./*.tfrecord"',
    )
    await expect(openAt({ tfrecord: 'nowhere/*.tfrecord' })).rejects.toThrow(
      /there is no folder .*nowhere, where the pattern "nowhere\/\*\.tfrecord" looks for files/,
    )
  })

  it('several values of bytes are asked for one by one', async () => {
    write('tags.tfrecord', tfrecordFile([example({ tags: ['a', 'b', 'c'] })]))
    const source = await openAt({ tfrecord: 'tags.tfrecord' })
    expect(() => readRow(source, 0, ['tags'])).toThrow(
      'feature "tags" has 3 values of bytes: ask for one, as "tags[0]"',
    )
    expect(readRow(source, 0, ['tags[2]'])).toEqual({ 'tags[2]': new Uint8Array([0x63]) })
    expect((await verify({ tfrecord: 'tags.tfrecord' }, { root: home, workers: 0 })).bad).toEqual([])
    const asked: FeedJson = {
      source: { tfrecord: 'tags.tfrecord' },
      fields: { tags: { from: 'tags', as: 'text' } },
      batch: 1,
    }
    const { fields } = normalizeFeed(asked, home)
    expect((await verify(asked.source, { root: home, workers: 0, fields })).bad).toMatchObject([
      { cause: expect.stringContaining('has 3 values of bytes') },
    ])
  })
})

it('verify takes a list of one for a number, and tells of data whose checksum is wrong', async () => {
  const whole = tfrecordFile(records(4, 1))
  whole[whole.length - 20] ^= 4
  writeFileSync(join(home, 'verified.tfrecord'), whole)
  const feed: FeedJson = {
    source: { tfrecord: 'verified.tfrecord' },
    fields: { label: { from: 'label', as: 'int' }, box: { from: 'box', as: 'float' } },
    batch: 2,
  }
  const { fields } = normalizeFeed(feed, home)
  const { bad } = await verify(feed.source, { root: home, fields, workers: 0 })
  const found = bad.map(({ row, column, cause }) => [row, column, cause.slice(0, 18)])
  const two = [0, 1, 2].map(row => [row, 'box', 'is an array [2], n'])
  expect(found).toEqual([...two, [3, undefined, 'the checksum (CRC-']])
})

describe("DALI's index", () => {
  const golden = join(import.meta.dirname, '../../../../test/golden/tfrecord')
  const idx = readFileSync(join(golden, 'plain.idx'), 'latin1')
  const at = async (folder: string, more: Partial<OpenContext> = {}) =>
    openAt({ tfrecord: join(folder, 'plain.tfrecord') }, more)
  const place = (text: string): string => {
    const folder = temporaryFolder()
    copyFileSync(join(golden, 'plain.tfrecord'), join(folder, 'plain.tfrecord'))
    writeFileSync(join(folder, 'plain.idx'), text)
    return folder
  }

  it('gives the same records as a walk over the file', async () => {
    const [indexed, walked] = [await at(place(idx)), await at(place(idx), { check: 'nothing' })]
    expect(notices).toEqual([])
    expect(indexed.count).toBe(7)
    const wheres = (source: Source) => Array.from({ length: 7 }, (_, row) => source.where?.(row)?.offset)
    expect(wheres(indexed)).toEqual(wheres(walked))
  })

  it.each([
    ['leaves a record out', idx.split('\n').slice(0, 5).join('\n')],
    [
      'has another length',
      idx.replace(/^0 (\d+)\n(\d+) (\d+)/, (_, a, b, c) => `0 ${+a + 1}\n${+b + 1} ${+c - 1}`),
    ],
    ['is garbage', 'v1.2 7\n'],
  ])('that %s is not used', async (_, text) => {
    const source = await at(place(text))
    expect(notices.join()).toMatch(/plain.idx is not used, the file is walked over instead/)
    expect(source.count).toBe(7)
    expect(readRow(source, 6, ['label'])).toHaveProperty('label')
  })
})

describe('changes and places', () => {
  it('another content under the same name makes another index', async () => {
    const file = join(home, 'changing.tfrecord')
    writeFileSync(file, tfrecordFile(records(3)))
    expect((await openAt({ tfrecord: file })).count).toBe(3)
    writeFileSync(file, tfrecordFile(records(5)))
    expect((await openAt({ tfrecord: file })).count).toBe(5)
    expect(notices.join()).toContain('is rebuilt')
  })

  it('a change while a feed runs is told', async () => {
    const file = join(home, 'running.tfrecord')
    writeFileSync(file, tfrecordFile(records(30, 1)))
    const source = await openAt({ tfrecord: file })
    writeFileSync(file, tfrecordFile(records(29, 1)))
    using stores = new Stores()
    const reader = new RowReader(source, new Reader(stores))
    expect(() => reader.read(3, ['text'])).toThrow(/changed during the run/)
  })

  it('ids name file and record, and keys leave the extension out', async () => {
    writeFileSync(join(home, 'k.tfrecord'), tfrecordFile(records(2)))
    const source = await openAt({ tfrecord: 'k.tfrecord' })
    expect([source.id(1), source.key(1)]).toEqual(['k.tfrecord:1', 'k:1'])
  })

  it('records beyond 4 GiB are found', async () => {
    const file = join(home, 'large.tfrecord')
    const gap = 4.5 * 2 ** 30
    const fd = openSync(file, 'w')
    // A record of 4.5 GiB of zeros, which take no room, and a small one behind it.
    writeSync(fd, lengthOf(gap), 0, undefined, 0)
    ftruncateSync(fd, gap + 16)
    writeSync(fd, framed(record(7)), 0, undefined, gap + 16)
    closeSync(fd)
    try {
      const source = await openAt({ tfrecord: file })
      expect(source.count).toBe(2)
      expect(source.where?.(1)?.offset).toBe(gap + 16)
      using stores = new Stores()
      const { sample } = await new RowReader(source, new Reader(stores)).read(1, ['text'])
      expect(Buffer.from(sample.text as Uint8Array).toString()).toBe('text 7')
    } finally {
      rmSync(file)
    }
  })
})

describe('a store that is far away', () => {
  const far = temporaryFolder()
  beforeAll(() => {
    const slow = retried(new SlowStore({ folder: far, latency: 1, errors: 0.05 }), 100)
    addStore('slow', { attach: () => slow })
    process.env.MILLRACE_CACHE = join(temporaryFolder(), 'cache')
    for (const i of [0, 1]) writeFileSync(join(far, `f-${i}.tfrecord`), tfrecordFile(records(20, 20 * i)))
  })

  it('gives what local files give', async () => {
    const sources = [
      await openAt({ tfrecord: join(far, 'f-{0..1}.tfrecord') }),
      await openAt({ tfrecord: 'slow://f-*.tfrecord' }),
    ]
    using stores = new Stores()
    const readers = sources.map(source => new RowReader(source, new Reader(stores)))
    const columns = ['image', 'label', 'text', 'box']
    for (let row = 0; row < 40; row++) {
      expect(sources[1].id(row)).toBe(sources[0].id(row))
      const [near, distant] = [await readers[0].read(row, columns), await readers[1].read(row, columns)]
      expect(distant.sample).toEqual(near.sample)
    }
  })
})
