/** Sources over a store that is far away give what they give over local files: the same rows, ids, bytes and digests. */
import { rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { retried, SlowStore } from '../../../../test/support/slow-store.mjs'
import { tarFile } from '../../../../test/support/tar.js'
import { ChangedError } from '../../basics/errors.js'
import type { SourceJson } from '../../define/types.js'
import { attachSource, openSource } from '../../source/registry.js'
import { RowReader } from '../../source/row-reader.js'
import type { Manifest, OpenContext } from '../../source/source.js'
import { Reader } from '../../store/reader.js'
import { addStore, Stores } from '../../store/stores.js'

const root = temporaryFolder()
const slow = new SlowStore({ folder: root, latency: 1, errors: 0.05 })
const patient = retried(slow, 100)
const notices: string[] = []

beforeAll(() => addStore('slow', { attach: () => patient }))
beforeEach(() => {
  process.env.MILLRACE_CACHE = join(temporaryFolder(), 'cache')
  notices.length = 0
})

const open = (json: SourceJson, more: Partial<OpenContext> = {}): Promise<Manifest> =>
  openSource(json, { root, wanted: ['cls'], notice: text => notices.push(text), ...more })

/** All that a source gives: every row with its id, key and columns. */
async function contents(manifest: Manifest): Promise<unknown> {
  const source = attachSource(manifest)
  using stores = new Stores()
  const reader = new RowReader(source, new Reader(stores))
  const rows: unknown[] = []
  for (let row = 0; row < source.count; row++) {
    const read = await reader.read(row, source.columns)
    const sample = Object.entries(read.sample).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    ])
    rows.push([source.id(row), source.key(row), Object.fromEntries(sample)])
  }
  return { columns: source.columns, indexed: source.indexed, fingerprint: manifest.fingerprint, rows }
}

/** Opens both ways; what they give must be equal, and the index of the far one lies in the cache folder. */
async function alike(near: SourceJson, far: SourceJson): Promise<void> {
  const local = await open(near)
  const distant = await open(far)
  expect(await contents(distant)).toEqual(await contents(local))
  expect(JSON.stringify(distant)).toContain('slow://')
  const reads = slow.counts.reads
  const again = await open(far)
  expect(again.fingerprint).toEqual(distant.fingerprint)
  expect(notices.filter(text => text.includes('rebuilt'))).toEqual([])
  // What was indexed is not read again.
  expect(slow.counts.reads - reads).toBeLessThan(2)
}

describe('tar shards', () => {
  const shard = (n: number, count = 5): Buffer =>
    tarFile(
      Array.from({ length: count }, (_, i) => [
        { name: `k${n}-${i}.cls`, data: String(i) },
        { name: `k${n}-${i}.txt`, data: `${n} ${i} `.repeat(300 * i) },
      ]).flat(),
    )
  beforeAll(() => {
    writeFiles(root, {
      'tar/a-00.tar': shard(0),
      'tar/a-01.tar': shard(1),
      'tar/b/a-00.tar': shard(2),
      'tar/notes.txt': 'none',
      'tar/shards.json': JSON.stringify({
        __kind__: 'wids-shard-index-v1',
        shardlist: [{ url: 'b/a-00.tar', nsamples: 5 }, { url: 'a-00.tar' }],
      }),
    })
  })

  it.each([
    ['one', 'tar/a-00.tar'],
    ['braces', 'tar/a-{00..01}.tar'],
    ['a glob', 'tar/*.tar'],
    ['a glob at any depth, with names that are relative to the common folder', 'tar/**/*.tar'],
    ['joined', 'tar/a-01.tar::SLOWtar/a-00.tar'],
    ['a list of wids', 'tar/shards.json'],
  ])('by %s', async (_, pattern) => {
    await alike({ tar: pattern.replace('SLOW', '') }, { tar: `slow://${pattern.replace('SLOW', 'slow://')}` })
  })

  it("by DALI's index, in few requests", async () => {
    const names = Array.from({ length: 40 }, (_, i) => `k${i}.txt`)
    writeFileSync(
      join(root, 'dali.tar'),
      tarFile(names.map(name => ({ name, data: Buffer.alloc(600, name) }))),
    )
    const lines = names.map((name, i) => `txt ${i * 1536 + 512} 600 ${name}`)
    writeFileSync(join(root, 'dali.idx'), `v1.2 ${names.length}\n${lines.join('\n')}\n`)
    const before = slow.counts.reads
    await alike({ tar: 'dali.tar' }, { tar: 'slow://dali.tar' })
    expect(notices).toEqual([])
    expect(slow.counts.reads - before).toBeLessThan(names.length + 12)
  })

  it('that are missing, or in no store, say so', async () => {
    await expect(open({ tar: 'slow://tar/none.tar' })).rejects.toThrow(
      /shard slow:\/\/tar\/none\.tar is missing: check the path/,
    )
    await expect(open({ tar: 'slow://tar/x*.tar' })).rejects.toThrow(
      /no file matches "slow:\/\/tar\/x\*\.tar"/,
    )
    await expect(open({ tar: 's3://bucket/a.tar' })).rejects.toThrow(
      /there is no store for s3:\/\/\. There are: local files, slow:\/\//,
    )
    await expect(open({ tar: 'SLOW://tar/a-00.tar' })).rejects.toThrow(/small letters/)
    await expect(open({ tar: ['tar/a-00.tar', 'slow://tar/a-00.tar'] })).rejects.toThrow(
      /several stores.*concat/,
    )
  })

  it('that changed since are indexed anew, and refused during a run', async () => {
    writeFileSync(join(root, 'late.tar'), shard(7))
    const manifest = await open({ tar: 'slow://late.tar' })
    writeFileSync(join(root, 'late.tar'), shard(8, 30))
    await expect(contents(manifest)).rejects.toThrow(ChangedError)
    await expect(contents(manifest)).rejects.toThrow(/slow:\/\/late\.tar changed during the run/)
    expect((await open({ tar: 'slow://late.tar' })).fingerprint.count).toBe(30)
    expect(notices).toEqual([
      expect.stringMatching(/the index of slow:\/\/late\.tar is rebuilt: the shard had/),
    ])
    utimesSync(join(root, 'late.tar'), 1000, 1000)
    const latest = await open({ tar: 'slow://late.tar' })
    expect(notices[1]).toMatch(/another version than the one that was indexed/)
    rmSync(join(root, 'late.tar'))
    await expect(contents(latest)).rejects.toThrow(/changed during the run: it is gone/)
  })

  it('that fail for good are named, with the range', async () => {
    addStore('broken', {
      attach: () => new SlowStore({ folder: root, scheme: 'broken', latency: 0, errors: 1 }),
    })
    await expect(open({ tar: 'broken://tar/a-00.tar' })).rejects.toThrow(
      /broken:\/\/tar\/a-00\.tar.*503 the store is busy/,
    )
  })
})

describe('folders', () => {
  beforeAll(() => {
    writeFiles(root, {
      'pictures/cat/a.jpg': 'cat a',
      'pictures/cat/deep/b.png': 'cat b',
      'pictures/dog/c.JPG': 'dog c',
      'pictures/dog/.hidden.jpg': 'no',
      'pictures/dog/readme.txt': 'no',
      'pictures/stray.jpg': 'no',
      'flat/2.jpg': 'two',
      'flat/1.jpg': 'one',
      // By code points \uff5e comes before the face; by UTF-16 it would not.
      'flat/\uff5e.jpg': 'wave',
      'flat/\u{1f600}.jpg': 'face',
      'empty-class/cat/a.jpg': 'cat',
      'empty-class/dog/readme.txt': 'no picture',
    })
  })

  it.each(['pictures', 'flat', 'pictures/'])('of %s', async path => {
    await alike({ folder: path }, { folder: `slow://${path}` })
    const own = notices.filter(text => text.includes('left out')).map(text => text.split(': ')[1])
    expect(new Set(own).size).toBeLessThan(2)
  })

  it('with classes, and without pictures', async () => {
    const classes = ['dog', 'cat', 'cow']
    await alike({ folder: { path: 'pictures', classes } }, { folder: { path: 'slow://pictures', classes } })
    await expect(open({ folder: 'slow://empty-class' })).rejects.toThrow(
      /slow:\/\/empty-class\/dog holds no picture/,
    )
    await expect(open({ folder: 'slow://tar' })).rejects.toThrow(/no image in slow:\/\/tar/)
    await expect(open({ folder: 'slow://none' })).rejects.toThrow(/nothing in slow:\/\/none/)
  })

  it('that changed are listed anew, and refused during a run', async () => {
    writeFiles(root, { 'late/1.jpg': 'one', 'late/2.jpg': 'two' })
    const manifest = await open({ folder: 'slow://late' })
    writeFiles(root, { 'late/2.jpg': 'two again', 'late/3.jpg': 'three' })
    await expect(contents(manifest)).rejects.toThrow(/slow:\/\/late\/2\.jpg changed during the run/)
    expect((await open({ folder: 'slow://late' })).fingerprint.count).toBe(3)
    expect(notices).toEqual([
      expect.stringMatching(/slow:\/\/late.* is rebuilt: objects were added, removed/),
    ])
  })
})

describe('files', () => {
  it.each([
    ['named ones', ['pictures/cat/a.jpg', 'flat/1.jpg']],
    ['a glob', ['pictures/*/*.jpg']],
    ['globs that overlap, and braces', ['pictures/**/*.jpg', 'pictures/cat/*', 'flat/{1,2}.jpg']],
    ['a pattern below a hidden folder', ['pictures/.*/x', 'pictures/cat/a.jpg']],
  ])('by %s', async (_, patterns) => {
    await alike({ files: patterns }, { files: patterns.map(pattern => `slow://${pattern}`) })
  })

  it('by a glob over all there is', async () => {
    const manifest = await open({ files: 'slow://fl*/*.jpg' })
    expect((await contents(manifest)) as object).toMatchObject({ rows: { length: 4 } })
  })

  it('that are missing, or in several stores, say so', async () => {
    await expect(open({ files: ['slow://flat/1.jpg', 'slow://flat/9.jpg'] })).rejects.toThrow(
      /slow:\/\/flat\/9\.jpg is missing/,
    )
    await expect(open({ files: ['slow://flat/1.jpg', 'flat/1.jpg'] })).rejects.toThrow(
      /local files and slow:\/\/: make a source of each/,
    )
    await expect(open({ files: 'slow://flat/x*' })).rejects.toThrow(/no file matches slow:/)
  })
})

describe('lists of files', () => {
  const csv = (paths: string[]): string =>
    `file,label\n${paths.map((path, i) => `${path},${i}`).join('\n')}\n`
  const list = (name: string, more = {}) => ({ files: { list: name, path: 'file', ...more } })

  beforeAll(() => {
    writeFiles(root, {
      'lists/train.csv': csv(['a/1.jpg', 'b/2.jpg', 'a/1.jpg']),
      'lists/up.csv': csv(['../flat/1.jpg', '../flat/2.jpg']),
      'lists/dots.csv': csv(['slow://lists/../flat/1.jpg']),
      'lists/root.csv': csv(['1.jpg', '2.jpg']),
      'lists/train.jsonl': '{"file": "a/1.jpg", "n": 12345678901234567890}\n',
      'lists/a/1.jpg': 'a one',
      'lists/b/2.jpg': 'b two',
    })
  })

  it.each(['train.csv', 'train.jsonl'])('%s', async name => {
    await alike(list(`lists/${name}`), list(`slow://lists/${name}`))
  })

  it('that name what lies elsewhere', async () => {
    for (const at of ['', 'slow://']) {
      await expect(open(list(`${at}lists/up.csv`))).rejects.toThrow(/up\.csv, line 2: .*leads out of/)
      await expect(open(list(`${at}lists/dots.csv`))).rejects.toThrow(/dots\.csv, line 2: .*leads out of/)
    }
    await alike(list('lists/up.csv', { root: 'flat' }), list('slow://lists/up.csv', { root: 'slow://flat' }))
  })

  it('with a root', async () => {
    await alike(
      list('lists/root.csv', { root: 'flat' }),
      list('slow://lists/root.csv', { root: 'slow://flat' }),
    )
    await alike(list('lists/root.csv', { root: 'flat' }), list('lists/root.csv', { root: 'slow://flat' }))
  })

  it('that are local and name objects', async () => {
    writeFiles(root, {
      'named.csv': csv(['slow://flat/1.jpg', 'slow://lists/a/1.jpg']),
      'same.csv': csv(['flat/1.jpg', 'lists/a/1.jpg']),
      'mixed.csv': csv(['slow://flat/1.jpg', 'flat/1.jpg']),
    })
    await expect(open(list('named.csv'))).rejects.toThrow('"root": "slow://" would do')
    await alike(list('same.csv'), list('named.csv', { root: 'slow://' }))
    await expect(open(list('mixed.csv'))).rejects.toThrow(/mixed\.csv names local files and slow:\/\//)
  })

  it('whose files are missing or changed say so', async () => {
    writeFiles(root, { 'gone/list.csv': csv(['x.jpg', 'y.jpg']), 'gone/x.jpg': 'x', 'gone/y.jpg': 'y' })
    const manifest = await open(list('slow://gone/list.csv'))
    writeFileSync(join(root, 'gone/x.jpg'), 'x again')
    await expect(contents(manifest)).rejects.toThrow(ChangedError)
    await open(list('slow://gone/list.csv'))
    expect(notices).toEqual([expect.stringMatching(/rebuilt: slow:\/\/gone\/x\.jpg was changed/)])
    writeFileSync(join(root, 'gone/list.csv'), csv(['y.jpg', 'x.jpg']))
    await open(list('slow://gone/list.csv'))
    expect(notices[1]).toMatch(/rebuilt: the list was changed/)
    rmSync(join(root, 'gone/x.jpg'))
    await expect(open(list('slow://gone/list.csv'))).rejects.toThrow(
      /list\.csv, line 3: slow:\/\/gone\/x\.jpg is missing/,
    )
    await expect(open(list('slow://gone/none.csv'))).rejects.toThrow(
      /the list slow:\/\/gone\/none\.csv is missing/,
    )
  })
})
