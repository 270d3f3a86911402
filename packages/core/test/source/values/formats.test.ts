/**
 * Rows of every format are selected, grouped and weighed by any column of one number or text a row. The same table lies in many
 * formats (test/golden/columns/make.py); which rows random conditions select was answered by duckdb and numpy.
 */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { slowStore } from '../../../../../test/support/slow-store.mjs'
import type { SourceJson, WhereJson } from '../../../define/types.js'
import { columnsIn } from '../../../source/combine/condition.js'
import { attachSource, openSource } from '../../../source/registry.js'
import type { Source } from '../../../source/source.js'
import { addStore } from '../../../store/stores.js'

const golden = join(import.meta.dirname, '../../../../../test/golden/columns')
const root = temporaryFolder()

interface Golden {
  table: Record<string, (number | string | boolean | null)[]>
  cases: { where: WhereJson; rows: number[] }[]
}
const read = (name: string): unknown => JSON.parse(readFileSync(join(golden, name), 'utf8'))
const { table, cases: plainCases } = read('cases.json') as Golden
const cases = [...plainCases, ...(read('joined.json') as Golden['cases'])]

beforeAll(() => {
  process.env.MILLRACE_CACHE = join(root, 'cache')
  cpSync(golden, root, { recursive: true })
})

const all = ['i', 'x', 'n', 't', 'w', 'b', 'big', 'y']
const written = all.filter(name => name !== 'y')
const whole = ['i', 'w', 'big', 'y']

/** What a source of each format is, its columns, and how many rows of the table it has. */
const FORMATS: [string, SourceJson, string[], number?][] = [
  ['parquet', { parquet: 'table.parquet' }, all],
  ['arrow', { arrow: 'table.arrow' }, all],
  ['csv', { csv: 'table.csv' }, written],
  ['jsonl', { jsonl: 'table.jsonl' }, written],
  ['jsonl in gzip', { jsonl: 'table.jsonl.gz' }, written],
  ['hdf5', { hdf5: 'table.h5' }, whole],
  ['zarr', { zarr: 'table.zarr.zip' }, whole],
  ['tfrecord', { tfrecord: 'table.tfrecord' }, ['i', 'n', 't', 'w', 'big', 'y']],
  ['mds', { mds: 'mds' }, whole],
  ['litdata', { litdata: 'litdata' }, whole],
  ['npz, rows of an axis', { npz: { path: 'table.npz', rows: 'axis' } }, ['i', 'big', 'y']],
  ['npz, a file a sample', { npz: 'samples/*.npz' }, ['i', 'big', 'y'], 12],
]

async function open(json: SourceJson): Promise<Source> {
  return attachSource(structuredClone(await openSource(json, { root, wanted: [] })))
}

/** The ids that a source should have, of these rows. */
function ids(source: Source, rows: readonly number[]): string[] {
  return rows.map(row => source.id(row))
}

const idsOf = (source: Source): string[] =>
  ids(
    source,
    Array.from({ length: source.count }, (_, row) => row),
  )

it("where of Parquet's own selects the same rows, by statistics and columns", {
  timeout: 60_000,
}, async () => {
  const path = 'table.parquet'
  const plain = await open({ parquet: path })
  for (const { where, rows } of cases)
    expect(idsOf(await open({ parquet: { path, where } })), JSON.stringify(where)).toEqual(ids(plain, rows))
})

describe('from another store', () => {
  beforeAll(() => addStore('far', slowStore({ folder: root, scheme: 'far', latency: 1, errors: 0 })))

  it.each([
    ['parquet', { parquet: 'far://table.parquet' }, { t: 'cat', n: { '>': 1 } }],
    ['jsonl', { jsonl: 'far://table.jsonl' }, { t: 'cat', n: { '>': 1 } }],
    ['tfrecord', { tfrecord: 'far://table.tfrecord' }, { t: 'cat', n: { '>': 1 } }],
  ] as [string, SourceJson, WhereJson][])('%s', async (_, source, where) => {
    const rows = table.t.flatMap((t, row) => (t === 'cat' && Number(table.n[row] ?? 0) > 1 ? [row] : []))
    expect(rows.length).toBeGreaterThan(2)
    const found = idsOf(await open({ subset: { source, where } }))
    expect(found.map(id => Number(id.split(':').at(-1)))).toEqual(rows)
  })
})

it('rows are copied from units as without an index of values', async () => {
  const source: SourceJson = { parquet: 'table.parquet' }
  const weighed = await openSource(source, { root, wanted: [], indexed: ['n'] })
  expect(attachSource(weighed).asInUnits).toBe(true)
})

describe.each(FORMATS)('%s', (_, source, columns, count = table.i.length) => {
  it('selects the rows that duckdb selects', { timeout: 60_000 }, async () => {
    const plain = await open(source)
    expect(plain.count).toBe(count)
    let compared = 0
    for (const { where, rows } of cases) {
      const here = rows.filter(row => row < count)
      if (here.length === 0 || !columnsIn(where).every(name => columns.includes(name))) continue
      expect(idsOf(await open({ subset: { source, where } })), JSON.stringify(where)).toEqual(
        ids(plain, here),
      )
      compared++
    }
    expect(compared).toBeGreaterThan(3)
  })

  it('keeps groups whole, and divides strata', async () => {
    const plain = await open(source)
    const rows = new Map(idsOf(plain).map((id, row) => [id, row]))
    const part = async (take: string, by: object): Promise<number[]> =>
      idsOf(await open({ split: { source, parts: { a: 0.5, b: 0.5 }, take, ...by } })).map(
        id => rows.get(id)!,
      )
    const [a, b] = [await part('a', { groupBy: 'i' }), await part('b', { groupBy: 'i' })]
    expect([...a, ...b].sort((p, q) => p - q)).toEqual([...rows.values()])
    const groups = new Set(a.map(row => table.i[row]))
    expect(b.some(row => groups.has(table.i[row]))).toBe(false)

    const halves = [await part('a', { stratifyBy: 'y' in source ? 'y' : columns[1] }), []]
    expect(halves[0].length).toBeGreaterThan(0)
  })
})
