/** JSON lines, CSV and text as sources: rows, ids, columns, and what is told of wrong files. */
import { appendFileSync, copyFileSync, existsSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { needOf } from '../../../core/source/row-reader.js'
import type { Source } from '../../../core/source/source.js'
import { asText, conforms, readRow } from '../../../core/test/source/conformance.js'

conforms({
  name: 'jsonl',
  json: { jsonl: 'a-*.jsonl' },
  wanted: ['text', 'label', 'meta.id'],
  write: root =>
    writeFiles(root, {
      'a-0.jsonl': '{"text": "one", "label": 1, "meta": {"id": "x"}}\r\n\n{"text": "two"}\n',
      'a-1.jsonl': '{"label": 12345678901234567890}',
    }),
  change: root => writeFiles(root, { 'a-1.jsonl': '{"label": 1}\n{}' }),
  count: 3,
  first: { text: 'one', label: '1', 'meta.id': 'x' },
})

conforms({
  name: 'csv',
  json: { csv: ['a.csv', 'b.tsv'] },
  wanted: ['name', 'size', 'good'],
  write: root =>
    writeFiles(root, {
      'a.csv': '\ufeffname,size,good\n"a ""b""\nc",1.5,true\nd,,\n',
      'b.tsv': 'good\tsize\tname\nfalse\t2\tx,y',
    }),
  change: root => writeFiles(root, { 'b.tsv': 'good\tsize\tname\nfalse\t2\tx,yz' }),
  count: 3,
  first: { name: 'a "b"\nc', size: '1.5', good: '1' },
})

conforms({
  name: 'text',
  json: { text: 't.txt' },
  wanted: ['text', 'line'],
  write: root => writeFiles(root, { 't.txt': 'one\r\n\nthree' }),
  change: root => writeFiles(root, { 't.txt': 'one\r\n\n\nthree' }),
  count: 3,
  first: { text: 'one', line: '1' },
})

let root: string
const notices: string[] = []
beforeEach(() => {
  root = temporaryFolder()
  notices.length = 0
})

async function open(json: SourceJson): Promise<Source> {
  const context = { root, wanted: [], notice: (text: string) => notices.push(text) }
  return attachSource(structuredClone(await openSource(json, context)))
}

const rowsOf = (source: Source, columns: readonly string[] = source.columns): unknown[] =>
  Array.from({ length: source.count }, (_, row) => readRow(source, row, columns))
const texts = (source: Source): string[] =>
  Array.from({ length: source.count }, (_, row) => asText(readRow(source, row, ['text']).text))

describe('rows', () => {
  it('have ids by file and row, and keys by the stem of the file', async () => {
    writeFiles(root, { 'a.b.txt': 'x\ny', 'c.txt': 'z' })
    const source = await open({ text: ['a.b.txt', 'c.txt'] })
    expect([0, 1, 2].map(row => source.id(row))).toEqual(['a.b.txt:0', 'a.b.txt:1', 'c.txt:0'])
    expect([0, 1, 2].map(row => source.key(row))).toEqual(['a_b:0', 'a_b:1', 'c:0'])
    expect(source.where?.(1)).toEqual({ file: join(root, 'a.b.txt'), offset: 2 })
    expect(source.index('line')?.at(1)).toBe(2)
  })

  it('are one range each, and neighbours touch', async () => {
    writeFiles(root, { 'a.jsonl': '{"a": 1}\n{"a": 2}\n' })
    const source = await open({ jsonl: 'a.jsonl' })
    const ranges = [0, 1].flatMap(row => needOf(source, row, ['a']).ranges)
    expect(ranges).toMatchObject([
      { offset: 0, length: 9 },
      { offset: 9, length: 9 },
    ])
    expect(ranges[0].was).toBeDefined()
  })

  it('of text are all lines, or those with something in them', async () => {
    writeFiles(root, { 'a.txt': '\n\none\n \ntwo\n' })
    expect(texts(await open({ text: 'a.txt' }))).toEqual(['', '', 'one', ' ', 'two'])
    const skipping = await open({ text: { path: 'a.txt', blankLines: 'skip' } })
    expect(texts(skipping)).toEqual(['one', 'two'])
    expect([0, 1].map(row => readRow(skipping, row, ['line']).line)).toEqual([3, 5])
  })

  it('may be any bytes as text', async () => {
    writeFiles(root, { 'a.txt': Buffer.from('\xff\x00b\nc', 'latin1') })
    expect(texts(await open({ text: 'a.txt' }))).toEqual(['\xff\x00b', 'c'])
  })
})

describe('csv', () => {
  const csv = async (text: string, options: Record<string, unknown> = {}): Promise<Source> => {
    writeFiles(root, { 'a.csv': text })
    return open({ csv: { path: 'a.csv', ...options } } as SourceJson)
  }

  it('has types by its first rows, and says them', async () => {
    const source = await csv(
      'i,f,b,t,zip,big,none\n1,1,true,x,01234,9007199254740993,\n-2,2.5,False,3,1,1,\n',
    )
    expect(rowsOf(source)).toEqual([
      { i: 1, f: 1, b: 1, t: 'x', zip: '01234', big: 9007199254740993n },
      { i: -2, f: 2.5, b: 0, t: '3', zip: '1', big: 1 },
    ])
    expect(source.layout?.()?.schema).toEqual([
      { name: 'i', type: 'int, by the first rows' },
      { name: 'f', type: 'float, by the first rows' },
      { name: 'b', type: 'bool, by the first rows' },
      { name: 't', type: 'text, by the first rows' },
      { name: 'zip', type: 'text, by the first rows' },
      { name: 'big', type: 'int, by the first rows' },
      { name: 'none', type: 'text, by the first rows', nulls: true },
    ])
  })

  it('says that lines end with CR alone, and that a header is alone', async () => {
    await expect(csv('a,b\r1,2\r3,4\r')).rejects.toThrow(/a\.csv, line 1: its lines end with CR alone/)
    await expect(csv('a,b\n')).rejects.toThrow('or have a header alone')
  })

  it('keeps all digits of integers in a column that a NaN or a fraction made one of floats', async () => {
    const text = 'a,b\n9007199254740993,9007199254740993\nNaN,0.5\n-1e3,12\n'
    const source = await csv(text, { types: { b: 'float' } })
    expect(rowsOf(source)).toEqual([
      { a: 9007199254740993n, b: 9007199254740992 },
      { a: Number.NaN, b: 0.5 },
      { a: -1000, b: 12 },
    ])
  })

  it('has the types that are declared', async () => {
    const source = await csv('a,b\n1,2\n', { types: { a: 'text', b: 'float' } })
    expect(rowsOf(source)).toEqual([{ a: '1', b: 2 }])
    expect(source.layout?.()?.schema[0]).toEqual({ name: 'a', type: 'text' })
    await expect(csv('a,b\n1,2\n', { types: { aa: 'text' } })).rejects.toThrow(/did you mean "a"/)
  })

  it('has a bad sample where a later value is of another type', async () => {
    const rows = Array.from({ length: 1500 }, (_, i) => `${i === 1400 ? 'x' : i},"a\nb"`)
    const source = await csv(`n,t\n${rows.join('\n')}\n`)
    expect(readRow(source, 1399, ['n'])).toEqual({ n: 1399 })
    expect(() => readRow(source, 1400, ['n'])).toThrow(
      /line 2802 column "n": "x" is no int, as the first rows made this column: .* "types": \{"n": "text"\}/,
    )
    expect(readRow(source, 1400, ['t'])).toEqual({ t: 'a\nb' })
  })

  it('tells empty cells from empty texts', async () => {
    expect(rowsOf(await csv('a,b\n"",\n,""\nx,1\n'))).toEqual([{ a: '' }, {}, { a: 'x', b: 1 }])
  })

  it('may have no header, other names and another delimiter', async () => {
    expect(rowsOf(await csv('1;x\n2;y\n', { header: false, delimiter: ';' }))).toEqual([
      { f0: 1, f1: 'x' },
      { f0: 2, f1: 'y' },
    ])
    expect(rowsOf(await csv('1,x\n2,y\n', { columns: ['a', 'b'] }))).toMatchObject([{ a: 1 }, { a: 2 }])
    expect(rowsOf(await csv('q,r\n2,y\n', { columns: ['a', 'b'], header: true }))).toEqual([{ a: 2, b: 'y' }])
    await expect(csv('1,x\n', { columns: ['a'] })).rejects.toThrow(
      /has 2 cells in its first row, and "columns" has 1/,
    )
  })

  it('takes types of all its files together, by name', async () => {
    writeFiles(root, { 'a.csv': 'x,y\n1,2\n', 'b.csv': 'y,x\nz,1.5\n' })
    expect(rowsOf(await open({ csv: '*.csv' }))).toEqual([
      { x: 1, y: '2' },
      { x: 1.5, y: 'z' },
    ])
  })

  it('leaves out the row numbers that pandas writes', async () => {
    const source = await csv(',a\n0,x\n')
    expect(source.columns).toEqual(['a'])
    expect(rowsOf(source)).toEqual([{ a: 'x' }])
  })

  it.each([
    ['a,a\n1,2\n', /line 1: two columns are called "a"/],
    ['a;b\n1;2\n', /seem to be separated by ";": say so/],
    ['', /a\.csv is empty: CSV begins with a line of names/],
    ['a,b\n', /no row in .*a\.csv/],
    ['a,b\n1,"2\n', /line 2 \(byte 4\): a quote begins in this row and does not end/],
  ])('%j is refused', async (text, message) => {
    const error = await csv(text).catch(e => e)
    expect(error).toBeInstanceOf(SourceError)
    expect(error.message).toMatch(message)
  })

  it.each([
    ['a,b\n1\n', /line 2 has 1 cells, and there are 2 columns/],
    ['a,b\n"x"y,1\n', /line 2 behind the quotes of cell 1 there is more text/],
    ['a,b\n\xff,1\n', /line 2 cell 1 is not UTF-8/],
  ])('%j is a bad sample', async (text, message) => {
    writeFiles(root, { 'a.csv': Buffer.from(text, 'latin1') })
    const source = await open({ csv: 'a.csv' })
    expect(() => readRow(source, 0, ['a'])).toThrow(DecodeError)
    expect(() => readRow(source, 0, ['a'])).toThrow(message)
  })
})

describe('jsonl', () => {
  it('has the keys of its first lines as columns, and any other that is asked for', async () => {
    const lines = Array.from({ length: 1200 }, (_, i) =>
      JSON.stringify(i < 1100 ? { a: i } : { a: i, late: i }),
    )
    writeFiles(root, { 'a.jsonl': lines.join('\n') })
    const source = await open({ jsonl: { path: 'a.jsonl' } })
    expect(source.columns).toEqual(['a'])
    expect(readRow(source, 1150, ['late', 'a'])).toEqual({ late: 1150, a: 1150 })
    expect(source.layout?.()?.schema).toEqual([{ name: 'a', type: 'int, by the first rows' }])
  })

  it('tells the types of its first lines', async () => {
    const rows = [
      { i: 1, f: 1, t: 'a', b: true, l: [1, 2], n: [[1], [0.5]], o: { w: 1 }, m: 1, e: [] },
      { i: 2, f: 0.5, t: null, b: false, l: [3], n: [], o: {}, m: 'x', e: [], late: null },
    ]
    // Depth that would end a walk without a limit, and a line that is no object.
    const deep = `{"deep": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    writeFiles(root, { 'a.jsonl': [...rows.map(row => JSON.stringify(row)), deep, '[1]'].join('\n') })
    const source = await open({ jsonl: 'a.jsonl' })
    const types = Object.fromEntries(source.layout?.()?.schema.map(({ name, type }) => [name, type]) ?? [])
    const reported = (type: string): string => `${type}, by the first rows`
    expect(types).toEqual({
      i: reported('int'),
      f: reported('float'),
      t: reported('text'),
      b: reported('bool'),
      l: reported('list<int>'),
      n: reported('list<list<float>>'),
      o: reported('object'),
      m: reported('int or text'),
      e: reported('list'),
      late: 'JSON',
      deep: reported('list<list<list<list<list<list<list>>>>>>'),
    })
  })

  it('has the columns of its first lines, of however many pieces the file is read', async () => {
    const text = 'x'.repeat(1000)
    const lines = Array.from({ length: 9000 }, (_, i) => JSON.stringify(i < 4000 ? { a: i, text } : [text]))
    writeFiles(root, { 'a.jsonl': lines.join('\n') })
    expect((await open({ jsonl: 'a.jsonl' })).columns).toEqual(['a', 'text'])
  })

  it('names the line of a bad sample', async () => {
    writeFiles(root, { 'a.jsonl': '{"a": 1}\n\n{"a": 1' })
    const source = await open({ jsonl: 'a.jsonl' })
    expect(() => readRow(source, 1, ['a'])).toThrow(/^line 3 is no JSON: at byte 7 of the row a comma/)
  })
})

describe('the index', () => {
  const sidecar = (): string => join(root, '.a.txt.millrace')

  it('is used as long as the file is the same, or a copy', async () => {
    writeFiles(root, { 'a.txt': 'x\ny\n' })
    await open({ text: 'a.txt' })
    expect(existsSync(sidecar())).toBe(true)
    const { atime, mtime } = { atime: new Date(1e12), mtime: new Date(1e12) }
    utimesSync(join(root, 'a.txt'), atime, mtime)
    await open({ text: 'a.txt' })
    expect(notices).toEqual([
      expect.stringMatching(/is rebuilt: the file was changed after the index was made/),
    ])
    copyFileSync(join(root, 'a.txt'), join(root, 'b.txt'))
    copyFileSync(join(root, 'b.txt'), join(root, 'a.txt'))
    utimesSync(join(root, 'a.txt'), atime, mtime)
    notices.length = 0
    expect((await open({ text: 'a.txt' })).count).toBe(2)
    expect(notices).toEqual([])
  })

  it('is made anew where the rows are read in another way', async () => {
    writeFiles(root, { 'a.txt': '"x\n\ny"\n' })
    expect((await open({ text: 'a.txt' })).count).toBe(3)
    expect((await open({ text: { path: 'a.txt', blankLines: 'skip' } })).count).toBe(2)
    expect((await open({ csv: { path: 'a.txt', header: false } })).count).toBe(1)
    expect(notices[0]).toMatch(/is rebuilt: it was made to be read in another way/)
  })

  it('of a file that grew, or was cut short, is made anew', async () => {
    writeFiles(root, { 'a.txt': 'x\ny\n' })
    await open({ text: 'a.txt' })
    appendFileSync(join(root, 'a.txt'), 'z')
    expect(texts(await open({ text: 'a.txt' }))).toEqual(['x', 'y', 'z'])
    truncateSync(join(root, 'a.txt'), 1)
    expect(texts(await open({ text: 'a.txt' }))).toEqual(['x'])
  })

  it('is not believed where it is damaged', async () => {
    writeFiles(root, { 'a.txt': 'x\ny\n' })
    await open({ text: 'a.txt' })
    writeFileSync(sidecar(), 'nonsense')
    expect(texts(await open({ text: 'a.txt' }))).toEqual(['x', 'y'])
  })
})

describe('files that are something else', () => {
  it.each([
    ['bzip2', Buffer.from('425a683931415926535900', 'hex'), 'compressed with bzip2: unpack it (bunzip2'],
    ['xz', Buffer.from('fd377a585a000004', 'hex'), 'compressed with xz'],
    ['lz4', Buffer.from('04224d186440a7', 'hex'), 'compressed with lz4'],
    ['zip', Buffer.from('504b030414000000', 'hex'), 'a zip archive'],
    ['Parquet', Buffer.from('PAR1\x15\x04'), 'of the format "parquet": use the source of that name'],
    ['Arrow', Buffer.from('ARROW1\0\0'), 'of the format "arrow": use the source of that name'],
    ['UTF-16', Buffer.from('{"a": 1}', 'utf16le'), 'UTF-16, or no text: save it as UTF-8'],
  ])('%s', async (_, bytes, why) => {
    writeFileSync(join(root, 'a.txt'), bytes)
    for (const kind of ['text', 'jsonl', 'csv'])
      await expect(open({ [kind]: 'a.txt' } as unknown as SourceJson)).rejects.toThrow(`a.txt is ${why}`)
  })

  it('text that begins with the same letters is text', async () => {
    writeFiles(root, { 'a.txt': 'PAR1 and ARROW1\n', 'b.txt': 'BZh9 is no bzip2\n' })
    expect(texts(await open({ text: ['a.txt', 'b.txt'] }))).toEqual(['PAR1 and ARROW1', 'BZh9 is no bzip2'])
  })

  it.each(['[{"a": 1},\n{"a": 2}]', '{\n  "a": 1\n}\n', 'a,b\n1,2\n'])('%j is no JSON lines', async text => {
    writeFiles(root, { 'a.jsonl': text })
    await expect(open({ jsonl: 'a.jsonl' })).rejects.toThrow(/a\.jsonl: its first rows are no JSON objects/)
    writeFiles(root, { 'b.jsonl': '{"a": 3}' })
    expect((await open({ jsonl: '*.jsonl' })).columns).toEqual(['a'])
  })
})

it('keys of rows with numbers that only Python writes are columns', async () => {
  writeFiles(root, { 'a.jsonl': '{"a": NaN, "b": [1, -Infinity], "c": "a \\"NaN\\" {"}\n{"a": 1}' })
  const source = await open({ jsonl: 'a.jsonl' })
  expect(source.columns).toEqual(['a', 'b', 'c'])
  const types = source.layout?.()?.schema.map(({ type }) => type.replace(', by the first rows', ''))
  expect(types).toEqual(['float', 'list<float>', 'text'])
  expect(readRow(source, 0, ['a', 'c'])).toEqual({ a: Number.NaN, c: 'a "NaN" {' })
})

it('the columns of a first row of many megabytes are known', async () => {
  writeFiles(root, { 'a.jsonl': `{"a": "${'x'.repeat(9 << 20)}", "b": 1}\n{"c": 1}\n` })
  const source = await open({ jsonl: 'a.jsonl' })
  expect(source.columns).toEqual(['a', 'b'])
  expect(readRow(source, 0, ['b'])).toEqual({ b: 1 })
})

it('an integer of very many digits is refused before it takes long', async () => {
  const digits = '7'.repeat(5000)
  writeFiles(root, { 'a.jsonl': `{"a": ${digits}, "b": [${digits}], "c": 1}`, 'a.csv': `a\n${digits}\n` })
  const source = await open({ jsonl: 'a.jsonl' })
  expect(() => readRow(source, 0, ['a'])).toThrow('line 1 has an integer of 5000 digits: write it as text')
  expect(() => readRow(source, 0, ['b'])).toThrow('an integer of 5000 digits')
  expect(readRow(source, 0, ['c'])).toEqual({ c: 1 })
  const table = await open({ csv: 'a.csv' })
  expect(() => readRow(table, 0, ['a'])).toThrow('it is an integer of 5000 digits')
})
