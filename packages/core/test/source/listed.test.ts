/** A list of files with labels: every line a sample, every column a column. */
import { appendFileSync, cpSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import type { ListJson } from '../../../formats/files/open-list.js'
import { openTable } from '../../../formats/files/table.js'
import { localText } from '../../../formats/text-lines.js'
import { SourceError } from '../../basics/errors.js'
import type { SourceJson } from '../../define/types.js'
import { attachSource, openSource } from '../../source/registry.js'
import type { Source } from '../../source/source.js'
import { asText, conforms, readRow } from './conformance.js'

let root: string
const notices: string[] = []
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, '.cache')
  notices.length = 0
  writeFiles(root, { 'd/cat/1.jpg': 'one', 'd/dog/2.jpg': 'two!', 'd/dog/3.jpg': 'three' })
})

const open = async (files: ListJson): Promise<Source> =>
  attachSource(
    structuredClone(await openSource({ files }, { root, wanted: [], notice: text => notices.push(text) })),
  )
const failure = async (files: ListJson): Promise<string> => {
  const error = await open(files).catch(e => e)
  expect(error).toBeInstanceOf(SourceError)
  return error.message
}
const rows = (source: Source, ...columns: string[]) =>
  Array.from({ length: source.count }, (_, row) =>
    columns.map(column => {
      const value = readRow(source, row, [column])[column]
      return value === undefined ? undefined : asText(value)
    }),
  )
const indexed = (source: Source, name: string) =>
  Array.from({ length: source.count }, (_, row) => source.index(name)?.at(row))

conforms({
  name: 'a list of files',
  json: { files: { list: 'train.csv', path: 'file' } },
  wanted: ['image', 'label', 'path', 'note'],
  write: folder =>
    writeFiles(folder, {
      'a/1.jpg': 'one',
      'b/2.jpg': 'two',
      'train.csv': 'file,label,note\nb/2.jpg,7,x\na/1.jpg,8,"y, z"\nb/2.jpg,9,\n',
    }),
  change: folder => appendFileSync(join(folder, 'train.csv'), 'a/1.jpg,1,w\n'),
  count: 3,
  first: { image: 'two', label: '7', path: 'b/2.jpg', note: 'x' },
})

describe('a list', () => {
  it('of any of the three kinds says the same', async () => {
    writeFiles(root, {
      'd/a.csv': '\ufefffile,label,name of it\r\ncat/1.jpg,0,"a ""cat"", small"\r\ndog/2.jpg,1,dog\r\n',
      'd/a.tsv': 'file\tlabel\tname of it\ncat/1.jpg\t0\t"a ""cat"", small"\n\ndog/2.jpg\t1\tdog',
      'd/a.jsonl':
        '{"file": "cat/1.jpg", "label": 0, "name of it": "a \\"cat\\", small"}\n{"name of it": "dog", "label": 1, "file": "dog/2.jpg"}\n',
    })
    for (const list of ['d/a.csv', 'd/a.tsv', 'd/a.jsonl']) {
      const source = await open({ list, path: 'file' })
      expect(rows(source, 'image', 'file', 'label', 'name of it', 'path')).toEqual([
        ['one', 'one', '0', 'a "cat", small', 'cat/1.jpg'],
        ['two!', 'two!', '1', 'dog', 'dog/2.jpg'],
      ])
      expect(source.columns).toEqual(['image', 'file', 'label', 'name of it', 'path'])
      expect([indexed(source, 'label'), indexed(source, 'name of it')]).toEqual([
        [0, 1],
        ['a "cat", small', 'dog'],
      ])
      expect([indexed(source, 'path'), indexed(source, 'file'), indexed(source, 'size')]).toEqual([
        ['cat/1.jpg', 'dog/2.jpg'],
        ['cat/1.jpg', 'dog/2.jpg'],
        [3, 4],
      ])
      expect([source.id(0), source.key(0)]).toEqual(['cat/1.jpg', 'cat/1'])
    }
  })

  it('gives its own columns precedence, and the bytes a name that is free', async () => {
    writeFiles(root, { 'd/a.csv': 'path,image,name\ncat/1.jpg,first,Tom\n' })
    const source = await open({ list: 'd/a.csv' })
    expect(rows(source, 'file', 'image', 'name', 'path')).toEqual([['one', 'first', 'Tom', 'cat/1.jpg']])
    writeFiles(root, { 'd/b.csv': 'where,path\ncat/1.jpg,elsewhere\n' })
    expect(rows(await open({ list: 'd/b.csv', path: 'where' }), 'where', 'path')).toEqual([
      ['one', 'elsewhere'],
    ])
  })

  it('keeps the text of numbers, unless a whole one is written as a fraction', async () => {
    writeFiles(root, {
      'd/a.csv': ',path,a,b,c,d\n0,cat/1.jpg,007,3.0,1.5,\n1,dog/2.jpg,12,4.0,2,x\n2,dog/3.jpg,1,,-3e-1,5\n',
    })
    const source = await open({ list: 'd/a.csv' })
    expect(source.columns).toEqual(['image', 'a', 'b', 'c', 'd', 'path'])
    expect(rows(source, 'a', 'b', 'c', 'd')).toEqual([
      ['007', '3', '1.5', ''],
      ['12', '4', '2', 'x'],
      ['1', '', '-3e-1', '5'],
    ])
    expect(['a', 'b', 'c', 'd'].map(name => indexed(source, name))).toEqual([
      [7, 12, 1],
      [3, 4, Number.NaN],
      [1.5, 2, -0.3],
      ['', 'x', '5'],
    ])
  })

  it('has values of JSON that are no text as cells', async () => {
    writeFiles(root, {
      'd/a.jsonl':
        '{"path": "cat/1.jpg", "boxes": [[1, 2, 3, 4]], "hard": true, "none": null}\n{"path": "dog/2.jpg", "hard": false, "late": "x"}\n',
    })
    const source = await open({ list: 'd/a.jsonl' })
    expect(rows(source, 'boxes', 'hard', 'none', 'late')).toEqual([
      ['[[1,2,3,4]]', '1', '', ''],
      ['', '0', '', 'x'],
    ])
    expect(indexed(source, 'hard')).toEqual([1, 0])
  })

  it('keeps every digit of integers that a number would round, and does not compare them as numbers', async () => {
    const large = '9007199254740993'
    writeFiles(root, {
      'd/a.jsonl': `{"path": "cat/1.jpg", "id": ${large}, "all": [-${large}, "${large}", {"x": 1.5}]}\n{"path": "dog/2.jpg", "id": 9007199254740992, "all": 12}\n`,
      'd/b.csv': `path,id\ncat/1.jpg,${large}\ndog/2.jpg,9007199254740992\n`,
    })
    const source = await open({ list: 'd/a.jsonl' })
    expect(rows(source, 'id', 'all')).toEqual([
      [large, `[-${large},"${large}",{"x":1.5}]`],
      ['9007199254740992', '12'],
    ])
    for (const list of [source, await open({ list: 'd/b.csv' })])
      expect(indexed(list, 'id')).toEqual([large, '9007199254740992'])
  })

  it('takes paths relative to the list, to a root, and absolute ones', async () => {
    writeFiles(root, {
      'labels/a.csv': `path\n../d/cat/1.jpg\n${join(root, 'd/dog/2.jpg')}\n`,
      'labels/b.csv': 'path\n./cat//1.jpg\ndog/2.jpg\n',
    })
    const far = await open({ list: 'labels/a.csv', root: 'd' })
    expect([rows(far, 'image'), far.id(0), far.id(1)]).toEqual([
      [['one'], ['two!']],
      'cat/1.jpg',
      'dog/2.jpg',
    ])
    const given = await open({ list: 'labels/b.csv', root: 'd' })
    expect([rows(given, 'image'), given.id(0)]).toEqual([[['one'], ['two!']], 'cat/1.jpg'])
    renameSync(join(root, 'labels'), join(root, 'moved'))
    expect((await open({ list: 'moved/a.csv', root: 'd' })).id(0)).toBe('cat/1.jpg')
  })

  it('may have several columns with paths', async () => {
    writeFiles(root, {
      'd/a.csv': 'img,label,msk\ncat/1.jpg,7,dog/2.jpg\ndog/3.jpg,8,cat/1.jpg\n',
      'd/b.csv': 'image,mask,path\ncat/1.jpg,dog/2.jpg,x\n',
    })
    const source = await open({ list: 'd/a.csv', paths: { image: 'img', mask: 'msk' } })
    expect(rows(source, 'image', 'mask', 'label', 'path', 'jpg')).toEqual([
      ['one', 'two!', '7', 'cat/1.jpg', 'one'],
      ['three', 'one', '8', 'dog/3.jpg', 'three'],
    ])
    expect(source.columns).toEqual(['image', 'label', 'path', 'mask'])
    expect([indexed(source, 'label'), indexed(source, 'msk'), source.key(1)]).toEqual([
      [7, 8],
      ['dog/2.jpg', 'cat/1.jpg'],
      'dog/3',
    ])
    const same = await open({ list: 'd/b.csv', paths: { image: 'image', mask: 'mask' } })
    expect(rows(same, 'image', 'mask', 'path')).toEqual([['one', 'two!', 'x']])
    expect(await failure({ list: 'd/a.csv', paths: { label: 'img' } })).toContain('has a column "label"')
    expect(await failure({ list: 'd/a.csv', paths: { image: 'img', mask: 'label' } })).toMatch(
      /line 2: .*d\/7 is missing.*column "label"/,
    )
    expect(await failure({ list: 'd/a.csv', paths: { image: 'img', mask: 'mks' } })).toContain(
      'has no column "mks"; it has img, label, msk. Name the one with the paths of the files: {"files": {"list": …, "paths": {"mask": "msk"}}}',
    )
  })

  it('may name a file twice', async () => {
    writeFiles(root, { 'd/a.csv': 'path,label\ncat/1.jpg,1\ndog/2.jpg,2\ncat/1.jpg,3\n' })
    const source = await open({ list: 'd/a.csv' })
    expect([0, 1, 2].map(row => source.id(row))).toEqual(['cat/1.jpg', 'dog/2.jpg', 'cat/1.jpg#2'])
    expect(source.key(2)).toBe(source.key(0))
  })

  it('serves where, split, groups and strata', async () => {
    const lines = Array.from({ length: 60 }, (_, i) => `dog/${i}.png,${i % 3},p${i % 10},${i / 2}`)
    for (let i = 0; i < 60; i++) writeFiles(root, { [`d/dog/${i}.png`]: '' })
    writeFiles(root, { 'd/a.csv': `path,label,patient,age\n${lines.join('\n')}\n` })
    const source: SourceJson = { files: { list: 'd/a.csv' } }
    const count = async (json: SourceJson) => (await openSource(json, { root, wanted: [] })).fingerprint.count
    expect(
      await count({ subset: { source, where: { age: { '>=': 20 }, label: [0, 1], patient: 'p1' } } }),
    ).toBe(1)
    const parts = { a: 0.5, b: 0.5 }
    expect(await count({ split: { source, parts, take: 'a', stratifyBy: 'label' } })).toBe(30)
    expect((await count({ split: { source, parts, take: 'a', groupBy: 'patient' } })) % 6).toBe(0)
  })

  it('is read once, and again only when its contents are others', async () => {
    writeFiles(root, { 'd/a.csv': 'path,label\ncat/1.jpg,1\n' })
    const list = join(root, 'd/a.csv')
    utimesSync(join(root, 'd/cat/1.jpg'), 1e9, 1e9) // whole seconds: copies keep no more than milliseconds
    const label = async (files: ListJson = { list: 'd/a.csv' }) => indexed(await open(files), 'label')
    expect(await label()).toEqual([1])
    utimesSync(list, 1e9, 1e9)
    await label()
    cpSync(join(root, 'd'), join(root, 'copy'), { recursive: true, preserveTimestamps: true })
    await label({ list: 'copy/a.csv' })
    expect(notices).toEqual([])
    writeFileSync(list, 'path,label\ncat/1.jpg,2\n')
    utimesSync(list, 1e9, 1e9)
    expect(await label()).toEqual([2])
    expect(notices).toEqual([expect.stringContaining('the list was changed')])
    writeFileSync(join(root, 'd/cat/1.jpg'), 'one and more')
    expect(rows(await open({ list: 'd/a.csv' }), 'image')).toEqual([['one and more']])
    expect(notices[1]).toContain('cat/1.jpg was changed')
  })

  it('names what is wrong, with the line', async () => {
    const wrong = async (text: string | Uint8Array, more: Partial<ListJson> = {}, name = 'a.csv') => {
      writeFiles(root, { [`d/${name}`]: text })
      return failure({ list: `d/${name}`, ...more })
    }
    expect(await wrong('path\ncat/1.jpg\n\nno/1.jpg\ncat\nno/2.jpg\nno/3.jpg\n')).toMatch(
      /a\.csv, line 4: \S*d\/no\/1\.jpg is missing; line 5: \S*d\/cat is no file; line 6: .*, and 1 more.*"path".*"root"/,
    )
    for (const path of ['cat/1.jpg/2.jpg', 'x'.repeat(5000), 'cat/1.jpg\0']) // no file can be called so
      expect(await wrong(`path\n${path}\n`)).toMatch(/a\.csv, line 2: \S* is missing/)
    expect(await wrong('file_name,label\ncat/1.jpg,1\n')).toMatch(
      /no column "path"; it has file_name, label\. .*"path": "file_name"/,
    )
    expect(await wrong('path,label\ncat/1.jpg,1\n,2\n')).toMatch(/line 3: the column "path" is empty/)
    expect(await wrong('path,label\ncat/1.jpg,1,2\n')).toMatch(/line 2: it has 3 cells, the header has 2/)
    expect(await wrong('path,a\ncat/1.jpg,"x"y\n')).toMatch(/line 2: after the quoted cell "x"/)
    expect(await wrong('path,a\ncat/1.jpg,x\ndog/2.jpg,"y\n')).toMatch(
      /line 3: a quote begins here and does not end/,
    )
    expect(await wrong(`path,a\ncat/1.jpg,"y\n${'dog/2.jpg,z\n'.repeat(20_000)}`)).toMatch(
      /line 2: a quote begins/,
    )
    expect(await wrong('path;label\ncat/1.jpg;1\n')).toMatch(/line 1: .*semicolons/)
    expect(await wrong('path,a,a\ncat/1.jpg,1,2\n')).toMatch(/line 1: two columns are called "a"/)
    expect(await wrong('')).toMatch(/is empty/)
    expect(await wrong('path,label\n')).toMatch(/names no file/)
    expect(await wrong('file,label\n')).toMatch(/no column "path"/)
    expect(await wrong(Buffer.from('path\ncaf\xe9.jpg\n', 'latin1'))).toMatch(/not valid UTF-8/)
    expect(await wrong(Buffer.from('\ufeffpath\n', 'utf16le'))).toMatch(/UTF-16/)
    expect(await wrong('{"path": 3\n', {}, 'a.jsonl')).toMatch(/a\.jsonl, line 1: no JSON/)
    expect(await wrong('{"path": "cat/1.jpg"}\n[]\n', {}, 'a.jsonl')).toMatch(
      /line 2: it should be an object/,
    )
    expect(await wrong('x', {}, 'a.xlsx')).toMatch(/\.csv \.tsv \.tab \.jsonl/)
    rmSync(join(root, 'd/a.csv'))
    expect(await failure({ list: 'd/a.csv' })).toMatch(/list \S*a\.csv is missing/)
    expect(await failure({ list: 'd' })).toMatch(/is no file/)
  })
})

it('a table is read back as it was written, whatever is in it', () => {
  const file = join(temporaryFolder(), 't.csv')
  const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r\n', ' ', 'é', '\t', '1') })
  const written = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      (table, crlf) => {
        const lines = [['x', 'y', 'z'], ...table].map(cells => cells.map(written).join(','))
        writeFileSync(file, lines.join(crlf ? '\r\n' : '\n'))
        expect([...openTable(localText(file)).lines()].map(({ cells }) => [...cells])).toEqual(
          table.map(cells => [...cells]),
        )
      },
    ),
  )
})
