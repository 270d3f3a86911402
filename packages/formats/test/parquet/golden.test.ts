/** Values of Parquet files, element for element as pyarrow reads them: test/golden/parquet/make.py wrote both. */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { isTiled } from '../../../core/basics/array.js'
import { numbersOf, plainArray } from '../../../core/basics/plain-array.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { Column, Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { Stores } from '../../../core/store/stores.js'

const golden = join(import.meta.dirname, '../../../../test/golden/parquet')

interface Told {
  rows: number
  columns: Record<string, unknown[]>
}

interface Expected {
  files: Record<string, Told & { like?: string }>
}

const { files } = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as Expected

/** A value as expected.json has it. */
function reported(value: Column | undefined, expected: unknown): unknown {
  if (value === undefined) return null
  if (value instanceof Uint8Array) {
    return typeof expected === 'string'
      ? Buffer.from(value).toString()
      : { hex: Buffer.from(value).toString('hex') }
  }
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : { int: String(value) }
  if (typeof value === 'number') return numberOf(value, expected)
  if (typeof value === 'string') return Array.isArray(expected) ? JSON.parse(value) : value
  if (!isTiled(value)) return value
  const numbers = [...numbersOf(plainArray(value))]
  const list = (expected as unknown[]).flat(Infinity)
  const flat = numbers.map((number, i) =>
    Number.isNaN(number) && list[i] === null ? null : numberOf(number, list[i]),
  )
  return shaped(flat, value.shape)
}

/** Lists in lists, as the shape has them. */
function shaped(flat: unknown[], [side, ...inner]: readonly number[]): unknown[] {
  if (inner.length === 0) return flat
  const each = flat.length / side
  return Array.from({ length: side }, (_, i) => shaped(flat.slice(i * each, (i + 1) * each), inner))
}

function numberOf(number: number, expected: unknown): unknown {
  const text = { nan: Number.NaN, inf: Infinity, '-inf': -Infinity }[String(expected)]
  return text !== undefined && Object.is(text, number) ? expected : number
}

async function opened(root: string, path: string): Promise<Source> {
  return attachSource(await openSource({ parquet: path }, { root, wanted: [] }))
}

describe('values are those that pyarrow reads', () => {
  const root = temporaryFolder()

  beforeAll(() => {
    process.env.MILLRACE_CACHE = join(root, 'cache')
    cpSync(golden, root, { recursive: true })
  })

  for (const [name, { like }] of Object.entries(files)) {
    const { rows, columns } = files[like ?? name]
    it.skipIf(rows === 0)(name, async () => {
      const source = await opened(root, `${name}.parquet`)
      expect(source.count).toBe(rows)
      const names = Object.keys(columns)
      expect(source.columns).toEqual(expect.arrayContaining(names))
      using stores = new Stores()
      const reader = new RowReader(source, new Reader(stores))
      for (let row = 0; row < rows; row++) {
        const { sample } = await reader.read(row, names)
        for (const column of names) {
          const expected = columns[column][row]
          const value = reported(sample[column], expected)
          if (!isDeepStrictEqual(value, expected)) expect(value, `${column} of row ${row}`).toEqual(expected)
        }
      }
    })
  }

  it('lists side by side that are no array make a bad sample', async () => {
    const source = await opened(root, 'uneven.parquet')
    using stores = new Stores()
    const reader = new RowReader(source, new Reader(stores))
    const read = async (row: number) => (await reader.read(row, ['x'])).sample.x
    await expect(read(0)).rejects.toThrow('lists of different lengths lie side by side')
    await expect(read(1)).rejects.toThrow('a list in the list is null')
    await expect(read(2)).rejects.toThrow('element 3 of the list is null')
    expect(reported(await read(3), [[1], [2]])).toEqual([[1], [2]])
  })

  it('has no rows in a file without any', async () => {
    await expect(opened(root, 'empty.parquet')).rejects.toThrow('no row in')
    const both = await opened(root, '{empty,one-row}.parquet')
    expect(both.count).toBe(1)
    using stores = new Stores()
    const { sample } = await new RowReader(both, new Reader(stores)).read(0, ['text'])
    expect(reported(sample.text, '')).toBe(files['one-row'].columns.text[0])
  })
})
