/** Parquet files as a source: rows, ids, units, pruned columns, and what is told of wrong files. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { slowStore } from '../../../../test/support/slow-store.mjs'
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import type { SourceJson, WhereJson } from '../../../core/define/types.js'
import type { ReadAt } from '../../../core/source/index/read-at.js'
import { missingColumn } from '../../../core/source/missing.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { needOf, RowReader } from '../../../core/source/row-reader.js'
import type { ArrayColumn, Leaf } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import { asText, conforms, readRow } from '../../../core/test/source/conformance.js'
import { commonClasses } from '../../../tools/prepare/class-names.js'
import { PageHeader } from '../../parquet/decode/page-header.js'
import { findPages } from '../../parquet/structure/pages.js'

const golden = join(import.meta.dirname, '../../../../test/golden/parquet')

const copy = (root: string, from: string, to = from): void =>
  copyFileSync(join(golden, `${from}.parquet`), join(root, `${to}.parquet`))

const suite = {
  wanted: ['text', 'i8', 'i64'],
  write: (root: string) => {
    copy(root, 'dictionary', 'a-0')
    copy(root, 'nulls', 'a-1')
  },
  change: (root: string) => copy(root, 'nulls-v2', 'a-1'),
  count: 120,
  first: { text: '0', i8: '-128', i64: String(2n ** 62n) },
}

conforms({ name: 'parquet', json: { parquet: 'a-*.parquet' }, ...suite })

const far = temporaryFolder()
addStore('slow', slowStore({ folder: far, latency: 1 }))
conforms({
  name: 'parquet in a slow store',
  json: folder => ({ parquet: `slow://${folder}/a-{0,1}.parquet` }),
  store: { scheme: 'slow', folder: far },
  ...suite,
})

let root: string
const notices: string[] = []
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, 'cache')
  notices.length = 0
  cpSync(golden, root, { recursive: true })
})

async function open(json: SourceJson, wanted: string[] = []): Promise<Leaf> {
  const context = { root, wanted, notice: (text: string) => notices.push(text) }
  return attachSource(structuredClone(await openSource(json, context))) as Leaf
}

describe('rows', () => {
  it('have the name of the file and their number there as id', async () => {
    const source = await open({ parquet: ['dictionary.parquet', 'one-row.parquet'] })
    expect([source.id(0), source.id(59), source.id(60)]).toEqual([
      'dictionary.parquet:0',
      'dictionary.parquet:59',
      'one-row.parquet:0',
    ])
    expect(source.key(60)).toBe('one-row:0')
    expect([...source.runs]).toEqual([0, 60])
    expect(source.index('file')?.at(60)).toBe('one-row.parquet')
  })

  it('are units by row groups', async () => {
    const source = await open({ parquet: ['dictionary.parquet', 'one-row.parquet'] })
    expect([...source.unitStarts]).toEqual([0, 25, 50, 60])
    const units = [0, 24, 25, 59, 60].map(row => needOf(source, row, ['i8']).units[0].unit)
    expect(units).toEqual([0, 0, 1, 2, 3])
  })

  it('read the chunks of the wanted columns alone', async () => {
    const source = await open({ parquet: 'plain.parquet' })
    const bytes = (columns: string[]): number =>
      source.planUnit(0, columns).reduce((sum, { length }) => sum + length, 0)
    expect(bytes(['i8'])).toBeLessThan(400)
    expect(bytes(['i8', 'boxes.y'])).toBeLessThan(readFileSync(join(root, 'plain.parquet')).length)
    expect(source.planUnit(0, ['i8', 'u8'])).toHaveLength(1)
    expect(source.unitBytes(0, ['i8'])).toBeLessThan(source.unitBytes(0, ['i8', 'text']))
  })

  it('may lack a column, in files without it', async () => {
    const source = await open({ parquet: ['one-row.parquet', 'images.parquet'] }, ['text', 'label'])
    expect(Object.keys(readRow(source, 0, ['text', 'label']))).toEqual(['text'])
    expect(readRow(source, 1, ['text', 'label'])).toEqual({ label: 0n })
    expect(source.present?.(1).columns).toContain('label')
    expect(needOf(source, 1, ['text']).units).toEqual([])
  })
})

describe('columns', () => {
  it('of Hugging Face pictures are their bytes', async () => {
    const source = await open({ parquet: 'images.parquet' })
    expect(source.columns).toEqual(['image', 'image.bytes', 'image.path', 'label'])
    const { image, 'image.path': path } = readRow(source, 3, ['image', 'image.path'])
    expect([...(image as Uint8Array)]).toEqual([0xff, 0xd8, 3])
    expect(asText(path)).toBe('3.jpg')
  })

  it('of lists of bytes are refused by name, and the others read', async () => {
    await expect(open({ parquet: 'deep.parquet' }, ['blobs'])).rejects.toThrow(
      /deep\.parquet: column "blobs" can't be read: it has lists of bytes/,
    )
    const source = await open({ parquet: 'deep.parquet' }, ['id'])
    expect(readRow(source, 0, ['id'])).toEqual({ id: 1n })
  })

  it('that are null in a row are told with what to do', async () => {
    const paths = await open({ parquet: 'paths.parquet' }, ['image'])
    const message = missingColumn(paths, 1, ['image'])
    expect(message).toMatch(
      /^the sample has no column "image"; it has image\.path, id\. Columns with nulls.*image \(2\)/,
    )
    expect(message).toMatch(/"missing" says what stands for a null.*only a path: push_to_hub/)
    const nulls = await open({ parquet: 'nulls.parquet' }, ['text'])
    expect(missingColumn(nulls, 1, ['text'])).toMatch(
      /it has none\. Columns with nulls.* text \(20\), .*words, /,
    )
  })

  it('of INT96 whose times 64 bits do not hold are no other times', async () => {
    const source = await open({ parquet: 'int96-far.parquet' }, ['when'])
    expect(() => readRow(source, 0, ['when'])).toThrow(
      // The file is not said to be damaged.
      /int96-far\.parquet: column "when".* value 1 is a time .*after 2262, .*timestamps of µs$/,
    )
  })

  it('of a struct are named', async () => {
    await expect(open({ parquet: 'plain.parquet' }, ['struct'])).rejects.toThrow(
      'it is a struct: name one of its columns, such as "struct.a"',
    )
  })
})

describe('an index', () => {
  it('lies beside the file, and is made anew with a notice when that was changed', async () => {
    await open({ parquet: 'one-row.parquet' })
    expect(existsSync(join(root, '.one-row.parquet.millrace'))).toBe(true)
    await open({ parquet: 'one-row.parquet' })
    expect(notices).toEqual([])
    copy(root, 'images', 'one-row')
    expect((await open({ parquet: 'one-row.parquet' })).count).toBe(5)
    expect(notices).toEqual([expect.stringContaining('the index of')])
  })

  it('is not used for a file that changed during the run', async () => {
    const source = await open({ parquet: 'one-row.parquet' })
    utimesSync(join(root, 'one-row.parquet'), 1e9, 1e9)
    using stores = new Stores()
    const read = async (): Promise<unknown> => new RowReader(source, new Reader(stores)).read(0, ['i8'])
    await expect(read()).rejects.toThrow('one-row.parquet changed during the run')
  })
})

describe('wrong files', () => {
  it('are named, with what is wrong', async () => {
    await expect(open({ parquet: 'none.parquet' })).rejects.toThrow(/none\.parquet is missing/)
    writeFileSync(join(root, 'short.parquet'), 'PAR1')
    await expect(open({ parquet: 'short.parquet' })).rejects.toThrow('is no Parquet file: it has 4 bytes')
    writeFileSync(join(root, 'other.parquet'), 'a,b\n1,2\n3,4\n5,6\n')
    await expect(open({ parquet: 'other.parquet' })).rejects.toThrow('it ends with "5,6\\n", not with "PAR1"')
    const file = join(root, 'plain.parquet')
    truncateSync(file, 5000)
    await expect(open({ parquet: 'plain.parquet' })).rejects.toThrow(/plain\.parquet is no Parquet file/)
  })

  it('with a damaged page make the rows bad that are in it', async () => {
    const file = join(root, 'codec-zstd.parquet')
    const bytes = readFileSync(file)
    const source = await open({ parquet: 'codec-zstd.parquet' })
    const [{ offset, length }] = source.planUnit(0, ['text'])
    bytes.fill(0x55, offset + 60, offset + length)
    rmSync(join(root, '.codec-zstd.parquet.millrace'))
    writeFileSync(file, bytes)
    const damaged = await open({ parquet: 'codec-zstd.parquet' })
    const read = (): unknown => readRow(damaged, 3, ['text'])
    expect(read).toThrow(DecodeError)
    expect(read).toThrow(
      new RegExp(
        `codec-zstd.parquet: column "text" of row group 0, at byte ${offset}: the page at byte \\d+ can't be decoded`,
      ),
    )
    expect(asText(readRow(damaged, 3, ['steps']).steps)).toBe('9')
  })

  it('with a damaged footer are refused', async () => {
    const file = join(root, 'plain.parquet')
    const bytes = readFileSync(file)
    bytes.fill(0xee, bytes.length - 3000, bytes.length - 2000)
    writeFileSync(file, bytes)
    await expect(open({ parquet: 'plain.parquet' })).rejects.toThrow(SourceError)
    await expect(open({ parquet: 'plain.parquet' })).rejects.toThrow(/its footer, at byte \d+, can't be used/)
  })
})

describe('inspect', () => {
  it('is told of columns, row groups, codecs, and what is slow', async () => {
    const source = await open({ parquet: ['dictionary.parquet', 'images.parquet'] })
    const layout = source.layout?.()
    expect(layout?.schema).toEqual(
      expect.arrayContaining([
        { name: 'when', type: 'timestamp[us]', nulls: 0 },
        { name: 'list', type: 'list<i32>', nulls: true },
        { name: 'image', type: 'bytes' },
      ]),
    )
    expect(layout).toMatchObject({
      codecs: ['snappy'],
      chunks: expect.stringMatching(/^4 row groups of 16 rows/),
    })
    expect(layout?.slow).toMatch(/write row groups of 1 to 16 MB/)
  })

  it('is told of names of classes, where datasets wrote them', async () => {
    const manifest = await openSource({ parquet: 'labels.parquet' }, { root, wanted: [] })
    const layout = attachSource(manifest).layout?.()
    expect(layout?.schema).toEqual([{ name: 'label', type: 'i64, 3 classes: cat, dog, ox', nulls: 0 }])
    expect(commonClasses(manifest)).toEqual(['cat', 'dog', 'ox'])
  })
})

describe('a row group that is too large', () => {
  it('is several units, on borders of pages, of which each is read by itself', async () => {
    const source = await open({ parquet: 'large.parquet' })
    const { unitStarts, count } = source
    expect(count).toBe(35_000)
    expect(unitStarts.length).toBeGreaterThan(3)
    const columns = ['id', 'text', 'list', 'few']
    const whole = readFileSync(join(root, 'large.parquet')).length
    for (let unit = 0; unit < unitStarts.length; unit++) {
      const ranges = source.planUnit(unit, columns)
      expect(ranges.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(whole / 2)
      expect(source.unitBytes(unit, columns)).toBeLessThan(32 << 20)
    }
    using stores = new Stores()
    const reader = new RowReader(source, new Reader(stores))
    for (const start of [...unitStarts, count]) {
      for (const row of [start - 1, start, start + 1]) {
        if (row < 0 || row >= count) continue
        const { id, text, list, few } = (await reader.read(row, columns)).sample
        expect(id).toBe(BigInt(row))
        expect(asText(text)).toBe(`${row} ${'x'.repeat(2000)}`)
        expect(few && asText(few)).toBe(row % 7 === 0 ? undefined : `class ${row % 10}`)
        const { shape, tiles } = list as ArrayColumn
        expect(shape).toEqual([row % 3])
        const numbers = new Int32Array((tiles[0].data as Uint8Array).slice().buffer)
        expect([...numbers]).toEqual(Array<number>(row % 3).fill(row))
      }
    }
  })

  it('is not divided where it has too many pages to be noted', async () => {
    // A page without bytes: type 0, sizes 0 and 0, one value, PLAIN, levels as runs.
    const header = Buffer.from('1500150015002c15021500150615060000', 'hex')
    const pagesOf = async (count: number): Promise<number | undefined> => {
      const bytes = Buffer.concat(Array<Buffer>(count).fill(header))
      const read: ReadAt = async (into, offset) => bytes.copy(into, 0, offset)
      const place = {
        start: 0,
        length: bytes.length,
        values: count,
        pagesAt: 0,
        pagesLength: 0,
        codec: 0,
        repetition: 0,
      }
      return (await findPages(place, read))?.at.length
    }
    expect(await pagesOf(3)).toBe(3)
    expect(await pagesOf((1 << 17) + 1)).toBe(undefined)
  })
})

describe('a row group of lists that is too large, in pages that don’t say which rows they have', () => {
  it('is several units, on borders of rows', async () => {
    const source = await open({ parquet: 'large-lists.parquet' })
    const { unitStarts, count } = source
    expect(count).toBe(20_000)
    expect(unitStarts.length).toBeGreaterThan(3)
    const columns = ['id', 'list']
    for (let unit = 0; unit < unitStarts.length; unit++)
      expect(source.unitBytes(unit, columns)).toBeLessThan(32 << 20)
    using stores = new Stores()
    const reader = new RowReader(source, new Reader(stores))
    for (const start of [...unitStarts, count]) {
      for (const row of [start - 1, start, start + 1, start + 2]) {
        if (row < 0 || row >= count) continue
        const { id, list } = (await reader.read(row, columns)).sample
        expect(id).toBe(BigInt(row))
        const { shape, tiles } = list as ArrayColumn
        expect(shape).toEqual([row % 1999])
        const numbers = new Int32Array((tiles[0].data as Uint8Array).slice().buffer)
        expect([...new Set(numbers)]).toEqual(row % 1999 === 0 ? [] : [row])
      }
    }
  })
})

describe('where', () => {
  const selected = async (where: WhereJson, path = 'dictionary.parquet'): Promise<string[]> => {
    const source = await open({ parquet: { path, where } })
    return Array.from({ length: source.count }, (_, row) => source.id(row).split(':')[1])
  }

  it('takes the rows whose columns meet all conditions', async () => {
    expect(await selected({ u8: { '>=': 10, '<': 13 } })).toEqual(['10', '11', '12'])
    expect(await selected({ few: 'dog', u8: [1, 2, 4, 58] })).toEqual(['1', '4', '58'])
    expect(await selected({ i64: { '>': 0 }, u16: { '!=': 0 }, u8: { '<': 5 } })).toEqual(['2', '4'])
    expect(await selected({ 'struct.b.c': '33' })).toEqual(['33'])
  })

  it('takes no row that is null', async () => {
    expect(await selected({ u8: { '<': 5 } }, 'nulls.parquet')).toEqual(['0', '2', '3'])
  })

  it('takes no row of a file that lacks the column', async () => {
    const path = '{images,one-row}.parquet'
    expect(await selected({ label: { '>': 2 } }, path)).toEqual(['3', '4'])
    await expect(selected({ other: 2 }, path)).rejects.toThrow('has no column "other"')
  })

  it('reads no row group that has no such row, by its statistics', async () => {
    const file = join(root, 'dictionary.parquet')
    const source = await open({ parquet: 'dictionary.parquet' })
    const bytes = readFileSync(file)
    for (const unit of [0, 2]) {
      const [{ offset, length }] = source.planUnit(unit, ['u8'])
      bytes.fill(0x55, offset, offset + length)
    }
    rmSync(join(root, '.dictionary.parquet.millrace'))
    writeFileSync(file, bytes)
    expect(await selected({ u8: { '>=': 25, '<': 27 } })).toEqual(['25', '26'])
    expect(await selected({ u8: [49] })).toEqual(['49'])
    await expect(selected({ u8: { '>=': 24, '<': 27 } })).rejects.toThrow(/column "u8" of row group 0/)
  })

  it('finds row groups behind one without rows', async () => {
    expect(await selected({ id: 4 }, 'gap.parquet')).toEqual(['4'])
    expect(await selected({ id: [0, 5] }, 'gap.parquet')).toEqual(['0', '5'])
  })

  it('reads no part of a large row group whose pages have no such row', async () => {
    const file = join(root, 'large.parquet')
    const source = await open({ parquet: 'large.parquet' })
    const bytes = readFileSync(file)
    const header = new PageHeader()
    // The contents of all pages from the third unit on; their headers stay, by which the row group is divided.
    for (let unit = 2; unit < source.unitStarts.length; unit++) {
      const [{ offset, length }] = source.planUnit(unit, ['text'])
      for (let at = offset; at < offset + length; ) {
        const body = header.read(bytes, at)
        at = body + header.compressed
        bytes.fill(0x55, body, at)
      }
    }
    rmSync(join(root, '.large.parquet.millrace'))
    writeFileSync(file, bytes)
    const text = (row: number): string => `${row} ${'x'.repeat(2000)}`
    expect(await selected({ text: text(5000) }, 'large.parquet')).toEqual(['5000'])
    await expect(selected({ text: text(30_000) }, 'large.parquet')).rejects.toThrow(/column "text"/)
  })

  it('is another order for other rows', async () => {
    const digest = async (where?: WhereJson): Promise<unknown> => {
      const json = { parquet: where ? { path: 'dictionary.parquet', where } : 'dictionary.parquet' }
      return (await openSource(json, { root, wanted: [] })).fingerprint
    }
    expect(await digest({ u8: { '<': 5 } })).toEqual(await digest({ u8: { '<': 5 } }))
    expect(await digest({ u8: { '<': 5 } })).not.toEqual(await digest({ u8: { '<': 6 } }))
    expect(await digest({ u8: { '>=': 0 } })).not.toEqual(await digest())
  })

  it('refuses what can not be compared', async () => {
    await expect(selected({ list: 3 })).rejects.toThrow('column "list" of')
    await expect(selected({ none: 3 })).rejects.toThrow('has no column "none"')
    await expect(selected({ few: 3 })).rejects.toThrow('column "few" holds strings')
    await expect(selected({ u8: 999 })).rejects.toThrow('selects none of 60 samples')
  })
})
