/** Text files that are compressed: the same rows as of the plain file, in units. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { slowStore } from '../../../../test/support/slow-store.mjs'
import { SourceError } from '../../../core/basics/errors.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { needOf, RowReader } from '../../../core/source/row-reader.js'
import type { Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import { conforms, readRow } from '../../../core/test/source/conformance.js'

/** Rows of many lengths, some longer than the distance between two places at which decompression can begin. */
function lines(count: number, long: readonly number[] = []): string[] {
  return Array.from({ length: count }, (_, i) =>
    JSON.stringify({
      i,
      text: long.includes(i) ? `${i} `.repeat(900_000) : `row ${i * 7919} `.repeat(1 + (i % 90)),
    }),
  )
}

/** One frame of zstd with a block that is not compressed, for each 100 kB. */
function zstd(text: string): Buffer {
  const bytes = Buffer.from(text)
  const frames: Buffer[] = [Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])]
  for (let at = 0; at < bytes.length; at += 100_000) {
    const part = bytes.subarray(at, at + 100_000)
    const header = Buffer.alloc(12)
    header.writeUInt32LE(0xfd2fb528, 0)
    header[4] = 0xa0 // one segment, and its size in four bytes
    header.writeUInt32LE(part.length, 5)
    header.writeUIntLE((part.length << 3) | 1, 9, 3)
    frames.push(header, part)
  }
  return Buffer.concat(frames)
}

const small = '{"a": 1, "t": "x"}\n{"a": 2}\n\n{"a": 3}'
for (const [name, pack] of [
  ['gzip', (text: string) => gzipSync(text)],
  ['zstd', zstd],
] as const) {
  conforms({
    name: `jsonl in ${name}`,
    json: { jsonl: 'a-*.jsonl.*' },
    wanted: ['a', 't'],
    write: root => writeFiles(root, { 'a-0.jsonl.z': pack(small), 'a-1.jsonl.z': pack('{"a": 4}') }),
    change: root => writeFiles(root, { 'a-1.jsonl.z': pack('{"a": 44}') }),
    count: 4,
    first: { a: '1', t: 'x' },
  })
}

let root: string
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, 'cache')
})

const open = async (json: SourceJson): Promise<Source> =>
  attachSource(structuredClone(await openSource(json, { root, wanted: [] })))

describe('rows', () => {
  it.each([
    ['gzip', (text: string) => gzipSync(text, { level: 1 })],
    ['gzip in members', (text: string) => Buffer.concat(cut(text, 50_000).map(part => gzipSync(part)))],
    ['gzip, stored', (text: string) => gzipSync(text, { level: 0 })],
    ['zstd in frames', zstd],
  ])('of %s are those of the plain file', async (_, pack) => {
    const all = lines(12_000, [5, 6, 3000])
    writeFiles(root, { 'a.jsonl': all.join('\n'), 'b.jsonl.z': pack(all.join('\n')) })
    const [plain, packed] = [await open({ jsonl: 'a.jsonl' }), await open({ jsonl: 'b.jsonl.z' })]
    expect(packed.count).toBe(plain.count)
    expect(packed.columns).toEqual(plain.columns)
    expect(packed.unitStarts!.length).toBeGreaterThan(3)
    using stores = new Stores()
    const reader = new RowReader(packed, new Reader(stores))
    for (let row = 0; row < packed.count; row += row < 10 ? 1 : 37) {
      const { sample } = await reader.read(row, ['i', 'text'])
      expect(sample.i).toBe(row)
      expect(sample).toEqual(JSON.parse(all[row]))
    }
  })

  it('share units of a bounded size, each of which is read alone', async () => {
    const hash = (i: number): string => createHash('sha512').update(String(i)).digest('base64')
    const text = Array.from({ length: 100_000 }, (_, i) => hash(i)).join('\n')
    writeFiles(root, { 'a.txt.gz': gzipSync(text) })
    const source = await open({ text: 'a.txt.gz' })
    const { units, ranges } = needOf(source, 9999, ['text'])
    expect(ranges).toEqual([])
    expect(units).toHaveLength(1)
    for (let unit = 0; unit < source.unitStarts!.length; unit++)
      expect(source.unitBytes!(unit, [])).toBeLessThan(2.5 * 2 ** 20)
    expect(source.layout?.()).toMatchObject({ codecs: ['gzip'], slow: expect.stringContaining('window') })
    expect(String(readRow(source, 9999, ['line']).line)).toBe('10000')
  })

  it('come from any store', async () => {
    addStore('far', slowStore({ folder: root, scheme: 'far', latency: 1, errors: 0 }))
    const all = lines(3000)
    writeFiles(root, { 'a.jsonl.gz': gzipSync(all.join('\n')) })
    const source = await open({ jsonl: 'far://a.jsonl.gz' })
    using stores = new Stores()
    const { sample } = await new RowReader(source, new Reader(stores)).read(2999, ['i'])
    expect(sample).toEqual({ i: 2999 })
  })
})

function cut(text: string, bytes: number): string[] {
  return Array.from({ length: Math.ceil(text.length / bytes) }, (_, i) =>
    text.slice(i * bytes, (i + 1) * bytes),
  )
}

describe('what is wrong', () => {
  it('is named with the file and the byte', async () => {
    const file = gzipSync(lines(5000).join('\n'))
    file[file.length >> 1] ^= 0xff
    writeFiles(root, {
      'a.txt.gz': file,
      'b.txt': 'x',
      'c.gz': gzipSync('x').subarray(0, 15),
      'd.zst': zstd('abc').subarray(0, 20),
    })
    await expect(open({ text: 'a.txt.gz' })).rejects.toThrow(/a\.txt\.gz \(gzip\) is damaged at byte \d+/)
    await expect(open({ text: 'c.gz' })).rejects.toThrow(
      /c\.gz \(gzip\) is damaged at byte 13: it is cut off/,
    )
    await expect(open({ text: 'd.zst' })).rejects.toThrow(
      /d\.zst \(zstd\) is damaged at byte \d+: this frame is cut off/,
    )
    await expect(open({ text: 'd.zst' })).rejects.toThrow(SourceError)
  })

  it('is a small file that stands for very many rows', async () => {
    writeFileSync(join(root, 'a.txt.gz'), gzipSync(Buffer.alloc((16 << 20) + (1 << 19), 0x0a)))
    await expect(open({ text: 'a.txt.gz' })).rejects.toThrow(
      /a\.txt\.gz of \d+ bytes has more than \d+ rows: .*harm/,
    )
  })

  it('is a mixture of compressed and plain files', async () => {
    writeFiles(root, { 'a.gz': gzipSync('x'), 'b.txt': 'y' })
    await expect(open({ text: ['a.gz', 'b.txt'] })).rejects.toThrow(
      /a\.gz is compressed, and .*b\.txt is not: .*"concat"/,
    )
  })

  it('is a unit that was damaged after it was indexed', async () => {
    const file = gzipSync(lines(5000).join('\n'))
    writeFiles(root, { 'a.txt.gz': file })
    const source = await open({ text: 'a.txt.gz' })
    const piece = Buffer.from(file)
    piece[piece.length >> 1] ^= 0xff
    writeFileSync(join(root, 'a.txt.gz'), piece)
    const [range] = source.planUnit!(0, [])
    const part = piece.subarray(range.offset, range.offset + range.length)
    expect(() => source.load!(0, [part], new Uint8Array(source.unitBytes!(0, [])), [])).toThrow(/gzip data/)
  })
})
