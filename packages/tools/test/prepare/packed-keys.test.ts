/** Packing keeps every sample's key, so `split` gives the same parts of a folder, its shards and their repacks. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { tarFile } from '../../../../test/support/tar.js'
import type { SourceJson, SplitJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { readRow } from '../../../core/test/source/conformance.js'
import { fileKey } from '../../../formats/shared/file-key.js'
import { splitName } from '../../../formats/tar/samples.js'
import { nameOf } from '../../prepare/pack/keys.js'
import { pack } from '../../prepare/pack/pack.js'
import type { Division } from '../../prepare/pack/plan.js'

let root: string
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, '.cache')
})

const open = async (json: SourceJson) => attachSource(await openSource(json, { root, wanted: ['cls'] }))

/** Keys with the bytes that belong to them. */
async function contents(json: SourceJson): Promise<string[]> {
  const source = await open(json)
  return Array.from({ length: source.count }, (_, row) => {
    const sample = readRow(source, row, ['image', 'jpg', 'png', 'file'])
    const bytes = sample.image ?? sample.jpg ?? sample.png ?? sample.file
    return `${source.key(row)}: ${Buffer.from(bytes as Uint8Array)}`
  })
}

async function repack(from: SourceJson, out: string, shards: number, shuffle?: number): Promise<SourceJson> {
  const division: Division = { shards }
  await pack(from, {
    out: join(root, out),
    prefix: 'x',
    division,
    workers: 0,
    ...(shuffle !== undefined && { shuffle }),
  })
  return { tar: join(root, out, 'x-*.tar') }
}

/** A folder, its shards, and those packed again in three ways. */
async function generations(folder: SourceJson): Promise<SourceJson[]> {
  const shards = await repack(folder, 'shards', 3)
  return [
    folder,
    shards,
    await repack(folder, 'shuffled', 5, 3),
    await repack(shards, 'again', 1),
    await repack(await repack(shards, 'mixed', 4, 7), 'mixed again', 2, 8),
  ]
}

describe('split and pack agree', () => {
  const parts: Omit<SplitJson, 'source'>[] = [
    { parts: { train: 0.8, val: 0.2 }, take: 'val' },
    { parts: { train: 0.8, val: 0.2 }, take: 'train', seed: 5 },
    { folds: 4, take: { not: 2 } },
    { parts: { train: 0.7, val: 0.3 }, take: 'val', stratifyBy: 'label' },
  ]

  it('on a folder, its shards and their repacks, with and without shuffle', async () => {
    const names = [
      'plain.jpg',
      'with.dots.jpg',
      'with space.png',
      'ünïcode.jpg',
      'UPPER.JPG',
      'twice.jpg',
      'twice.png',
    ]
    const files: Record<string, string> = {}
    for (const folder of ['cat', 'dog', 'v1.5', '__meta__', 'a/b'])
      for (let i = 0; i < 12; i++)
        for (const name of names) files[`f/${folder}/${i}/${name}`] = `${folder} ${i} ${name}`
    writeFiles(root, files)
    const all = await generations({ folder: join(root, 'f') })
    const wanted = (await contents(all[0])).sort()
    expect(new Set(wanted).size).toBe(5 * 12 * 7)
    for (const json of all) expect((await contents(json)).sort()).toEqual(wanted)
    for (const part of parts) {
      const divided = await Promise.all(
        all.map(async source => {
          const stratifyBy = part.stratifyBy && ('tar' in source ? 'cls' : 'label')
          return contents({ split: { source, ...part, ...(stratifyBy && { stratifyBy }) } })
        }),
      )
      expect(divided[0].length).toBeGreaterThan(60)
      for (const keys of divided) expect(keys.sort()).toEqual(divided[0].sort())
    }
  })

  it('on shards whose keys come back in other shards', async () => {
    for (const shard of ['a', 'b', 'c']) {
      const entries = Array.from({ length: 40 }, (_, i) => ({ name: `k${i}.jpg`, data: `${shard} ${i}` }))
      writeFileSync(join(root, `${shard}.tar`), tarFile(entries))
    }
    const before: SourceJson = { tar: join(root, '{a,b,c}.tar') }
    const after = await repack(await repack(before, 'one', 1, 4), 'two', 3, 5)
    expect((await contents(after)).sort()).toEqual((await contents(before)).sort())
    const val = (source: SourceJson): SourceJson => ({
      split: { source, parts: { train: 0.8, val: 0.2 }, take: 'val' },
    })
    expect((await contents(val(after))).sort()).toEqual((await contents(val(before))).sort())
    const ids = await open(after)
    expect(new Set(Array.from({ length: 120 }, (_, row) => ids.id(row))).size).toBe(120)
  })

  it('keeps the keys of shards as they are', async () => {
    const entries = ['k01734', '000042-cat-0007', './x/y', 'd.e/f'].map(key => ({
      name: `${key}.jpg`,
      data: key,
    }))
    writeFileSync(join(root, 'a.tar'), tarFile(entries))
    const source = await open(await repack({ tar: join(root, 'a.tar') }, 'out', 1))
    expect(Array.from({ length: 4 }, (_, row) => source.key(row))).toEqual([
      'k01734',
      '000042-cat-0007',
      './x/y',
      'd.e/f',
    ])
    expect(source.id(0)).toBe('x-0000.tar:k01734')
  })

  it('scans a shard whose DALI index does not know its keys', async () => {
    writeFiles(root, { 'f/c/1.jpg': 'one', 'f/c/1.png': 'two' })
    await repack({ folder: join(root, 'f') }, 'out', 1)
    const tar = readFileSync(join(root, 'out/x-0000.tar'))
    const member = (name: string) => {
      const offset = tar.lastIndexOf(`${name}\0`) + 512
      return `${name.slice(-3)} ${offset} ${name.endsWith('cls') ? 1 : 3} ${name}`
    }
    const lines = ['c/1.cls c/1.jpg', 'c/1~2.cls c/1~2.png'].map(names =>
      names.split(' ').map(member).join(' '),
    )
    writeFiles(root, { 'copy/x.tar': tar, 'copy/x.idx': `v1.2 2\n${lines.join('\n')}\n` })
    const notices: string[] = []
    const context = { root, wanted: [], notice: (text: string) => notices.push(text) }
    const source = attachSource(await openSource({ tar: 'copy/x.tar' }, context))
    expect([source.key(0), source.key(1)]).toEqual(['c/1', 'c/1'])
    expect(notices[0]).toContain('keys that the index lacks')
  })
})

describe('names', () => {
  it('of files lose their extension, and other dots', () => {
    const keys = {
      'cat/1.jpg': 'cat/1',
      'v1.2/a.b.jpg': 'v1.2/a_b',
      README: 'README',
      'x/.a.jpg': 'x/_a',
      'a.': 'a',
    }
    expect(Object.fromEntries(Object.keys(keys).map(path => [path, fileKey(path)]))).toEqual(keys)
  })

  it('are found again by readers, whatever the key', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '.', '/', '_', '\n', 'é', '~') }), key => {
        const name = nameOf(key)
        expect(splitName(`${name}.jpg`)).toEqual({ key: name, extension: 'jpg' })
        expect(name).not.toMatch(/^\/|(^|\/)\.\.\//)
      }),
    )
    for (const key of ['cat/1', 'k01734', './x/y', 'd.e/f', 'with space', 'é']) expect(nameOf(key)).toBe(key)
  })
})

const webdataset = spawnSync('python3', ['-c', 'import webdataset']).status === 0
if (!webdataset) console.warn('python3 has no webdataset: the shards are not read back by it')

it.skipIf(!webdataset)('webdataset reads every sample, the odd ones too', async () => {
  const files: Record<string, string> = {}
  for (const name of [
    '1.jpg',
    '1.png',
    'a.b.jpg',
    'a_b.jpg',
    'é.jpg',
    'with space.jpg',
    `${'long'.repeat(40)}.jpg`,
  ])
    for (const folder of ['cat', 'dog', '__meta__']) files[`f/${folder}/${name}`] = `${folder} ${name}`
  writeFiles(root, files)
  await repack({ folder: join(root, 'f') }, 'out', 2, 1)
  const code = `
import json, sys, webdataset as wds
samples = list(wds.WebDataset([sys.argv[1] + "/x-0000.tar", sys.argv[1] + "/x-0001.tar"], shardshuffle=False))
print(json.dumps([[s["__key__"], (s.get("jpg") or s["png"]).decode(), s["cls"].decode()] for s in samples]))
`
  const read: string[][] = JSON.parse(
    execFileSync('python3', ['-c', code, join(root, 'out')], { encoding: 'utf8' }),
  )
  expect(read.map(([, data]) => data).sort()).toEqual(Object.values(files).sort())
  expect(new Set(read.map(([key]) => key)).size).toBe(read.length)
  for (const [, data, label] of read)
    expect(label).toBe(String(['__meta__', 'cat', 'dog'].indexOf(data.split(' ')[0])))
})
