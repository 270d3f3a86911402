/** Columns that no index of a format holds: read once, kept, checked; what becomes of rows without a value. */
import { readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { millrace } from '../../../../tools/test/prepare/helpers.js'
import { SourceError } from '../../../basics/errors.js'
import type { NormalOrder, SourceJson, WhereJson } from '../../../define/types.js'
import { planSource } from '../../../order/single.js'
import { attachSource, openSource, openSources } from '../../../source/registry.js'
import type { OpenContext, Source } from '../../../source/source.js'

let root = ''
let reported: string[] = []
let notices: string[] = []
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, 'cache')
  reported = []
  notices = []
})

function contextOf(more: Partial<OpenContext> = {}): OpenContext {
  return {
    root,
    wanted: [],
    progress: (_, __, what) => reported.push(what),
    notice: text => notices.push(text),
    ...more,
  }
}

const manifestOf = (json: SourceJson, more: Partial<OpenContext> = {}) => openSource(json, contextOf(more))

async function open(json: SourceJson, more: Partial<OpenContext> = {}): Promise<Source> {
  return attachSource(structuredClone(await manifestOf(json, more)))
}

/** Lines of JSON, an object each. */
const lines = (rows: readonly object[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')

const rowsOf = (source: Source): number[] =>
  Array.from({ length: source.count }, (_, row) => Number(source.id(row).split(':')[1]))

async function selected(where: WhereJson, source: SourceJson = { jsonl: 'a.jsonl' }): Promise<number[]> {
  return rowsOf(await open({ subset: { source, where } }))
}

const scans = (): string[] => [...new Set(reported.filter(what => what.startsWith('reading the column')))]

async function failure(json: SourceJson): Promise<string> {
  const error = await open(json).catch(error => error)
  expect(error).toBeInstanceOf(SourceError)
  return error.message
}

describe('the index', () => {
  const rows = Array.from({ length: 3000 }, (_, i) => ({ a: i % 7, b: `t${i % 5}`, c: 'x'.repeat(40) }))

  it('has named columns alone, read once in one pass', async () => {
    writeFiles(root, { 'a.jsonl': lines(rows) })
    const first = await selected({ a: 3, b: 't2' })
    expect(first).toEqual(rows.flatMap(({ a, b }, i) => (a === 3 && b === 't2' ? [i] : [])))
    expect(scans()).toEqual(['reading the columns a, b of jsonl'])
    const files = readdirSync(root).filter(name => name.endsWith('.millrace'))
    expect(files).toHaveLength(3) // of the lines, and of each column

    reported = []
    expect(await selected({ a: 3, b: 't2' })).toEqual(first)
    expect((await selected({ b: 't4' })).length).toBe(600)
    expect(scans()).toEqual([])
  })

  it('is made anew where the data changed, and the order is another one', async () => {
    const json: SourceJson = { subset: { source: { jsonl: 'a.jsonl' }, where: { a: { '<': 3 } } } }
    writeFiles(root, { 'a.jsonl': lines([{ a: 1 }, { a: 2 }, { a: 3 }]) })
    const before = await manifestOf(json)
    expect((await manifestOf(json)).fingerprint).toEqual(before.fingerprint)
    // The same name and size: the digest of names and sizes is the same, that of the values is not.
    writeFiles(root, { 'a.jsonl': lines([{ a: 1 }, { a: 3 }, { a: 2 }]) })
    utimesSync(join(root, 'a.jsonl'), 1, 1)
    const after = await manifestOf(json)
    expect(rowsOf(attachSource(after))).toEqual([0, 2])
    expect(after.fingerprint.values).not.toBe(before.fingerprint.values)
    expect(notices.join()).toContain('the values of column "a" are those of other data')
  })

  it('is not believed by verify', async () => {
    writeFiles(root, { 'a.jsonl': lines(rows) })
    await open({ jsonl: 'a.jsonl' }, { indexed: ['a'] })
    reported = []
    await open({ jsonl: 'a.jsonl' }, { indexed: ['a'], check: 'nothing' })
    expect(scans()).toHaveLength(1)
  })

  it('keeps the values of a definition apart from those of another', async () => {
    writeFiles(root, { 'a.csv': 'n\n1\n2\n10\n' })
    expect(await selected({ n: { '<': 9 } }, { csv: 'a.csv' })).toEqual([0, 1])
    const texts: SourceJson = { csv: { path: 'a.csv', types: { n: 'text' } } }
    expect(await selected({ n: { '<': '2' } }, texts)).toEqual([0, 2])
    reported = []
    expect(await selected({ n: { '<': 9 } }, { csv: 'a.csv' })).toEqual([0, 1])
    expect(scans()).toEqual([])
  })

  it('has a column of the data before the place of a row of the same name', async () => {
    writeFiles(root, { 'a.jsonl': lines([{ key: 'x' }, { key: 'y' }]) })
    expect(await selected({ key: 'y' })).toEqual([1])
    expect(await selected({ line: 2 })).toEqual([1])
  })

  it('has columns that only some rows have, and nested ones', async () => {
    writeFiles(root, { 'a.jsonl': lines([{ m: { w: 5 } }, { m: {} }, { m: { w: 7 }, late: 1 }]) })
    expect(await selected({ 'm.w': { '>=': 5 } })).toEqual([0, 2])
    expect(await selected({ late: 1 })).toEqual([2])
  })
})

describe('rows without a value', () => {
  const rows = [{ g: 1, w: 2 }, { g: null }, { w: 1 }, { g: 2, w: 0 }, { g: 1, w: 3 }]
  beforeEach(() => writeFiles(root, { 'a.jsonl': lines(rows) }))
  const source: SourceJson = { jsonl: 'a.jsonl' }

  it('meet no condition, not even !=', async () => {
    expect(await selected({ g: { '!=': 1 } })).toEqual([3])
    expect(await selected({ g: [1, 2] })).toEqual([0, 3, 4])
    expect(await selected({ g: { '<': 100 } })).toEqual([0, 3, 4])
  })

  it('are groups of their own, which their keys divide', async () => {
    const many = Array.from({ length: 400 }, (_, i) => (i % 4 === 0 ? { g: i % 3 } : {}))
    writeFiles(root, { 'a.jsonl': lines(many) })
    const taken = rowsOf(await open({ split: { source, folds: 2, take: 0, groupBy: 'g' } }))
    const plain = rowsOf(await open({ split: { source, folds: 2, take: 0 } }))
    const without = (list: number[]): number[] => list.filter(row => many[row].g === undefined)
    expect(without(taken)).toEqual(without(plain))
    expect(without(taken).length).toBeGreaterThan(100)
  })

  it('are a stratum, and a class that is balanced', async () => {
    const many = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? { g: 5 } : {}))
    writeFiles(root, { 'a.jsonl': lines(many) })
    const half = rowsOf(await open({ split: { source, folds: 2, take: 0, stratifyBy: 'g' } }))
    expect(half.filter(row => row % 2 === 1)).toHaveLength(25)
    const opened = await open(source, { indexed: ['g'] })
    const order = { kind: 'weights', weights: { balance: 'g' }, seed: 1 } as NormalOrder
    const data = planSource(order, opened)
    expect(data).toMatchObject({ kind: 'weights', shares: new Float64Array(100).fill(1) })
  })

  it('have no weight, which is refused by row', async () => {
    const opened = await open(source, { indexed: ['w'] })
    const order = { kind: 'weights', weights: { column: 'w' }, seed: 1 } as NormalOrder
    expect(() => planSource(order, opened)).toThrow('the weight of row 1 is undefined')
  })
})

describe('values', () => {
  it('of true and false are compared as such, and as 1 and 0', async () => {
    writeFiles(root, { 'a.jsonl': lines([{ ok: true }, { ok: false }, { ok: true }]) })
    expect(await selected({ ok: true })).toEqual([0, 2])
    expect(await selected({ ok: { '!=': true } })).toEqual([1])
    expect(await selected({ ok: [0] })).toEqual([1])
  })

  it('beyond 2^53 are compared digit by digit', async () => {
    const text = ['9007199254740993', '9007199254740992', '-5', '7'].map(n => `{"id": ${n}}\n`).join('')
    writeFiles(root, { 'a.jsonl': text })
    expect(await selected({ id: '9007199254740993' })).toEqual([0])
    expect(await selected({ id: { '>': '9007199254740992' } })).toEqual([0])
    expect(await selected({ id: { '<': 7.5 } })).toEqual([2, 3])
    expect(await selected({ id: [7, '-5'] })).toEqual([2, 3])
    const rounded = await failure({
      subset: { source: { jsonl: 'a.jsonl' }, where: { id: 9007199254740992 } },
    })
    expect(rounded).toContain('write such an integer as a text of its digits')
  })

  it('of numbers and texts are texts', async () => {
    writeFiles(root, { 'a.jsonl': lines([{ v: 1 }, { v: 'one' }, { v: 1.5 }]) })
    expect(await selected({ v: ['1', 'one'] })).toEqual([0, 1])
    const message = await failure({ subset: { source: { jsonl: 'a.jsonl' }, where: { v: 1 } } })
    expect(message).toContain('column "v" holds strings')
  })

  it('that are arrays or long texts are refused, with the sample', async () => {
    writeFiles(root, {
      'a.jsonl': lines([
        { l: [1], t: 'a' },
        { l: [1, 2], t: 'b'.repeat(70_000) },
      ]),
    })
    const source: SourceJson = { jsonl: 'a.jsonl' }
    const arrays = await failure({ subset: { source, where: { l: 1 } } })
    expect(arrays).toContain('sample a.jsonl:1')
    expect(arrays).toContain('column "l" holds arrays (')
    expect(await failure({ subset: { source, where: { t: 'a' } } })).toContain('at most 65536')
  })

  it('of an unknown column: the message names those there are', async () => {
    writeFiles(root, { 'a.jsonl': lines([{ width: 1, text: 'a' }]) })
    const source: SourceJson = { jsonl: 'a.jsonl' }
    expect(await failure({ subset: { source, where: { missing: 1 } } })).toContain(
      'where: the source has no column "missing"; it has width, text, key, shard, line',
    )
    expect(await failure({ split: { source, folds: 2, take: 0, groupBy: 'widht' } })).toContain(
      'groupBy: the source has no column "widht"; did you mean "width"?',
    )
    const order = { kind: 'weights', weights: { column: 'none' }, seed: 1 } as NormalOrder
    const opened = await open(source)
    expect(() => planSource(order, opened)).toThrow('no column "none"; name one that has a number or a text')
  })
})

describe('the command line', () => {
  it('selects, and measures the mixing of classes, by a column of the data', {
    timeout: 120_000,
  }, async () => {
    writeFiles(root, {
      'a.jsonl': lines(Array.from({ length: 60 }, (_, i) => ({ l: i % 3, ok: i % 2 === 0 }))),
      'f.json': JSON.stringify({
        source: { subset: { source: { jsonl: 'a.jsonl' }, where: { ok: true, l: [0, 2] } } },
        fields: { l: { from: 'l', as: 'int' } },
        batch: { size: 8, last: 'keep' },
      }),
    })
    const [feed, ids] = [join(root, 'f.json'), join(root, 'ids')]
    const run = await millrace('run', feed, '--epochs', '1', '--workers', '0', '--ids', ids)
    expect(run.code, run.stderr).toBe(0)
    const reported = readFileSync(ids, 'utf8').trim().split('\n')
    const rows = Array.from({ length: 60 }, (_, i) => i).filter(i => i % 2 === 0 && i % 3 !== 1)
    expect(reported.flatMap(line => JSON.parse(line).ids)).toEqual(rows.map(row => `a.jsonl:${row}`))
    const quality = await millrace('inspect', feed, '--json')
    expect(quality.code, quality.stderr).toBe(0)
    expect(JSON.parse(quality.stdout).order[0].score).toBeLessThan(0.5)
  })
})

describe('sources that are made of others', () => {
  beforeEach(() =>
    writeFiles(root, {
      'a.jsonl': lines([
        { l: 1, o: 5 },
        { l: 2, o: 6 },
      ]),
      'b.csv': 'l,o\n2,1\n1,2\n',
    }),
  )

  it('ask the parts that have the column', async () => {
    const concat: SourceJson = { concat: [{ jsonl: 'a.jsonl' }, { csv: 'b.csv' }] }
    const source = await open({ subset: { source: concat, where: { l: 1 } } })
    expect(Array.from({ length: source.count }, (_, row) => source.id(row))).toEqual([
      '0/a.jsonl:0',
      '1/b.csv:1',
    ])
    const nested: SourceJson = { subset: { source: { jsonl: 'a.jsonl' }, range: [1, 2] } }
    expect(await selected({ l: 2 }, nested)).toEqual([1])
  })

  it('side by side: an index that is there comes before columns that have to be read', async () => {
    const zip: SourceJson = { zip: [{ jsonl: 'a.jsonl' }, { csv: 'b.csv' }] }
    expect(await selected({ l: 2 }, zip)).toEqual([1])
    expect(await selected({ shard: 'a.jsonl', o: 5 }, zip)).toEqual([0])
  })

  it('with other names in a blend', async () => {
    const blend: SourceJson = {
      blend: { entries: [{ source: { jsonl: 'a.jsonl' }, name: 'a', weight: 1, rename: { l: 'label' } }] },
    }
    const { sources } = await openSources(blend, contextOf({ indexed: ['label'] }))
    expect(attachSource(sources[0].manifest).index('label')?.at(1)).toBe(2)
  })
})
