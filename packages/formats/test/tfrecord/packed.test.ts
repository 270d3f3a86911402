/** TFRecord files that are compressed as a whole: the records of the plain file, in units. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync, gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { slowStore } from '../../../../test/support/slow-store.mjs'
import { SourceError } from '../../../core/basics/errors.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { needOf, RowReader } from '../../../core/source/row-reader.js'
import type { OpenContext, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import { conforms, readRow } from '../../../core/test/source/conformance.js'
import { isDelivered } from '../../../core/test/source/delivered.js'
import { example, framed, lengthOf, tfrecordFile } from './write-records.js'

const golden = join(import.meta.dirname, '../../../../test/golden/tfrecord')
const record = (i: number, size = 40 * i) =>
  example({ image: Buffer.alloc(size, i), label: { ints: [i] }, text: `text ${i}` })
const records = (count: number, from = 0) => Array.from({ length: count }, (_, i) => record(from + i))

const PACKS = { gzip: gzipSync, zlib: deflateSync }

for (const [name, pack] of Object.entries(PACKS)) {
  conforms({
    name: `tfrecord in ${name}`,
    json: { tfrecord: 'a-*.tfrecord' },
    wanted: ['text', 'record'],
    write: root =>
      writeFiles(root, {
        'a-0.tfrecord': pack(tfrecordFile(records(5))),
        'a-1.tfrecord': pack(tfrecordFile(records(5, 20))),
      }),
    change: root => writeFiles(root, { 'a-1.tfrecord': pack(tfrecordFile(records(5, 30))) }),
    count: 10,
    first: { text: 'text 0', record: record(0).toString('latin1') },
  })
}

const feedHome = temporaryFolder()
writeFileSync(join(feedHome, 'x'), gzipSync(tfrecordFile(records(17)), { level: 0 }))
writeFileSync(join(feedHome, 'y'), deflateSync(tfrecordFile(records(17, 20))))
isDelivered('tfrecord, compressed', () => ({
  source: { tfrecord: [join(feedHome, 'x'), join(feedHome, 'y')] },
  fields: {
    image: { from: 'image', as: 'bytes', ragged: { max: 4000 } },
    label: { from: 'label', as: 'int' },
    text: { from: 'text', as: 'text', ragged: { max: 16 } },
  },
}))

let root: string
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, 'cache')
})

const open = async (json: SourceJson, more: Partial<OpenContext> = {}): Promise<Source> =>
  attachSource(structuredClone(await openSource(json, { root, wanted: [], ...more })))

/** As make_packed.py has it. */
function many(i: number): Buffer {
  const numbers = Array.from({ length: 500 }, (_, k) => `${(((i * 500 + k) * 40503) % 65521) % 97},`)
  return Buffer.from(numbers.join('').repeat(20))
}

describe.each(['gzip', 'zlib'] as const)('%s', kind => {
  it("of TensorFlow's writer has the records and features of the plain file", async () => {
    for (const name of ['plain.tfrecord', `packed-${kind}.tfrecord`])
      copyFileSync(join(golden, name), join(root, name))
    const plain = await open({ tfrecord: 'plain.tfrecord' })
    const packed = await open({ tfrecord: `packed-${kind}.tfrecord` })
    expect(packed.count).toBe(plain.count)
    expect(packed.columns).toEqual(plain.columns)
    expect(packed.layout?.()?.schema).toEqual(plain.layout?.()?.schema)
    for (let row = 0; row < plain.count; row++) {
      const wanted = plain.columns.filter(column => column !== 'tags')
      expect(readRow(packed, row, wanted)).toEqual(readRow(plain, row, wanted))
    }
  })

  it('is entered in the middle, unit by unit', async () => {
    const name = `many-${kind}.tfrecord`
    copyFileSync(join(golden, name), join(root, name))
    const source = await open({ tfrecord: name })
    expect(source.count).toBe(250)
    expect(source.unitStarts!.length).toBeGreaterThan(1)
    const { units, ranges } = needOf(source, 249, ['record'])
    expect(ranges).toEqual([])
    expect(units).toHaveLength(1)
    const [range] = source.planUnit!(units[0].unit, [])
    expect(range.offset).toBeGreaterThan(20_000)
    for (const row of [249, 0, 120, 121, 122, 123, 248])
      expect(readRow(source, row, ['record']).record, `${row}`).toEqual(new Uint8Array(many(row)))
    expect(source.layout?.()).toMatchObject({ codecs: [kind], slow: expect.stringContaining('window') })
  })

  it('has any length of records, across any borders of pieces', async () => {
    const sizes = [0, 1, 300_000, 12, 3_000_000, 5, 4, 262_144, ...Array.from({ length: 3000 }, (_, i) => i)]
    const data = sizes.map((size, i) => Buffer.alloc(size, (i * 31) % 256))
    writeFiles(root, { 'a.tfrecord': PACKS[kind](tfrecordFile(data), { level: 1 }) })
    const source = await open({ tfrecord: 'a.tfrecord' })
    expect(source.count).toBe(sizes.length)
    for (let row = 0; row < source.count; row += row < 10 ? 1 : 97)
      expect(Buffer.compare(readRow(source, row, ['record']).record as Buffer, data[row]), `${row}`).toBe(0)
  })

  it('that is damaged or cut off is refused with the place', async () => {
    const whole = PACKS[kind](tfrecordFile(records(200)))
    const wrong = Buffer.from(whole)
    wrong[wrong.length - 6] ^= 1
    wrong[wrong.length - 3] ^= 1
    const cut = PACKS[kind](tfrecordFile(records(3)).subarray(0, -5))
    const head = PACKS[kind](Buffer.concat([tfrecordFile(records(3)), lengthOf(5).subarray(0, 7)]))
    const bent = tfrecordFile(records(3))
    bent[framed(record(0)).length + 8] ^= 1
    writeFiles(root, { short: whole.subarray(0, -20), wrong, cut, head, bent: PACKS[kind](bent) })
    const refused = async (name: string, message: RegExp): Promise<void> => {
      await expect(open({ tfrecord: name })).rejects.toThrow(message)
      await expect(open({ tfrecord: name })).rejects.toThrow(SourceError)
    }
    await refused('short', /short \(\w+\) is damaged at byte \d+: it is cut off/)
    await refused('wrong', /wrong \(\w+\) is damaged at byte \d+/)
    await refused('cut', /cut \(\w+\) ends in the middle of record 2,/)
    await refused('head', /head \(\w+\) ends in the middle of record 3,/)
    await refused(
      'bent',
      /length of record 1, at byte \d+ of what it decompresses to \(\w+\), is wrong: the file is damaged/,
    )
  })

  it('whose data has a wrong checksum is a bad row, unless that is not asked for', async () => {
    const file = tfrecordFile(records(3, 1))
    file[framed(record(1)).length + 40] ^= 1
    writeFiles(root, { a: PACKS[kind](file) })
    const source = await open({ tfrecord: 'a' })
    expect(() => readRow(source, 1, ['record'])).toThrow(/checksum \(CRC-32C\)/)
    expect(readRow(source, 2, ['text']).text).toEqual(new Uint8Array(Buffer.from('text 3')))
    const unchecked = await open({ tfrecord: { path: 'a', check: false } })
    expect((readRow(unchecked, 1, ['record']).record as Uint8Array).length).toBe(record(2).length)
  })
})

it('compressed and plain files are no one source', async () => {
  writeFiles(root, { a: gzipSync(tfrecordFile(records(2))), b: tfrecordFile(records(2)) })
  await expect(open({ tfrecord: ['a', 'b'] })).rejects.toThrow(/a is compressed, and .*b is not: .*"concat"/)
})

it('a plain file whose first length looks like zlib is a plain file', async () => {
  // 0x5e78 bytes: the file begins with 78 5e, as zlib may.
  const data = Buffer.alloc(0x5e78, 7)
  writeFiles(root, { a: tfrecordFile([data]) })
  expect(readFileSync(join(root, 'a')).subarray(0, 2)).toEqual(Buffer.from([0x78, 0x5e]))
  const source = await open({ tfrecord: 'a' })
  expect([source.count, source.unitStarts]).toEqual([1, undefined])
})

it('they come from any store', async () => {
  addStore('distant', slowStore({ folder: root, scheme: 'distant', latency: 1, errors: 0 }))
  writeFiles(root, { a: gzipSync(tfrecordFile(records(50))) })
  const source = await open({ tfrecord: 'distant://a' })
  using stores = new Stores()
  const { sample } = await new RowReader(source, new Reader(stores)).read(49, ['text'])
  expect(Buffer.from(sample.text as Uint8Array).toString()).toBe('text 49')
})
