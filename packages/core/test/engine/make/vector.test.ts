/** Tables: many columns as one field, and what is found in the main source. The references are in python/tests/stream/test_tables.py. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { type FeedJson, using } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { npyOf } from '../../../../../test/support/npy.js'
import { category, csv, feed, float, subset, vector } from '../../../../all/index.js'
import { applyVariant } from '../../../define/check/variants.js'
import { normalizeFeed } from '../../../define/normalize.js'
import type { FieldJson } from '../../../define/types.js'
import { planFeed } from '../../../engine/plan/plan.js'

const root = temporaryFolder()
const rows = ['a,f2,f1,name', '1,10,,b', '2,20,0.5,a', '3,30,1.5,10', '6,,NaN,9']
beforeAll(() => {
  process.env.MILLRACE_CACHE = join(root, 'cache')
  writeFileSync(join(root, 'train.csv'), `${rows.join('\n')}\n`)
  writeFileSync(join(root, 'val.csv'), 'a,f2,f1,name\n6,0,0,a\n')
})

const table = (fields: Record<string, FieldJson>, rest: Partial<FeedJson> = {}): FeedJson => ({
  source: { csv: 'train.csv' },
  fields,
  batch: 4,
  ...rest,
})

const all = (json: FeedJson, name = 'x'): Promise<number[]> =>
  using(json, { root, workers: 1 }, async loader => {
    const values: number[] = []
    for await (const batch of loader) values.push(...Array.from(batch[name] as ArrayLike<number>, Number))
    return values
  })

const STANDARD: FieldJson = {
  from: ['*', '!name'],
  as: 'vector',
  dtype: 'f64',
  missing: 0,
  apply: [{ normalize: 'standard' }],
}

test('columns stand in the order of the list, those of a pattern in the order of the file', async () => {
  const x: FieldJson = { from: ['f1', '*', '!name'], as: 'vector', missing: -1 }
  expect(await all(table({ x }))).toEqual([-1, 1, 10, 0.5, 2, 20, 1.5, 3, 30, -1, 6, -1])
  await expect(all(table({ x: { from: 'f*', as: 'vector' } }))).rejects.toThrow(
    /sample train\.csv:0.*field "x" failed: column "f1": .*"missing" of the field/,
  )
})

test('a variant is normalised, and numbers its names, by the main source', async () => {
  const json = table(
    { x: STANDARD, name: { from: 'name', as: 'class' } },
    { variants: { val: { source: { csv: 'val.csv' } } } },
  )
  // a: 1 2 3 6, mean 3, variance 14/4; f2: 10 20 30; f1: 0.5 1.5.
  const [a, f2] = [Math.sqrt(3.5), Math.sqrt(200 / 3)]
  const expected = [-2 / a, -10 / f2, 0, -1 / a, 0, -1, 0, 10 / f2, 1, 3 / a, 0, 0]
  for (const [i, value] of (await all(json)).entries()) expect(value).toBeCloseTo(expected[i], 12)
  expect(await all(json, 'name')).toEqual([3, 2, 0, 1]) // "10" "9" "a" "b", by code points
  const val = applyVariant(json, 'val')
  for (const [i, value] of (await all(val)).entries()) expect(value).toBeCloseTo([3 / a, -20 / f2, -2][i], 12)
  expect(await all(val, 'name')).toEqual([2])
})

test('what is found is part of the content hash, and kept until the data change', async () => {
  const plan = () => planFeed(normalizeFeed(table({ x: STANDARD }), root))
  const before = await plan()
  const kept = (): string[] => readdirSync(join(root, 'cache', 'index')).sort()
  const files = kept()
  expect((await plan()).hashes).toEqual(before.hashes)
  expect(kept()).toEqual(files)
  const given = before.feed.fields[0].apply[0].params
  const numbers: FieldJson = { ...STANDARD, from: ['a', 'f2', 'f1'], apply: [{ normalize: given }] }
  expect((await planFeed(normalizeFeed(table({ x: numbers }), root))).hashes).toEqual(before.hashes)
  writeFileSync(join(root, 'train.csv'), `${rows.join('\n').replace('6,,', '7,,')}\n`)
  expect((await plan()).hashes.content).not.toBe(before.hashes.content)
  writeFileSync(join(root, 'train.csv'), `${rows.join('\n')}\n`)
})

test('a number is changed in the order of its operators', async () => {
  const of = (apply: FieldJson['apply'], as: 'int' | 'float' = 'float'): Promise<number[]> =>
    all(table({ x: { from: 'a', as, apply } }))
  expect(await of([{ clamp: [2, 4] }, { normalize: { mean: 2, std: 2 } }])).toEqual([0, 0, 0.5, 1])
  expect(await of([{ normalize: { mean: 2, std: 2 } }, { clamp: [0, 0.5] }])).toEqual([0, 0, 0.5, 0.5])
  expect(await of([{ clamp: [2, 4] }], 'int')).toEqual([2, 2, 3, 4])
})

test.each([
  [
    { from: 'a', as: 'int', apply: [{ clamp: [0, 1.5] }] },
    /fields\.x\.apply\[0\]\.clamp: .*no bounds of i64/,
  ],
  [{ from: ['a', 'a'], as: 'vector' }, /"a" is there twice/],
  [{ from: '!a', as: 'vector' }, /begin with "\*"/],
  [
    { from: ['a', 'b'], as: 'vector', apply: [{ normalize: { mean: [1, 2, 3], std: 1 } }] },
    /3 numbers.*2 columns/,
  ],
  [{ from: 'a', as: 'float', apply: [{ normalize: 'standart' }] }, /did you mean "standard"/],
] as [FieldJson, RegExp][])('%j is refused', (x, message) => {
  expect(() => normalizeFeed(table({ x }), root)).toThrow(message)
})

test('columns are looked for when the feed is opened', async () => {
  const plan = (from: string, rest: Partial<FieldJson> = {}) =>
    planFeed(normalizeFeed(table({ x: { from, as: 'float', ...rest } }), root))
  await expect(plan('nmae')).rejects.toThrow(
    /fields\.x\.from: the source has no column "nmae".*did you mean "name"/,
  )
  await expect(plan('nmae', { missing: 0 })).rejects.toThrow(/"missing" does not help/)
  await plan('nope|a')
  writeFileSync(join(root, 'rows.jsonl'), `${'{"a":1}\n'.repeat(200)}{"late":1}\n`)
  const jsonl = (from: string, rest: Partial<FieldJson> = {}, notice?: (text: string) => void) =>
    planFeed(
      normalizeFeed(table({ x: { from, as: 'float', ...rest } }, { source: { jsonl: 'rows.jsonl' } }), root),
      { ...(notice && { notice }) },
    )
  await jsonl('late')
  await expect(jsonl('b')).rejects.toThrow(/no column "b"/)
  const reported: string[] = []
  await jsonl('b', { missing: 0 }, text => reported.push(text))
  expect(reported.join()).toMatch(/None of the first 1024 samples has it/)
})

test('the builders write the same', () => {
  const json = feed({
    source: subset(csv('a.csv'), { where: { a: null } }),
    fields: {
      x: vector(['a', 'f*']).dtype('f64').normalize('standard').clamp(-1, 1).missing(Number.NaN),
      y: float('y').normalize({ mean: 1, std: 2 }),
      z: category('z'),
    },
    batch: 2,
  }).json
  expect(json.source).toEqual({ subset: { source: { csv: 'a.csv' }, where: { $all: [{ a: null }] } } })
  expect(json.fields).toEqual({
    x: {
      from: ['a', 'f*'],
      as: 'vector',
      dtype: 'f64',
      apply: [{ normalize: 'standard' }, { clamp: [-1, 1] }],
      missing: 'nan',
    },
    y: { from: 'y', as: 'float', apply: [{ normalize: { mean: 1, std: 2 } }] },
    z: { from: 'z', as: 'class' },
  })
})

test('names that are found: numbers as numbers, however large; NaN is none, an empty text is one', async () => {
  const lines = ['x,big,t', '3,1152921504606846979,b', 'NaN,1152921504606846977,""', '1,1152921504606846978,']
  writeFileSync(join(root, 'names.csv'), `${lines.join('\n')}\n2,1152921504606846976,a\n`)
  writeFileSync(join(root, 'ten.npy'), npyOf([3], Uint8Array.of(10, 9, 10)))
  const numbered = (
    from: string,
    field: Partial<FieldJson> = {},
    source: FeedJson['source'] = { csv: 'names.csv' },
  ) =>
    all({
      source,
      fields: { x: { from, as: 'class', ...field } as FieldJson },
      batch: { size: 4, last: 'keep' },
    })
  expect(await numbered('x', { missing: -1 })).toEqual([2, -1, 0, 1])
  expect(await numbered('x', { missing: -1, classes: ['1', '2', '3'] })).toEqual([2, -1, 0, 1])
  await expect(numbered('x')).rejects.toThrow(/names\.csv:1 .*is NaN: "missing" of the field/)
  expect(await numbered('big')).toEqual([3, 1, 2, 0])
  expect(await numbered('t', { missing: -1 })).toEqual([2, 0, -1, 1])
  expect(await numbered('data', {}, { npy: { path: 'ten.npy', rows: 'axis' } })).toEqual([1, 0, 1])
})
