/** MDS: folders by mosaicml-streaming's own writer give the values that its reader finds; what is damaged is named. */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type AnyLoader, digests, type FeedJson, open as openFeed } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { retried, SlowStore } from '../../../../test/support/slow-store.mjs'
import type { Ragged } from '../../../all/index.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { OpenContext, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import { conforms, readRow } from '../../../core/test/source/conformance.js'
import { isDelivered } from '../../../core/test/source/delivered.js'
import { verify } from '../../../tools/prepare/verify/verify.js'
import { reported, sameNumbers, type Told } from '../shards/told-values.js'

const golden = join(import.meta.dirname, '../../../../test/golden/mds')
const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as Record<
  string,
  Record<string, Told>[]
>
const open = async (json: SourceJson, more: Partial<OpenContext> = {}): Promise<Source> =>
  attachSource(await openSource(json, { root: golden, wanted: [], ...more }))

/** A copy of a golden folder. */
function copyOf(name: string): string {
  const folder = join(temporaryFolder(), name)
  cpSync(join(golden, name), folder, { recursive: true })
  return folder
}

interface IndexJson {
  shards: {
    samples: number
    compression: string
    raw_data: { basename: string; bytes: number; hashes: Record<string, string> }
  }[]
}

/** A copy whose index.json was changed. */
function changed(name: string, change: (index: IndexJson) => void): string {
  const folder = copyOf(name)
  const path = join(folder, 'index.json')
  const index = JSON.parse(readFileSync(path, 'utf8')) as IndexJson
  change(index)
  writeFileSync(path, JSON.stringify(index))
  return folder
}

for (const [name, rows] of Object.entries(expected)) {
  it(`reads ${name} as its own reader does`, async () => {
    const source = await open({ mds: name })
    expect(source.count).toBe(rows.length)
    rows.forEach((row, i) => {
      const columns = Object.keys(row)
      const found = Object.entries(readRow(source, i, columns)).map(([column, value]) => [
        column,
        reported(value),
      ])
      expect(Object.fromEntries(found), `row ${i}`).toEqual(sameNumbers(row))
      for (const column of columns)
        expect(reported(readRow(source, i, [column])[column])).toEqual(sameNumbers(row)[column])
    })
  })
}

it('lists of pictures are asked for one by one', async () => {
  const source = await open({ mds: 'all' })
  const sample = readRow(source, 1, ['pictures[0]', 'pictures[1]', 'pictures[2]', 'jpegs[1]'])
  expect(Object.keys(sample).sort()).toEqual(['jpegs[1]', 'pictures[0]', 'pictures[1]'])
  expect(Buffer.from(sample['pictures[1]'] as Uint8Array).toString('latin1', 1, 4)).toBe('PNG')
  expect(Buffer.from(sample['jpegs[1]'] as Uint8Array).readUInt16BE(0)).toBe(0xffd8)
  expect(() => readRow(source, 1, ['pictures'])).toThrow('ask for one of their values, as "pictures[0]"')
})

it('pickles are refused by name, when a feed is opened and when they are read', async () => {
  await expect(open({ mds: 'all' }, { wanted: ['pickle'] })).rejects.toThrow(
    /"pickle" holds Python pickles.*never/,
  )
  const source = await open({ mds: 'all' })
  expect(() => readRow(source, 0, ['pickle'])).toThrow('holds Python pickles')
})

it('verify passes over columns that no field can take as they are', async () => {
  const { bad, columns } = await verify({ mds: 'all' }, { root: golden, workers: 0 })
  expect(bad).toEqual([])
  expect(columns).not.toContain('pickle')
  expect(columns).toContain('pictures')
})

it('a value of a list that a sample lacks is what "missing" says', async () => {
  const feed: FeedJson = {
    source: { mds: join(golden, 'all') },
    fields: { tenth: { from: 'pictures[9]', as: 'bytes', missing: '-' } },
    batch: { size: 1, last: 'keep' },
  }
  await using loader = openFeed(feed, { workers: 0 }) as AnyLoader
  for await (const batch of loader) expect((batch.tenth as Ragged).values[0]).toBe(0x2d)
})

it('tells its layout: encodings, shards, codecs', async () => {
  const layout = (await open({ mds: 'zstd' })).layout?.()
  expect(layout?.schema).toContainEqual({ name: 'x', type: 'ndarray:int32' })
  expect(layout?.codecs).toEqual(['zstd'])
  expect(layout?.slow).toContain('compressed as a whole')
  expect((await open({ mds: 'plain' })).layout?.()?.slow).toBeUndefined()
})

const first = { s: '', y: '0' }
for (const name of ['plain', 'zstd']) {
  conforms({
    name: `mds, ${name}`,
    json: { mds: 'data' },
    wanted: ['s', 'y'],
    write: root => cpSync(join(golden, name), join(root, 'data'), { recursive: true }),
    change: root => cpSync(join(golden, 'one'), join(root, 'data'), { recursive: true, force: true }),
    count: 40,
    first,
  })
  isDelivered(`mds, ${name},`, () => ({
    source: { mds: join(golden, name) },
    fields: {
      x: { from: 'x', as: 'npy', shape: [4], dtype: 'i32', ragged: { max: 4 } },
      y: { from: 'y', as: 'int' },
      s: { from: 's', as: 'text', ragged: { max: 8 } },
    },
  }))
}

it('windows that read blocks of several samples take plain shards, which have no units', async () => {
  const feed: FeedJson = {
    source: { concat: Array.from({ length: 30 }, () => ({ mds: join(golden, 'plain') })) },
    order: { shuffle: { window: 600 }, seed: 5 },
    fields: { y: { from: 'y', as: 'int' } },
    batch: { size: 100, last: 'keep' },
  }
  const alone = await digests(feed, { workers: 0, epochs: 1 })
  expect(alone).toHaveLength(12)
  expect(await digests(feed, { workers: 2, epochs: 1 })).toEqual(alone)
})

it('several folders are one source, with names that tell them apart', async () => {
  const source = await open({ mds: ['plain', 'zstd/index.json'] })
  expect(source.count).toBe(80)
  expect([source.id(0), source.id(79).split(':')[0]]).toEqual([
    'plain/shard.00000.mds:0',
    expect.stringMatching(/^zstd\/shard\.\d+\.mds$/),
  ])
  expect(readRow(source, 41, ['y'])).toEqual({ y: 1n })
  expect((await open({ mds: '{plain,one}/index.json' })).count).toBe(41)
})

describe('what is wrong', () => {
  it('a missing shard, one that is cut short, and a folder without an index are named', async () => {
    const folder = copyOf('plain')
    truncateSync(join(folder, 'shard.00001.mds'), 100)
    await expect(open({ mds: folder })).rejects.toThrow(
      /shard.00001.mds has 100 bytes, .*index.json says \d+/,
    )
    rmSync(join(folder, 'shard.00001.mds'))
    await expect(open({ mds: folder })).rejects.toThrow(/shard.00001.mds is missing, .*index.json names it/)
    rmSync(join(folder, 'index.json'))
    await expect(open({ mds: folder })).rejects.toThrow(/index.json is missing/)
    writeFileSync(join(folder, 'index.json'), '{"chunks": [], "config": {}}')
    await expect(open({ mds: folder })).rejects.toThrow('name the folder by {"litdata": …}')
    writeFileSync(join(folder, 'index.json'), '{"shards": [], "version": 2}')
    await expect(open({ litdata: folder })).rejects.toThrow('name the folder by {"mds": …}')
  })

  it.each(['../one/shard.00000.mds', '/etc/passwd', 'far://x', '', 'a/../../x', './x', '~/x'])(
    'a shard with the name "%s" is refused',
    async name => {
      const folder = changed('one', index => {
        index.shards[0].raw_data.basename = name
      })
      await expect(open({ mds: folder })).rejects.toThrow('it should be a file below its own folder')
    },
  )

  it('a table that does not fit is named', async () => {
    const folder = changed('one', index => {
      index.shards[0].samples = 2
    })
    await expect(open({ mds: folder })).rejects.toThrow(
      /shard.00000.mds: it has 1 samples, index.json says 2/,
    )
    const huge = changed('one', index => {
      index.shards[0].samples = 2 ** 40
    })
    await expect(open({ mds: huge })).rejects.toThrow(/too few for the 1099511627776 samples/)
  })

  it('a compressed shard that is damaged, or unpacks to another size, makes bad samples', async () => {
    const folder = copyOf('zstd')
    const [shard] = readdirSync(folder).filter(name => name.includes('00000'))
    const bytes = readFileSync(join(folder, shard))
    bytes.fill(0xff, 20, 40)
    writeFileSync(join(folder, shard), bytes)
    const source = await open({ mds: folder })
    expect(() => readRow(source, 0, ['y'])).toThrow(
      /shard.00000.mds.zstd: the zstd data .*copy or write it again/,
    )
    const lying = await open({
      mds: changed('zstd', index => {
        index.shards[0].raw_data.bytes += 1
      }),
    })
    expect(() => readRow(lying, 0, ['y'])).toThrow(/unpacks to \d+ bytes, not to \d+/)
    const huge = changed('zstd', index => {
      index.shards[0].raw_data.bytes = 2 ** 40
    })
    await expect(open({ mds: huge })).rejects.toThrow(
      /has 1099511627776 bytes in "shard.*", more than its offsets can tell/,
    )
  })

  it('codecs and formats that are not read are named', async () => {
    await expect(open({ mds: 'bz2' })).rejects.toThrow(
      'is compressed with "bz2": read are zstd, gz, snappy, br and none',
    )
    const folder = changed('one', index => Object.assign(index.shards[0], { format: 'csv' }))
    await expect(open({ mds: folder })).rejects.toThrow('has the format "csv", not "mds"')
  })

  it('verify compares the hashes that index.json has', async () => {
    const notices: string[] = []
    const verified = { check: 'nothing' as const, notice: (text: string) => notices.push(text) }
    expect((await open({ mds: 'all' }, verified)).count).toBe(7)
    expect(notices.join()).toContain('hashes of the kind xxh64 are not compared')
    const folder = changed('all', index => {
      index.shards[1].raw_data.hashes.sha1 = '00'
    })
    await expect(open({ mds: folder }, verified)).rejects.toThrow(
      /shard.00001.mds: its sha1 is [0-9a-f]{40}, index.json says 00/,
    )
    expect((await open({ mds: folder })).count).toBe(7)
  })
})

describe('a store that is far away', () => {
  beforeAll(() => {
    const slow = retried(new SlowStore({ folder: golden, latency: 1, errors: 0.05 }), 100)
    addStore('slow', { attach: () => slow })
  })

  it.each(['plain', 'br'])('gives what local files give: %s', async name => {
    const far = await open({ mds: `slow://${name}` })
    using stores = new Stores()
    const reader = new RowReader(far, new Reader(stores))
    for (const [row, values] of expected[name].entries()) {
      const { sample } = await reader.read(row, Object.keys(values))
      expect(
        Object.fromEntries(Object.entries(sample).map(([column, value]) => [column, reported(value)])),
      ).toEqual(values)
    }
  })
})
