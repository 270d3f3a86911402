/** The source `zarr`: the suite of all sources, which arrays are columns, and what is wrong with data. */
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { SlowStore, slowStore } from '../../../../test/support/slow-store.mjs'
import { crc32c } from '../../../core/codec/checksum.js'
import { openSource } from '../../../core/source/registry.js'
import { needOf } from '../../../core/source/row-reader.js'
import { addStore } from '../../../core/store/stores.js'
import { conforms } from '../../../core/test/source/conformance.js'
import { inspect } from '../../../tools/prepare/inspect.js'
import { sourceAt } from '../../../tools/prepare/locate.js'
import { golden, openZarr, readAll, writeStore } from './stores.js'

const GROUP = golden('v3 group, consolidated False')
const home = temporaryFolder()
let stores = 0

/** A fresh copy of a golden store. */
function copyOf(name: string): string {
  const folder = join(home, `store-${stores++}.zarr`)
  writeStore(golden(name), folder)
  return folder
}

for (const name of ['v3 group, consolidated False', 'v2 group, consolidated True']) {
  conforms({
    name: `zarr, ${name},`,
    json: { zarr: 'a.zarr' },
    wanted: ['image', 'label', 'deep/name'],
    write: root => writeStore(golden(name), join(root, 'a.zarr')),
    change: root => rmSync(join(root, 'a.zarr/image', name.startsWith('v3') ? 'c/1/0/0' : '1.0.0')),
    count: 10,
    first: {},
  })
}
conforms({
  name: 'zarr of shards in shards, in two stores,',
  json: { zarr: { path: '{a,b}.zarr', arrays: { x: '/' } } },
  wanted: ['x'],
  write: root => {
    writeStore(golden('v3 shards in shards'), join(root, 'a.zarr'))
    writeStore(golden('v3 plain shards in shards'), join(root, 'b.zarr'))
  },
  change: root => rmSync(join(root, 'b.zarr/c/1/1')),
  count: 26,
  first: {},
})
conforms({
  name: 'zarr in an archive',
  json: { zarr: 'a.zarr.zip' },
  wanted: ['x', 'plain', 'shards', 'texts'],
  write: root => writeStore(golden('v3 archive'), root),
  change: root => writeStore(golden('v2 archive'), root),
  count: 9,
  first: { texts: 'text 0' },
})
const farHome = temporaryFolder()
addStore('slow', slowStore({ folder: farHome, latency: 1 }))
conforms({
  name: 'zarr in a slow store',
  json: folder => ({ zarr: `slow://${folder}/*.zarr` }),
  store: { scheme: 'slow', folder: farHome },
  wanted: ['image', 'label', 'deep/name'],
  write: root => writeStore(GROUP, join(root, 'a.zarr')),
  change: root => rmSync(join(root, 'a.zarr/image/c/1/0/0')),
  count: 10,
  first: {},
})
conforms({
  name: 'zarr of groups that are rows',
  json: { zarr: { path: 'a.zarr', rows: 'groups', arrays: ['data/*/obs/img', 'data/*/action'] } },
  wanted: ['obs/img', 'action'],
  write: root => writeStore(golden('v3 parts'), join(root, 'a.zarr')),
  change: root => rmSync(join(root, 'a.zarr/data/demo_1'), { recursive: true }),
  count: 3,
  first: {},
})

describe('columns', () => {
  it('are the arrays of the store, or those that are named', async () => {
    const folder = copyOf(GROUP.name)
    expect((await openZarr(folder)).columns).toEqual(['deep/name', 'image', 'label'])
    expect((await openZarr({ path: folder, arrays: 'image' })).columns).toEqual(['image'])
    expect((await openZarr({ path: folder, arrays: ['/deep/*'] })).columns).toEqual(['deep/name'])
    expect((await openZarr({ path: folder, arrays: { y: 'label' } })).columns).toEqual(['y'])
  })

  it('of several stores follow each other, with ids that tell them apart', async () => {
    copyOf(GROUP.name)
    mkdirSync(join(home, 'many'))
    for (const name of ['b', 'a'])
      cpSync(copyOf(GROUP.name), join(home, 'many', `${name}.zarr`), { recursive: true })
    const source = await openZarr({ path: 'many/*.zarr', arrays: ['label'] }, home)
    expect(source.count).toBe(20)
    expect([...source.runs]).toEqual([0, 10])
    expect([source.id(0), source.id(19), source.key(19)]).toEqual(['a.zarr:0', 'b.zarr:9', 'b:9'])
    const label = GROUP.columns.label.hex!
    expect((await readAll(source)).label.hex).toBe(label + label)
  })

  it('with wildcards have a part for each match, along the axis or as rows', async () => {
    const folder = copyOf('v3 parts')
    const frames = await openZarr({ path: folder, arrays: { img: 'data/*/obs/img' } })
    expect([frames.count, frames.id(3), frames.id(7)]).toEqual([
      8,
      `${folder.split('/').at(-1)}/demo_1:0`,
      expect.stringMatching(/demo_2:3$/),
    ])
    expect([...frames.runs]).toEqual([0, 3, 4])
    const groups = await openZarr({ path: folder, rows: 'groups', arrays: { img: 'data/*/obs/img' } })
    expect([groups.count, groups.key(1)]).toEqual([3, 'demo_1'])
    const all = await openZarr({ path: `${folder}/data`, rows: 'groups' })
    expect([all.columns, all.count]).toEqual([['action', 'obs/img'], 3])
  })

  it('of groups may be missing in some', async () => {
    const folder = copyOf('v3 parts')
    rmSync(join(folder, 'data/demo_1/action'), { recursive: true })
    const json = { path: folder, arrays: ['data/*/obs/img', 'data/*/action'] }
    const source = await openZarr({ ...json, rows: 'groups' })
    expect(source.present?.(1).columns).toEqual(['obs/img'])
    expect(needOf(source, 1, ['action'])).toEqual({ ranges: [], units: [] })
    await expect(openZarr(json)).rejects.toThrow(/demo_1\) has no array "action", which others have/)
  })

  it('that are big-endian behind a delta are refused for that', async () => {
    const folder = copyOf('v2 delta <i2')
    const file = join(folder, '.zarray')
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('<i2', '>i2'))
    await expect(openZarr(folder)).rejects.toThrow(/its codec delta is of big-endian numbers \(">i2"\)/)
  })

  it('must have the same rows, and exist', async () => {
    const folder = copyOf(GROUP.name)
    await expect(openZarr({ path: folder, arrays: ['imag'] })).rejects.toThrow(
      /no array "imag": did you mean "image"\?/,
    )
    await expect(openZarr({ path: folder, arrays: ['alone'] })).rejects.toThrow(/single value/)
    await expect(openZarr({ path: folder, arrays: ['../x'] })).rejects.toThrow(/no path of an array/)
    const file = join(folder, 'label/zarr.json')
    writeFileSync(file, readFileSync(file, 'utf8').replace('10', '9'))
    await expect(openZarr(folder)).rejects.toThrow(/"deep\/name" has 10 rows, and "label" 9: choose arrays/)
    await expect(openZarr(join(home, 'none.zarr'))).rejects.toThrow(/holds no Zarr array and no group/)
    await expect(openZarr('no*.zarr', home)).rejects.toThrow(/no Zarr store matches "no\*\.zarr"/)
  })
})

describe('rows', () => {
  it('of chunks that are stored as they are, are read alone', async () => {
    const source = await openZarr(copyOf('v2 whole, C, plain'))
    expect(source.unitStarts).toBeUndefined()
    const { ranges, units } = needOf(source, 2, ['data'])
    expect(units).toEqual([])
    expect(ranges).toMatchObject([{ offset: 2 * 16, length: 16 }])
  })

  it('of compressed chunks share units, which begin with chunks', async () => {
    const source = await openZarr(copyOf('v2 odd edges, C, blosc'))
    expect([...source.unitStarts!]).toEqual([0, 2, 4, 6])
    expect(needOf(source, 3, ['data']).units.map(({ unit }) => unit)).toEqual([4, 5, 6, 7])
  })

  it('go through a layout that inspect can tell', async () => {
    const source = await openZarr(copyOf(GROUP.name))
    expect(source.layout?.()).toEqual({
      schema: [
        { name: 'deep/name', type: 'f32 [2]' },
        { name: 'image', type: 'u8 [4, 3]' },
        { name: 'label', type: 'i64' },
      ],
      chunks: 'deep/name: 6 chunks of [4, 1]; image: 4 chunks of [3, 4, 3]; label: 2 chunks of [7]',
      codecs: ['zstd'],
    })
  })
})

describe('data that is damaged', () => {
  it('is named: a chunk', async () => {
    const folder = copyOf('v3 zstd, then crc32c')
    const chunk = join(folder, 'c/1/0')
    const bytes = readFileSync(chunk)
    bytes[20] ^= 1
    writeFileSync(chunk, bytes)
    const source = await openZarr(folder)
    await expect(readAll(source)).rejects.toThrow(
      /c\/1\/0: the chunk at offset 0 can't be read: its crc32c is/,
    )
  })

  it('is named: a chunk that is cut off', async () => {
    const folder = copyOf("v2 zlib {'id': 'zlib', 'level': 1}")
    truncateSync(join(folder, '1.0'), 50)
    await expect(readAll(await openZarr(folder))).rejects.toThrow(
      /1\.0: the chunk at offset 0 can't be read: the zlib data/,
    )
    const plain = copyOf('v2 whole, C, plain')
    truncateSync(join(plain, '0.0'), 50)
    await expect(openZarr(plain)).rejects.toThrow(/chunk 0\.0 has 50 bytes, and should have 96/)
  })

  it('is named: a chunk that unpacks to fewer or more bytes than it should have', async () => {
    const folder = copyOf("v2 zlib {'id': 'zlib', 'level': 1}")
    for (const [bytes, message] of [
      [14 * 20 * 4 - 1, /1\.0: the chunk at offset 0 can't be read: it has 1119 bytes, and should have 1120/],
      [14 * 20 * 4 + 1, /1\.0: the chunk at offset 0 can't be read: the zlib data/],
    ] as const) {
      writeFileSync(join(folder, '1.0'), deflateSync(Buffer.alloc(bytes, 7)))
      await expect(readAll(await openZarr(folder))).rejects.toThrow(message)
    }
  })

  it('is suspected where an array has no chunk at all', async () => {
    const folder = copyOf(GROUP.name)
    const reported = async (): Promise<string[]> => {
      const notices: string[] = []
      const notice = (text: string) => notices.push(text)
      await openSource({ zarr: folder }, { root: '/', wanted: [], notice })
      return notices
    }
    rmSync(join(folder, 'image/c/0'), { recursive: true })
    expect(await reported()).toEqual([])
    rmSync(join(folder, 'image/c'), { recursive: true })
    expect(await reported()).toEqual([
      expect.stringContaining(
        'image: column "image" has none of its 4 chunks, so that every value is the fill',
      ),
    ])
  })

  it('is named: the index of a shard', async () => {
    const folder = copyOf('v3 shards end auto')
    const shard = join(folder, 'c/0/1')
    const bytes = readFileSync(shard)
    bytes[bytes.length - 10] ^= 1
    writeFileSync(shard, bytes)
    await expect(openZarr(folder)).rejects.toThrow(
      /c\/0\/1: the index of the shard at offset 0 has the checksum/,
    )
    truncateSync(shard, 20)
    await expect(openZarr(folder)).rejects.toThrow(/takes 68 bytes, and the shard has 20/)
  })

  it('is named: a chunk that changed after the feed was opened', async () => {
    const folder = copyOf('v3 keys .')
    const source = await openZarr(folder)
    writeFileSync(join(folder, 'c.1.0'), Buffer.alloc(13))
    await expect(readAll(source)).rejects.toThrow(/c\.1\.0 changed during the run/)
  })

  it.each([
    [/no JSON/, (text: string) => text.slice(5)],
    [/its codec "vanish" is not read/, (text: string) => text.replace('zstd', 'vanish')],
    [/its data_type is "int7"/, (text: string) => text.replace('"int32"', '"int7"')],
    [/chunk_grid is "odd"/, (text: string) => text.replace('"regular"', '"odd"')],
    [/its shape is/, (text: string) => text.replace(/"shape": \[\s*30/, '"shape": [-30')],
    [/fill_value "x" is no i32/, (text: string) => text.replace('"fill_value": 0', '"fill_value": "x"')],
    [/chunks, more than/, (text: string) => text.replace(/"shape": \[\s*30/, '"shape": [3000000000')],
    [
      /has "magic", an extension/,
      (text: string) => text.replace('"zarr_format"', '"magic": {}, "zarr_format"'),
    ],
  ])('is named: metadata, %s', async (message, change) => {
    const folder = copyOf('v3 ZstdCodec(level=0, checksum=False)')
    const file = join(folder, 'zarr.json')
    writeFileSync(file, change(readFileSync(file, 'utf8')))
    await expect(openZarr(folder)).rejects.toThrow(message)
  })

  it('is none: numbers in metadata as Python writes them', async () => {
    const { columns } = golden('v3 ZstdCodec(level=0, checksum=False)')
    const folder = copyOf('v3 ZstdCodec(level=0, checksum=False)')
    const file = join(folder, 'zarr.json')
    const numbers = '0.30000000000000004, 1.5259021896696422e-05, -9223372036854775808, NaN, -Infinity'
    const texts = String.raw`"1234567890123456789", "NaN", "a \" 0.1234567890123456789 \\"`
    const attributes = `"attributes": {"numbers": [${numbers}], "texts": [${texts}], "long": "${'x'.repeat(1e7)}"}`
    writeFileSync(file, readFileSync(file, 'utf8').replace('"attributes": {}', attributes))
    expect(await readAll(await openZarr(folder))).toEqual(columns)
  })

  it('leads nowhere: paths of consolidated metadata stay in the store', async () => {
    const folder = copyOf('v2 group, consolidated True')
    const file = join(folder, '.zmetadata')
    writeFileSync(file, readFileSync(file, 'utf8').replace('image/.zarray', '../image/.zarray'))
    await expect(openZarr(folder)).rejects.toThrow(
      /names "\.\.\/image\/\.zarray", which leads out of the store/,
    )
  })
})

describe('other stores, and tools', () => {
  it('a store that can not list is asked for every chunk', async () => {
    const folder = copyOf('v2 fill number auto')
    const far = new SlowStore({ folder: home, scheme: 'nolist', latency: 0.1, errors: 0 })
    addStore('nolist', { attach: () => Object.assign(far, { list: undefined }) })
    const name = `nolist://${folder.split('/').at(-1)}`
    expect(await readAll(await openZarr(name))).toEqual(golden('v2 fill number auto').columns)
    copyOf(GROUP.name)
    const group = `nolist://store-${stores - 1}.zarr`
    await expect(openZarr(group)).rejects.toThrow(
      /can't list its objects, and it has no consolidated metadata/,
    )
    const { label } = GROUP.columns
    expect(await readAll(await openZarr({ path: group, arrays: ['label'] }))).toEqual({ label })
  })

  it('an archive must have its chunks stored', async () => {
    const folder = copyOf('v3 archive of a folder')
    const file = join(folder, 'b.zarr.zip')
    const bytes = readFileSync(file)
    // The directory says of the first chunk that it is deflated.
    const entry = bytes.indexOf('b.zarr/c/0/0', bytes.indexOf('PK\x01\x02', 0, 'latin1')) - 46
    bytes.writeUInt16LE(8, entry + 10)
    writeFileSync(file, bytes)
    await expect(openZarr(file)).rejects.toThrow(/b\.zarr\.zip: its member "b\.zarr\/c\/0\/0" is deflated/)
    writeFileSync(file, bytes.subarray(0, 300))
    await expect(openZarr(file)).rejects.toThrow(/b\.zarr\.zip: is no zip archive, or its end is missing/)
  })

  it('a chunk may lie behind 4 GiB', async () => {
    const folder = copyOf('v3 shards start None')
    const shard = join(folder, 'c/0/0')
    const bytes = readFileSync(shard)
    const FAR = 5 * 2 ** 30
    // The index has 2 × 2 entries of offset and length, then a checksum; the chunks have 12 bytes each.
    const index = Buffer.from(bytes.subarray(0, 64))
    const moved = index.readBigUInt64LE(0)
    index.writeBigUInt64LE(BigInt(FAR), 0)
    const checksum = Buffer.alloc(4)
    checksum.writeUInt32LE(crc32c(index))
    const file = openSync(shard, 'r+')
    writeSync(file, Buffer.concat([index, checksum]), 0, 68, 0)
    writeSync(file, bytes, Number(moved), 12, FAR) // all between is a hole
    closeSync(file)
    expect(await readAll(await openZarr(folder))).toEqual(golden('v3 shards start None').columns)
  })

  it('paths of stores are known on the command line', async () => {
    const folder = copyOf(GROUP.name)
    expect(await sourceAt(folder)).toEqual({ zarr: folder })
    cpSync(folder, join(home, 'plain-name'), { recursive: true })
    expect(await sourceAt(join(home, 'plain-name'))).toEqual({ zarr: join(home, 'plain-name') })
    const summary = await inspect({ zarr: folder }, { root: '/' })
    expect(summary).toMatchObject({ kind: 'zarr', samples: 10, layout: { codecs: ['zstd'] } })
  })
})
