/** Files that pyarrow and Hugging Face's datasets wrote (test/golden/arrow/make.py), value by value. */
import {
  closeSync,
  copyFileSync,
  cpSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { isTiled, type TiledArray } from '../../../core/basics/array.js'
import { READERS } from '../../../core/basics/element.js'
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { needOf } from '../../../core/source/row-reader.js'
import type { ByteRange, Column, Source } from '../../../core/source/source.js'
import { readPieces, readRow } from '../../../core/test/source/conformance.js'
import type { ArrowManifest } from '../../arrow/arrow-source.js'
import type { ArrowJson } from '../../arrow/find.js'

const golden = join(import.meta.dirname, '../../../../test/golden/arrow')
const home = temporaryFolder()
const notices: string[] = []

beforeAll(() => {
  process.env.MILLRACE_CACHE = join(home, 'cache')
  cpSync(golden, join(home, 'data'), { recursive: true })
  writeFileSync(join(home, 'large.arrow'), gunzipSync(readFileSync(join(golden, 'large.arrow.gz'))))
})

const at = (name: string): string => join(home, 'data', name)

async function manifestOf(arrow: ArrowJson, wanted: string[] = []): Promise<ArrowManifest> {
  const context = { root: home, wanted, notice: (text: string) => notices.push(text) }
  return (await openSource({ arrow }, context)) as ArrowManifest
}

const open = async (arrow: ArrowJson, wanted?: string[]): Promise<Source> =>
  attachSource(structuredClone(await manifestOf(arrow, wanted)))

/** What make.py says of a file. */
function valuesOf(name: string): Record<string, unknown[]> {
  return JSON.parse(gunzipSync(readFileSync(join(golden, `${name}.json.gz`))).toString()).columns
}

const number = (value: number | bigint): unknown =>
  typeof value === 'bigint' ? `${value}n` : Number.isNaN(value) ? 'nan' : value

/** A value as make.py writes it. */
function plain(value: Column | undefined): unknown {
  if (value === undefined) return null
  if (value instanceof Uint8Array) return `hex:${Buffer.from(value).toString('hex')}`
  if (typeof value === 'string') return `s:${value}`
  if (!isTiled(value)) return number(value)
  const { dtype, shape, tiles } = value as TiledArray
  expect(tiles).toHaveLength(1)
  const { data } = tiles[0]
  const bytes = data instanceof Uint8Array ? data : readPieces([data as ByteRange])[0]
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const width = dtype === 'u64' || dtype === 'i64' || dtype === 'f64' ? 8 : Number(/\d+/.exec(dtype) ?? 8) / 8
  const elements = Array.from({ length: bytes.length / width }, (_, i) =>
    number(READERS[dtype](view, i * width)),
  )
  return { dtype, shape: [...shape], data: elements }
}

/** All rows, each column by itself and all of them together. */
function columnsOf(source: Source, columns: readonly string[]): Record<string, unknown[]> {
  const rows = Array.from({ length: source.count }, (_, row) => row)
  const together = rows.map(row => readRow(source, row, columns))
  return Object.fromEntries(
    columns.map(column => {
      const alone = rows.map(row => plain(readRow(source, row, [column])[column]))
      expect(together.map(sample => plain(sample[column]))).toEqual(alone)
      return [column, alone]
    }),
  )
}

async function agrees(file: ArrowJson, name: string, without: readonly string[] = []): Promise<Source> {
  const source = await open(file)
  const expected = valuesOf(name)
  for (const column of without) delete expected[column]
  const columns = Object.keys(expected)
  expect([...source.columns].sort()).toEqual(expect.arrayContaining(columns.sort()))
  expect(columnsOf(source, columns)).toEqual(expected)
  return source
}

describe('files of pyarrow', () => {
  it.each([
    ['types.arrow'],
    ['types.stream'],
    ['types-v4.arrow'],
    ['types-old.stream'],
    ['types.lz4.arrow'],
    ['types.zstd.stream'],
  ])('%s: every type, with nulls', async name => {
    await agrees(at(name), 'types')
  })

  it('Feather, version 2', async () => {
    await agrees(at('types.feather'), 'types', ['text_view', 'bytes_view'])
  })

  it('one row', async () => {
    await agrees(at('one.arrow'), 'one')
  })

  it('decimals as the nearest f64, the sign of zeros, and the shape of tensors', async () => {
    await agrees(at('numbers.arrow'), 'numbers')
  })

  it('no row is an error that says so', async () => {
    await expect(open(at('empty.arrow'))).rejects.toThrow(/no row in .*empty\.arrow/)
  })

  it.each([['delta'], ['replaced']])('a dictionary that is %s', async name => {
    const source = await agrees(at(`${name}.stream`), name)
    const index = source.index('kind')
    const texts = Array.from({ length: source.count }, (_, row) => index?.at(row))
    const expected = valuesOf(name).kind.map(text =>
      text === null ? undefined : Buffer.from((text as string).slice(4), 'hex').toString(),
    )
    expect(texts).toEqual(expected)
  })
})

describe('a large batch', () => {
  it('is read in parts, of which each row is right', async () => {
    const source = await open('large.arrow')
    expect(source.count).toBe(60_000)
    expect(source.unitStarts?.length).toBeGreaterThan(2)
    const columns = ['n', 'maybe', 'text', 'list', 'flag', 'holes']
    for (const row of [0, 1, 3, 63, 64, 12_345, 19_999, 20_003, 59_999, ...source.unitStarts!.slice(1, 4)]) {
      const value = row % 50
      const array = (dtype: string, data: unknown[]) => ({ dtype, shape: [data.length], data })
      const sample = readRow(source, row, columns)
      expect(Object.fromEntries(columns.map(column => [column, plain(sample[column])]))).toEqual({
        n: `${value}n`,
        maybe: row % 7 === 3 ? null : value / 2,
        text: `hex:${Buffer.from(`row ${value}`).toString('hex')}`,
        list: array('i32', row % 5 ? [value, -1] : [value]),
        flag: row % 3 === 0 ? 1 : 0,
        holes: array('f32', row % 10 === 0 ? [0.5, 'nan'] : [value]),
      })
    }
    const [unit] = needOf(source, 20_003, columns).units
    const bytes = unit.leaf.planUnit(unit.unit, columns).reduce((sum, { length }) => sum + length, 0)
    expect(bytes).toBeLessThan(600 << 10)
  })
})

describe('offsets beyond 4 GiB', () => {
  it('are followed', async () => {
    // Behind the schema comes a message that is no batch, with a body of 5 GiB that takes no room on the disk.
    const stream = readFileSync(join(golden, 'types.stream'))
    const schemaEnd = 8 + stream.readInt32LE(4)
    const length = stream.readInt32LE(schemaEnd + 4)
    const message = Buffer.from(stream.subarray(schemaEnd, schemaEnd + 8 + length))
    const root = 8 + message.readUInt32LE(8)
    const place = (field: number): number =>
      root + message.readUInt16LE(root - message.readInt32LE(root) + 4 + 2 * field)
    const tensor = 4
    message[place(1)] = tensor
    message.writeBigInt64LE(5n << 30n, place(3))
    const file = openSync(join(home, 'far.stream'), 'w')
    const front = Buffer.concat([stream.subarray(0, schemaEnd), message])
    writeSync(file, front, 0, front.length, 0)
    writeSync(file, stream, schemaEnd, stream.length - schemaEnd, front.length + 5 * 2 ** 30)
    closeSync(file)
    const source = await open('far.stream')
    expect(source.where?.(0)?.offset).toBeGreaterThan(2 ** 32)
    const expected = valuesOf('types')
    for (const column of ['whole', 'text', 'list', 'image']) {
      const [unit] = needOf(source, 7, [column]).units
      if (unit === undefined) continue
      const ranges = unit.leaf.planUnit(unit.unit, [column])
      const pieces = ranges.map(({ file, offset, length }) => {
        const into = new Uint8Array(length)
        const fd = openSync(file, 'r')
        readSync(fd, into, 0, length, offset)
        closeSync(fd)
        return into
      })
      const sample = source.sample(7, 0, [column], { ranges: [], units: [pieces] })
      expect(plain(sample[column])).toEqual(expected[column][7])
    }
  })
})

describe('large values', () => {
  it('are ranges of their own', async () => {
    const source = await agrees(at('wide.stream'), 'wide')
    for (const column of ['photo', 'article', 'tokens', 'fixed', 'pixels'])
      expect(needOf(source, 1, [column])).toMatchObject({ ranges: [{ file: at('wide.stream') }], units: [] })
    expect(needOf(source, 2, ['photo'])).toEqual({ ranges: [], units: [] })
  })

  it('that are lists of different lengths are no array', async () => {
    const source = await open(at('wide.stream'))
    expect(plain(readRow(source, 0, ['uneven']).uneven)).toMatchObject({ shape: [2, 2100] })
    expect(() => readRow(source, 1, ['uneven'])).toThrow(DecodeError)
    expect(() => readRow(source, 1, ['uneven'])).toThrow(/"uneven".*one length/)
  })
})

describe("folders of Hugging Face's datasets", () => {
  it.each([['train'], ['test']])('%s, with its classes', async split => {
    const source = await agrees({ path: at('saved'), split }, `saved-${split}`)
    expect(source.index('label')?.at(4)).toBe((split === 'train' ? 4 : 29) % 3)
    const { classes } = await manifestOf({ path: at('saved'), split })
    expect(classes).toEqual({ label: ['cat', 'dog', 'ox'] })
  })

  it('a split by its own folder, and streams by a pattern', async () => {
    await agrees(at('saved/train'), 'saved-train')
    await agrees(at('saved/train/*.arrow'), 'saved-train')
  })

  it('a folder without state.json is its files', async () => {
    const folder = join(home, 'cache-folder')
    cpSync(at('saved/train'), folder, { recursive: true, filter: name => !name.endsWith('.json') })
    await agrees(folder, 'saved-train')
  })

  it('says which splits there are', async () => {
    const error = (await open(at('saved')).catch(error => error)) as SourceError
    expect(error).toBeInstanceOf(SourceError)
    expect(error.message).toMatch(/has the splits "train", "test": name one: "split": "train"/)
    await expect(open({ path: at('saved'), split: 'trian' })).rejects.toThrow(/did you mean "train"/)
    await expect(open({ path: at('saved/train'), split: 'train' })).rejects.toThrow(/no dataset_dict.json/)
    await expect(open({ path: at('one.arrow'), split: 'train' })).rejects.toThrow(/leave it out/)
  })

  it.each([['../one.arrow'], ['/etc/passwd'], ['a/b.arrow'], ['..']])(
    'a name that leads out is refused: %s',
    async name => {
      const folder = temporaryFolder()
      writeFileSync(join(folder, 'state.json'), JSON.stringify({ _data_files: [{ filename: name }] }))
      copyFileSync(at('one.arrow'), join(folder, 'one.arrow'))
      await expect(open(folder)).rejects.toThrow(/state\.json.*names of files in the folder/)
    },
  )
})
