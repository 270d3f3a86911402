import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { NameList } from '../../../formats/shared/walk.js'
import { SourceError } from '../../basics/errors.js'
import type { SourceJson } from '../../define/types.js'
import { attachSource, openSource } from '../../source/registry.js'
import { needOf } from '../../source/row-reader.js'
import type { Source } from '../../source/source.js'

let root: string
const notices: string[] = []
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, '.cache')
  notices.length = 0
})

async function open(json: SourceJson): Promise<Source> {
  return attachSource(await openSource(json, { root, wanted: [], notice: text => notices.push(text) }))
}

async function failure(json: SourceJson): Promise<SourceError> {
  const error = await open(json).catch(e => e)
  expect(error).toBeInstanceOf(SourceError)
  return error
}

const ids = (source: Source): string[] => Array.from({ length: source.count }, (_, row) => source.id(row))
const column = (source: Source, name: string) => ids(source).map((_, row) => source.index(name)?.at(row))

describe('folder', () => {
  it('numbers classes by name and sorts files by whole path, byte by byte', async () => {
    writeFiles(root, {
      'f/b/1.jpg': '',
      'f/b-/2.jpg': '',
      'f/B/3.jpg': '',
      'f/é/4.jpg': '',
      'f/b/z/0.jpg': '',
    })
    const source = await open({ folder: 'f' })
    expect(ids(source)).toEqual(['B/3.jpg', 'b-/2.jpg', 'b/1.jpg', 'b/z/0.jpg', 'é/4.jpg'])
    expect(column(source, 'class')).toEqual(['B', 'b-', 'b', 'b', 'é'])
    expect(column(source, 'label')).toEqual([0, 2, 1, 1, 3])
  })

  it('takes the order of classes from the definition, and names a folder that is not in it', async () => {
    writeFiles(root, { 'f/cat/1.jpg': '', 'f/dog/2.jpg': '' })
    const source = await open({ folder: { path: 'f', classes: ['dog', 'bird', 'cat'] } })
    expect(column(source, 'label')).toEqual([2, 0])
    expect((await failure({ folder: { path: 'f', classes: ['dog', 'cats'] } })).message).toMatch(
      /f\/cat .*mean "cats"/,
    )
    expect((await failure({ folder: { path: 'f', classes: ['dog', 'cat', 'dog'] } })).message).toContain(
      'twice',
    )
  })

  it('refuses a class folder without a picture, and names the way out', async () => {
    writeFiles(root, { 'f/ant/1.jpg': '', 'f/cow/2.jpg': '' })
    mkdirSync(join(root, 'f/bee/deep'), { recursive: true })
    const error = await failure({ folder: 'f' })
    expect(error.message).toMatch(
      /f\/bee holds no picture.*"classes": \["ant","bee","cow"\], or remove the folder/,
    )
    const source = await open({ folder: { path: 'f', classes: ['ant', 'bee', 'cow'] } })
    expect(column(source, 'label')).toEqual([0, 2])
    expect(notices).toEqual([expect.stringContaining('no picture of 1 of 3 classes: bee')])
    writeFiles(root, { 'f/bee/note.txt': '' })
    expect((await failure({ folder: 'f' })).message).toContain('f/bee holds no picture')
  })

  it('has hidden class folders, and hidden folders in them, as torchvision does; not hidden files', async () => {
    writeFiles(root, {
      'f/.b/1.jpg': '',
      'f/a/.deep/2.jpg': '',
      'f/a/3.jpg': '',
      'f/a/._3.jpg': '',
      'f/a/.DS_Store': '',
    })
    const source = await open({ folder: 'f' })
    expect(column(source, 'class')).toEqual(['.b', 'a', 'a'])
    expect(ids(source)).toEqual(['.b/1.jpg', 'a/.deep/2.jpg', 'a/3.jpg'])
    expect(notices).toEqual([
      expect.stringMatching(/f\/\.b holds pictures and is a class though hidden/),
      expect.stringMatching(/1 hidden picture \(such as a\/\._3\.jpg\) left out$/),
    ])
    mkdirSync(join(root, 'f/.ipynb_checkpoints'))
    expect((await failure({ folder: 'f' })).message).toMatch(
      /\.ipynb_checkpoints holds no picture.*"classes": \["\.b","a"\]/,
    )
    // What the message says to write works.
    expect(column(await open({ folder: { path: 'f', classes: ['.b', 'a'] } }), 'label')).toEqual([0, 1, 1])
    expect(column(await open({ folder: { path: 'f', classes: ['a', '.b'] } }), 'label')).toEqual([1, 0, 0])
  })

  it('says so where a label means different classes in two folders', async () => {
    writeFiles(root, { 'f/ant/1.jpg': '', 'f/bee/1.jpg': '', 'g/bee/2.jpg': '', 'h/ant/3.jpg': '' })
    const both = async (...names: string[]) => {
      notices.length = 0
      const json: SourceJson = { concat: names.map(folder => ({ folder })) }
      await openSource(json, { root, wanted: ['label'], notice: text => notices.push(text) })
      return notices
    }
    expect(await both('f', 'g')).toEqual([
      expect.stringMatching(/label 0 is "ant" .* and "bee" .*same "classes"/),
    ])
    expect(await both('f', 'h')).toEqual([])
  })

  it('is a plain list where only hidden folders lie beside the pictures', async () => {
    writeFiles(root, { 'f/1.jpg': '', 'f/.thumbnails/1.jpg': '' })
    const source = await open({ folder: 'f' })
    expect([ids(source), source.index('label')]).toEqual([['1.jpg'], undefined])
  })

  it('counts what it leaves out, every time', async () => {
    writeFiles(root, {
      'f/cat/1.jpg': '',
      'f/cat/2.BMP': '',
      'f/cat/a.txt': '',
      'f/cat/b.TXT': '',
      'f/cat/c.xml': '',
      'f/cat/README': '',
      'f/stray.jpg': '',
      'f/stray2.bmp': '',
    })
    for (let i = 0; i < 2; i++) {
      notices.length = 0
      expect(ids(await open({ folder: 'f' }))).toEqual(['cat/1.jpg', 'cat/2.BMP'])
      expect(notices).toEqual([
        `${root}/f: 2 pictures in no class folder (such as stray.jpg) and ` +
          '4 other files (2 .txt, 1 without extension, 1 .xml) left out',
      ])
    }
  })

  it('is a plain list without class folders: no labels', async () => {
    writeFiles(root, { 'f/b.jpg': '', 'f/a.png': '' })
    mkdirSync(join(root, 'f/empty'))
    const source = await open({ folder: 'f' })
    expect(ids(source)).toEqual(['a.png', 'b.jpg'])
    expect([source.columns, source.index('label')]).toEqual([['image', 'path'], undefined])
  })

  it('names an empty folder and what it looked for', async () => {
    mkdirSync(join(root, 'f/deep'), { recursive: true })
    writeFiles(root, { 'f/deep/x.txt': 'x' })
    const error = await failure({ folder: 'f' })
    expect(error.message).toContain(join(root, 'f'))
    expect(error.message).toContain('.jpg .jpeg .png')
    expect((await failure({ folder: { path: 'f', extensions: ['xyz'] } })).message).toContain('.xyz')
    expect((await failure({ folder: 'nowhere' })).message).toContain('does not exist')
    expect((await failure({ folder: 'f/deep/x.txt' })).message).toContain('is no folder')
  })

  it('notices files that come and go, at any depth, and only then lists again', async () => {
    writeFiles(root, { 'f/cat/1.jpg': '1', 'f/dog/a/2.jpg': '2' })
    expect((await open({ folder: 'f' })).count).toBe(2)
    expect(existsSync(join(root, '.f.millrace'))).toBe(true)
    await open({ folder: 'f' })
    expect(notices).toEqual([])
    writeFileSync(join(root, 'f/dog/a/3.jpg'), '3')
    expect((await open({ folder: 'f' })).count).toBe(3)
    expect(notices[0]).toContain('dog/a')
    mkdirSync(join(root, 'f/new'))
    writeFileSync(join(root, 'f/new/4.jpg'), '4')
    expect(column(await open({ folder: 'f' }), 'class')).toEqual(['cat', 'dog', 'dog', 'new'])
  })

  it('follows links, but not in circles, and names one that leads nowhere', async () => {
    writeFiles(root, { 'f/cat/1.jpg': '1', 'elsewhere/2.jpg': '22' })
    symlinkSync(join(root, 'elsewhere'), join(root, 'f/dog'))
    symlinkSync(join(root, 'f'), join(root, 'f/cat/loop'))
    const source = await open({ folder: 'f' })
    expect(ids(source)).toEqual(['cat/1.jpg', 'dog/2.jpg'])
    expect(needOf(source, 1, ['image']).ranges[0].length).toBe(2)
    expect(notices[0]).toContain('loop')
    symlinkSync(join(root, 'gone.jpg'), join(root, 'f/cat/dead.jpg'))
    expect((await failure({ folder: 'f' })).message).toContain('dead.jpg')
  })
})

describe('files', () => {
  it('takes names, braces and globs, each file once', async () => {
    writeFiles(root, { 'd/a.npy': '', 'd/b.npy': '', 'd/c.txt': '', 'd/e/f.npy': '', 'g.npy': '' })
    expect(ids(await open({ files: 'd/*.npy' }))).toEqual(['a.npy', 'b.npy'])
    expect(ids(await open({ files: ['d/**/*.npy', 'd/a.npy', 'd/{c,c}.txt'] }))).toEqual([
      'a.npy',
      'b.npy',
      'c.txt',
      'e/f.npy',
    ])
    expect(ids(await open({ files: ['d/e/f.npy', 'g.npy'] }))).toEqual(['d/e/f.npy', 'g.npy'])
    expect(ids(await open({ files: 'd/*/f.*' }))).toEqual(['e/f.npy'])
  })

  it('passes over hidden files, unless they are named', async () => {
    writeFiles(root, { 'd/.a.npy': '', 'd/b.npy': '', 'd/.e/f.npy': '' })
    expect(ids(await open({ files: 'd/**/*.npy' }))).toEqual(['b.npy'])
    expect(ids(await open({ files: ['d/.a.npy', 'd/.e/f.npy', 'd/*.npy'] }))).toEqual([
      '.a.npy',
      '.e/f.npy',
      'b.npy',
    ])
  })

  it('names what is missing', async () => {
    writeFiles(root, { 'd/a.npy': '' })
    expect((await failure({ files: ['d/a.npy', 'd/{b,c}.npy'] })).message).toContain(join(root, 'd/b.npy'))
    expect((await failure({ files: 'd/*.npz' })).message).toContain('d/*.npz')
    expect((await failure({ files: 'd' })).message).toContain('no file')
  })

  it('lists again when a file is added', async () => {
    writeFiles(root, { 'd/x/a.npy': '' })
    expect((await open({ files: 'd/**/*.npy' })).count).toBe(1)
    writeFiles(root, { 'd/y/b.npy': '' })
    expect((await open({ files: 'd/**/*.npy' })).count).toBe(2)
  })
})

describe('classes of several feeds', () => {
  const feed: FeedJson = {
    source: { folder: 'train' },
    fields: { label: { from: 'label', as: 'int' }, path: { from: 'path', as: 'text' } },
    batch: 8,
    variants: {
      val: { source: { folder: 'val' } },
      half: { source: { folder: null, subset: { source: { folder: { path: 'val' } }, range: [0, 1] } } },
      test: { source: { folder: 'test' }, fields: { label: null } },
    },
  }
  const labels = (json: FeedJson, options: object = {}): Promise<Record<string, string>> =>
    using(
      json,
      { root, workers: 1, epochs: 1, notice: text => notices.push(text), ...options },
      async loader => {
        const found: Record<string, string> = {}
        for await (const batch of loader) {
          const { path, label } = batch as unknown as { path: string[]; label?: BigInt64Array }
          path.forEach((name, i) => {
            found[name] = String(label?.[i])
          })
        }
        return found
      },
    )

  beforeEach(() => {
    writeFiles(root, { 'train/ant/1.jpg': '', 'train/bee/2.jpg': '', 'train/cow/3.jpg': '' })
    writeFiles(root, { 'val/bee/4.jpg': '', 'val/cow/5.jpg': '', 'test/6.jpg': '' })
  })

  it('are numbered alike in all variants of a definition', async () => {
    const given = { ...feed, source: { folder: { path: 'train', classes: ['cow', 'bee', 'ant'] } } }
    for (const [json, bee, cow] of [
      [feed, '1', '2'],
      [given, '1', '0'],
    ] as const) {
      expect(await labels(json)).toMatchObject({ 'bee/2.jpg': bee, 'cow/3.jpg': cow })
      expect(await labels(json, { variant: 'val' })).toEqual({ 'bee/4.jpg': bee, 'cow/5.jpg': cow })
      expect(await labels(json, { variant: 'half' })).toEqual({ 'bee/4.jpg': bee })
      expect(await labels(json, { variant: 'test' })).toEqual({ '6.jpg': 'undefined' })
    }
    expect(notices.filter(text => text.includes('are others than those'))).toHaveLength(1) // `given` beside `feed`
  })

  it('are refused where train lacks one, or is not there', async () => {
    writeFiles(root, { 'val/dog/7.jpg': '' })
    const refused = (json: FeedJson) => labels(json, { variant: 'val' }).catch(error => error.message)
    expect(await refused(feed)).toMatch(
      /val\/dog is none of the classes of .*\/train, by which labels are numbered/,
    )
    expect(await refused({ ...feed, source: { folder: 'gone' } })).toMatch(
      /val: its classes are numbered as those of .*\/gone, which can't be known: .*gone does not exist.*"classes": \[/,
    )
    // Where no field asks for labels, no numbers are needed.
    const { path } = feed.fields
    expect(await refused({ ...feed, source: { folder: 'gone' }, fields: { path } })).toHaveProperty([
      'dog/7.jpg',
    ])
  })

  it('are told of where a second feed of the process has others', async () => {
    const { variants: _, ...plain } = feed
    await labels(plain)
    notices.length = 0
    await labels({ ...plain, source: { folder: 'val' } })
    expect(notices).toEqual([expect.stringMatching(/the classes of .*\/val are others than those of /)])
    notices.length = 0
    await labels({ ...plain, source: { folder: { path: 'val', classes: 'train' } } })
    expect(notices.filter(text => text.includes('are others'))).toEqual([])
  })
})

it('sorts very many names without one object each', () => {
  const names = new NameList()
  const n = 20_000
  for (let i = 0; i < n; i++) names.add(`${(i * 7919) % n}.jpg`)
  names.sort()
  const expected = Array.from({ length: n }, (_, i) => `${i}.jpg`).sort()
  for (let i = 0; i < n; i += 13) expect(names.at(i)).toBe(expected[i])
})
