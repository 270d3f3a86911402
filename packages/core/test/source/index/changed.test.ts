/** Data that change after they were indexed: before a feed is opened, and while it runs. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { type TarEntry, tarFile } from '../../../../../test/support/tar.js'
import { LOOKED_AT } from '../../../../formats/files/file-list.js'
import { ChangedError } from '../../../basics/errors.js'
import type { SourceJson } from '../../../define/types.js'
import { disownIndexOf } from '../../../source/index/trust.js'
import { attachSource, openSource } from '../../../source/registry.js'
import { type RowRead, RowReader } from '../../../source/row-reader.js'
import type { OpenContext, Source } from '../../../source/source.js'
import { Reader } from '../../../store/reader.js'
import { Stores } from '../../../store/stores.js'

let root: string
const notices: string[] = []
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, '.cache')
  notices.length = 0
})

async function open(json: SourceJson, more: Partial<OpenContext> = {}): Promise<Source> {
  const context = { root, wanted: [], notice: (text: string) => notices.push(text), ...more }
  return attachSource(await openSource(json, context))
}

/** Reads rows as a maker does, with files kept open. */
class Rows {
  private readonly rows: RowReader
  constructor(
    readonly source: Source,
    readonly columns: string[],
  ) {
    this.rows = new RowReader(source, new Reader(new Stores()))
  }

  at(row: number): string {
    const { sample } = this.rows.read(row, this.columns) as RowRead
    return this.columns.map(name => Buffer.from(sample[name] as Uint8Array).toString()).join(' ')
  }

  all(): string[] {
    return Array.from({ length: this.source.count }, (_, row) => this.at(row))
  }
}

const rows = async (json: SourceJson, columns: string[]) => new Rows(await open(json), columns)

/** Samples of a label and a body that names it. */
const shard = (labels: readonly number[]): TarEntry[] =>
  labels.flatMap((label, i) => [
    { name: `k${i}.cls`, data: String(label) },
    { name: `k${i}.txt`, data: `label ${label} `.padEnd(100, '.') },
  ])

const tar = (name: string, labels: readonly number[]): void =>
  writeFileSync(join(root, name), tarFile(shard(labels)))

/** Gives a file an old time, as reproducible builds do. */
const old = (name: string): void => utimesSync(join(root, name), 1000, 1000)

const LABELS = Array.from({ length: 100 }, (_, i) => i % 10)
const OTHERS = LABELS.map(label => 9 - label)
const texts = (labels: readonly number[]) => labels.map(l => `${l} ${`label ${l} `.padEnd(100, '.')}`)

describe('files that changed before they are opened', () => {
  it('are read as they are now: grown, shrunk, or of the same size', async () => {
    writeFiles(root, { 'd/1.cls': '7', 'd/2.cls': '1', 'd/3.txt': 'some long text', 'd/4.cls': '' })
    const read = async () => (await rows({ files: 'd/*' }, ['file'])).all()
    expect(await read()).toEqual(['7', '1', 'some long text', ''])
    writeFiles(root, { 'd/2.cls': '10' })
    expect(await read()).toEqual(['7', '10', 'some long text', ''])
    expect(notices).toEqual([
      expect.stringMatching(/is rebuilt: .*d\/2\.cls was changed after the index was made/),
    ])
    writeFiles(root, { 'd/3.txt': 'short', 'd/1.cls': '8', 'd/4.cls': 'no longer empty' })
    expect(await read()).toEqual(['8', '10', 'short', 'no longer empty'])
    expect(notices).toHaveLength(2)
  })

  it('as in a folder of classes', async () => {
    writeFiles(root, { 'd/ant/1.jpg': 'a picture', 'd/bee/2.jpg': 'another' })
    const read = async () => (await rows({ folder: 'd' }, ['image'])).all()
    expect(await read()).toEqual(['a picture', 'another'])
    writeFiles(root, { 'd/bee/2.jpg': 'another that has grown' })
    expect(await read()).toEqual(['a picture', 'another that has grown'])
  })
})

describe('a list too long to be looked at in full', () => {
  const usual = { ...LOOKED_AT }
  afterEach(() => Object.assign(LOOKED_AT, usual))

  it('names a changed file when it is read, and is made anew by the next one who opens it', async () => {
    Object.assign(LOOKED_AT, { all: 10, selected: 3 })
    writeFiles(root, Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`d/${i + 100_000}.txt`, 'x'])))
    await open({ files: 'd/*' })
    writeFiles(root, { 'd/100001.txt': 'y and more' })
    const first = await rows({ files: 'd/*' }, ['file'])
    expect(notices).toEqual([])
    expect(first.at(0)).toBe('x')
    const error = (() => {
      try {
        return first.at(1)
      } catch (error) {
        return error
      }
    })() as ChangedError
    expect(error).toBeInstanceOf(ChangedError)
    expect(error.message).toMatch(
      /100001\.txt changed after it was indexed: it had 1 bytes, now it has 10\..*start again/,
    )
    disownIndexOf(error) // as makers do
    expect((await rows({ files: 'd/*' }, ['file'])).at(1)).toBe('y and more')
    // Where every file is read anyway, every file is looked at.
    writeFiles(root, { 'd/100001.txt': 'z' })
    expect(new Rows(await open({ files: 'd/*' }, { check: 'files' }), ['file']).at(1)).toBe('z')
  })
})

describe('a shard that changed before it is opened', () => {
  it('is indexed anew even if it has the size and the time of the one before', async () => {
    tar('a.tar', LABELS)
    old('a.tar')
    expect((await rows({ tar: 'a.tar' }, ['cls', 'txt'])).all()).toEqual(texts(LABELS))
    const before = statSync(join(root, 'a.tar'))
    tar('b.tar', OTHERS)
    old('b.tar')
    renameSync(join(root, 'b.tar'), join(root, 'a.tar'))
    const after = statSync(join(root, 'a.tar'))
    expect([after.size, after.mtimeMs]).toEqual([before.size, before.mtimeMs])
    expect((await rows({ tar: 'a.tar' }, ['cls', 'txt'])).all()).toEqual(texts(OTHERS))
    expect(notices).toEqual([
      expect.stringContaining('other contents under the same size and time of change'),
    ])

    // In place, so that the inode stays.
    tar('a.tar', LABELS)
    old('a.tar')
    expect((await rows({ tar: 'a.tar' }, ['cls', 'txt'])).all()).toEqual(texts(LABELS))
    expect(notices).toHaveLength(2)
  })

  it('is not scanned again when it was only copied, with its index', async () => {
    tar('data.tar', LABELS)
    writeFiles(root, { 'data/x': '' })
    renameSync(join(root, 'data.tar'), join(root, 'data/data.tar'))
    old('data/data.tar')
    await open({ tar: 'data/data.tar' })
    expect(spawnSync('cp', ['-a', join(root, 'data'), join(root, 'copy')]).status).toBe(0)
    const scanned: string[] = []
    const look = async () =>
      new Rows(
        await open({ tar: 'copy/data.tar' }, { progress: (...reported) => scanned.push(reported[2]) }),
        ['cls', 'txt'],
      )
    const index = join(root, 'copy/.data.tar.millrace')
    const copied = readFileSync(index)
    expect((await look()).all()).toEqual(texts(LABELS))
    expect(scanned).toEqual([])
    expect(notices).toEqual([])
    // The index is bound to the copy now: the next one finds nothing to do.
    const bound = readFileSync(index)
    expect(bound.equals(copied)).toBe(false)
    const { ino } = statSync(index)
    await look()
    expect(statSync(index).ino).toBe(ino)
  })
})

describe('a change during a run', () => {
  it.each(['in place', 'by rename'])('of a shard, %s, is named', async how => {
    for (const i of [0, 1]) tar(`${i}.tar`, LABELS)
    const store = { tar: ['0.tar', '1.tar'] }
    const run = await rows(store, ['txt'])
    expect(run.at(0)).toContain('label 0')
    if (how === 'in place') tar('0.tar', OTHERS)
    else {
      tar('new.tar', OTHERS)
      renameSync(join(root, 'new.tar'), join(root, '1.tar'))
    }
    expect(() => run.at(how === 'in place' ? 1 : 100)).toThrow(ChangedError)
    expect(() => run.at(how === 'in place' ? 1 : 100)).toThrow(
      /[01]\.tar changed during the run: it has another time of change/,
    )
  })

  it('of a shard that keeps its size and time, before it is first read', async () => {
    tar('a.tar', LABELS)
    old('a.tar')
    const run = await rows({ tar: 'a.tar' }, ['txt'])
    tar('a.tar', OTHERS)
    old('a.tar')
    expect(() => run.at(0)).toThrow(/a\.tar changed during the run: it has other contents/)
  })

  it('of a file, and one that is gone, are named', async () => {
    writeFiles(root, { 'd/1.txt': 'one', 'd/2.txt': 'two', 'd/3.txt': '' })
    const run = await rows({ files: 'd/*' }, ['file'])
    writeFiles(root, { 'd/1.txt': 'other', 'd/3.txt': 'grown' })
    rmSync(join(root, 'd/2.txt'))
    expect(() => run.at(0)).toThrow(/1\.txt changed during the run: it had 3 bytes, now it has 5/)
    expect(() => run.at(1)).toThrow(/2\.txt changed during the run: it is gone/)
    expect(() => run.at(2)).toThrow(/3\.txt changed during the run: it had 0 bytes, now it has 5/)
  })

  it('is none where only the mode changes, or a link is added', async () => {
    tar('a.tar', LABELS)
    const run = await rows({ tar: 'a.tar' }, ['txt'])
    run.at(0)
    chmodSync(join(root, 'a.tar'), 0o600)
    expect(spawnSync('ln', [join(root, 'a.tar'), join(root, 'b.tar')]).status).toBe(0)
    expect(run.all()).toEqual(texts(LABELS).map(text => text.slice(2)))
  })
})

describe('what is no regular file', () => {
  const fifo = (name: string) => expect(spawnSync('mkfifo', [join(root, name)]).status).toBe(0)

  it('is refused as a shard, among files, and as an index of DALI', async () => {
    fifo('a.tar')
    await expect(open({ tar: 'a.tar' })).rejects.toThrow(
      /a\.tar is a named pipe \(FIFO\), not a regular file/,
    )
    writeFiles(root, { 'd/ant/1.jpg': 'x' })
    fifo('d/ant/2.jpg')
    await expect(open({ folder: 'd' })).rejects.toThrow(/2\.jpg is a named pipe \(FIFO\), not a regular file/)
    tar('b.tar', LABELS)
    fifo('b.idx')
    expect((await open({ tar: 'b.tar' })).count).toBe(100)
    expect(notices).toEqual([expect.stringContaining('b.idx is not used')])
  })

  it('is refused when it takes the place of a file during a run', async () => {
    writeFiles(root, { 'd/1.txt': 'one', 'd/2.txt': 'two' })
    const run = await rows({ files: 'd/*' }, ['file'])
    rmSync(join(root, 'd/1.txt'))
    fifo('d/1.txt')
    expect(() => run.at(0)).toThrow(/1\.txt: .*no regular file/)
    expect(run.at(1)).toBe('two')
  })
})

it('leaves an index alone that fits, in a copy of a folder too', async () => {
  writeFiles(root, { 'd/ant/1.jpg': 'a', 'd/bee/2.jpg': 'b' })
  await open({ folder: 'd' })
  cpSync(join(root, 'd'), join(root, 'copy'), { recursive: true, preserveTimestamps: true })
  for (const name of ['ant', 'bee', '.']) {
    const { mtime } = statSync(join(root, 'd', name))
    utimesSync(join(root, 'copy', name), mtime, mtime)
  }
  expect(existsSync(join(root, '.d.millrace'))).toBe(true)
  copyFileSync(join(root, '.d.millrace'), join(root, '.copy.millrace'))
  const { mtimeMs } = statSync(join(root, '.copy.millrace'))
  await open({ folder: 'copy' })
  expect(readdirSync(root)).toContain('.copy.millrace')
  expect(mtimeMs).toBeGreaterThan(0)
})
