/** Columns that folders tell are those that pyarrow's hive partitioning finds: test/golden/parquet/make.py. */
import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { partitionsOf } from '../../parquet/partitions.js'

const golden = join(import.meta.dirname, '../../../../test/golden/parquet/hive')
const root = temporaryFolder()
process.env.MILLRACE_CACHE = join(root, 'cache')
cpSync(golden, join(root, 'hive'), { recursive: true })

const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as {
  id: number[]
  year: number[]
  kind: (string | null)[]
  below: string[]
}
const PATH = join(root, 'hive/**/*.parquet')

async function rowsOf(source: unknown, workers = 0): Promise<[number, number, string][]> {
  const json: FeedJson = {
    source: source as FeedJson['source'],
    order: 'none',
    fields: {
      id: { from: 'id', as: 'int', dtype: 'i32' },
      year: { from: 'year', as: 'int', dtype: 'i32' },
      kind: { from: 'kind', as: 'text', missing: 'none' },
    },
    batch: { size: 5, last: 'keep' },
  }
  return using(json, { workers }, async loader => {
    const out: [number, number, string][] = []
    for await (const { id, year, kind } of loader) {
      const [ids, years, kinds] = [id as Int32Array, year as Int32Array, kind as string[]]
      for (let i = 0; i < ids.length; i++) out.push([ids[i], years[i], kinds[i]])
    }
    return out.sort((a, b) => a[0] - b[0])
  })
}

const all = expected.id.map((id, i) => [id, expected.year[i], expected.kind[i] ?? 'none'])

test.each([0, 2])('the values are those of the folders, with %i workers', async workers => {
  expect(await rowsOf({ parquet: PATH }, workers)).toEqual(all)
})

test('a folder of such folders is told how to name its files', async () => {
  const opened = openSource({ parquet: 'hive' }, { root, wanted: [] })
  await expect(opened).rejects.toThrow('is a folder: name its files, as in "hive/**/*.parquet"')
})

test('only folders below the one that is named tell columns', async () => {
  const columns = async (parquet: string | string[]): Promise<string[]> => {
    const manifest = await openSource({ parquet }, { root, wanted: [] })
    return [...attachSource(manifest).columns]
  }
  expect(await columns('hive/year=2020/**/*.parquet')).toEqual(expected.below)
  expect(await columns('hive/year=2020/kind=07/part-0.parquet')).toEqual(['id'])
  expect(await columns('hive/year={2020,2021}/kind=07/*.parquet')).toEqual(['id', 'year', 'kind'])
  expect(await columns(['hive/year=2020/kind=07/*.parquet', 'hive/year=2020/kind=gr*/*.parquet'])).toEqual([
    'id',
    'kind',
  ])
})

test('renamed folders are other data where fields take their values, also if names of files lack them', async () => {
  const one = join(golden, 'year=2020/kind=07/part-0.parquet')
  for (const year of [1, 2]) {
    mkdirSync(join(root, `renamed/year=${year}`), { recursive: true })
    copyFileSync(one, join(root, `renamed/year=${year}/${year}.parquet`))
  }
  const orderHash = (from: string): Promise<string> => {
    const json: FeedJson = {
      source: { parquet: join(root, 'renamed/*/*.parquet') },
      fields: { year: { from, as: 'int', dtype: 'i32' } },
      batch: { size: 4 },
    }
    return using(json, { workers: 0 }, async loader => {
      await loader.ready
      return (loader.state() as unknown as { order: string }).order
    })
  }
  const before = [await orderHash('year'), await orderHash('id')]
  renameSync(join(root, 'renamed/year=2'), join(root, 'renamed/year=3'))
  const after = [await orderHash('year'), await orderHash('id')]
  expect(after[0]).not.toBe(before[0])
  expect(after[1]).toBe(before[1])
})

test('rows are selected by them, in the source and around it', async () => {
  const some = all.filter(([, year, kind]) => year === 2021 && kind === 'grün')
  expect(some.length).toBeGreaterThan(0)
  const where = { year: 2021, kind: 'grün' }
  expect(await rowsOf({ parquet: { path: PATH, where } })).toEqual(some)
  expect(await rowsOf({ subset: { source: { parquet: PATH }, where } })).toEqual(some)
  const both = { year: { '>=': 2021 }, id: { '<': 6 } }
  expect(await rowsOf({ parquet: { path: PATH, where: both } })).toEqual(
    all.filter(([id, year]) => (year as number) >= 2021 && (id as number) < 6),
  )
})

test('types, nulls, and columns that lie in the files', () => {
  const files = ['/d/k=1/n=2/m=__HIVE_DEFAULT_PARTITION__/x.parquet', '/d/k=01/n=a/x=1.parquet']
  expect(partitionsOf(files, [])).toEqual([
    { name: 'k', type: 'number', values: [1, 1] },
    { name: 'n', type: 'string', values: ['2', 'a'] },
    { name: 'm', type: 'string', values: [null, null] },
  ])
  expect(partitionsOf(files, ['k', 'm']).map(({ name }) => name)).toEqual(['n'])
})
