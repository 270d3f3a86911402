import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tarFile } from '../../../../test/support/tar.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { type RowRead, RowReader } from '../../../core/source/row-reader.js'
import { Reader } from '../../../core/store/reader.js'
import { Stores } from '../../../core/store/stores.js'
import { type PackOptions, pack } from '../../prepare/pack/pack.js'
import { TarWriter } from '../../prepare/pack/tar-writer.js'
import { hashes, jpeg, millrace, pictureFolder, start, temporary } from './helpers.js'

let folder: string
let pictures: string
beforeEach(() => {
  folder = temporary()
  pictures = join(folder, 'pictures')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const packed = (out: string, more: Partial<PackOptions> = {}) =>
  pack(
    { folder: pictures },
    { out: join(folder, out), prefix: 'train', division: { shards: 3 }, workers: 0, ...more },
  )

/** Everything in a source, row by row. */
async function contents(json: SourceJson, columns: [data: string, label: string]) {
  const source = attachSource(await openSource(json, { root: folder, wanted: columns }))
  const rows = new RowReader(source, new Reader(new Stores()))
  return Array.from({ length: source.count }, (_, row) => {
    const { sample } = rows.read(row, columns) as RowRead
    const label = sample[columns[1]]
    return {
      key: source.key(row),
      data: Buffer.from(sample[columns[0]] as Uint8Array),
      label: label instanceof Uint8Array ? Number(Buffer.from(label).toString()) : Number(label),
    }
  })
}

describe('pack', () => {
  it('keeps every byte and label of a folder', async () => {
    pictureFolder(pictures, ['ant', 'bee', 'cat'], 7)
    const result = await packed('out')
    expect(result).toMatchObject({ samples: 21, classes: ['ant', 'bee', 'cat'], reused: 0 })
    expect(
      readdirSync(join(folder, 'out'))
        .filter(name => !name.startsWith('.'))
        .sort(),
    ).toEqual(['classes.json', 'train-0000.tar', 'train-0001.tar', 'train-0002.tar', 'train-shards.json'])
    const before = await contents({ folder: pictures }, ['image', 'label'])
    const after = await contents({ tar: join(folder, 'out/train-{0000..0002}.tar') }, ['jpg', 'cls'])
    expect(after).toEqual(before)
    expect(after.map(sample => sample.key).slice(5, 8)).toEqual([
      'ant/0006',
      'ant/with_dots and space',
      'bee/0001',
    ])
  })

  it('is read through its shard list, whose counts and sizes are right', async () => {
    pictureFolder(pictures, ['ant', 'bee'], 5)
    const { list, shards } = await packed('out', { division: { perShard: 4 } })
    expect(shards.map(shard => shard.samples)).toEqual([4, 4, 2])
    expect(await contents({ tar: list }, ['jpg', 'cls'])).toHaveLength(10)
  })

  it('shuffles by its seed, losing nothing', async () => {
    pictureFolder(pictures, ['ant', 'bee', 'cat'], 10)
    await packed('a', { shuffle: 7 })
    await packed('b', { shuffle: 7 })
    await packed('c', { shuffle: 8 })
    expect(hashes(join(folder, 'a'))).toEqual(hashes(join(folder, 'b')))
    expect(hashes(join(folder, 'a'))).not.toEqual(hashes(join(folder, 'c')))
    const before = await contents({ folder: pictures }, ['image', 'label'])
    const after = await contents({ tar: join(folder, 'a/train-*.tar') }, ['jpg', 'cls'])
    expect(after.map(sample => sample.key)).not.toEqual(after.map(sample => sample.key).sort())
    const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
    expect(after.sort(byKey)).toEqual(before.sort(byKey))
  })

  it('keeps shards below --shard-size', async () => {
    pictureFolder(pictures, ['ant', 'bee'], 20)
    const { shards } = await packed('out', { division: { shardBytes: 20_000 } })
    expect(shards.length).toBeGreaterThan(2)
    for (const { bytes } of shards) expect(bytes).toBeLessThanOrEqual(20_000)
  })

  it('packs plain files of any kind under their own extensions', async () => {
    mkdirSync(pictures)
    writeFileSync(join(pictures, 'a.NPY'), 'one')
    writeFileSync(join(pictures, 'b.txt'), 'two')
    await pack(
      { files: join(pictures, '*') },
      { out: join(folder, 'out'), prefix: 'x', division: { shards: 1 }, workers: 0 },
    )
    const tar = readFileSync(join(folder, 'out/x-0000.tar'), 'latin1')
    expect(tar).toContain('a.npy\0')
    expect(tar).toContain('b.txt\0')
  })

  it('packs the columns of a list as members that are columns again', async () => {
    pictureFolder(pictures, ['ant'], 3)
    const list = join(pictures, 'list.csv')
    const lines = ['0001', '0002', '0001'].map((name, i) => `ant/${name}.jpg,${i + 4},p${i},Some text`)
    writeFileSync(list, `file,label,Patient,note\n${lines.join('\n')}\n`)
    const options = { out: join(folder, 'out'), prefix: 'x', division: { shardBytes: 12_000 }, workers: 0 }
    const { shards } = await pack({ files: { list, path: 'file' } }, options)
    for (const { bytes } of shards) expect(bytes).toBeLessThanOrEqual(12_000)
    const tar: SourceJson = { tar: join(folder, 'out/x-*.tar') }
    const source = attachSource(await openSource(tar, { root: folder, wanted: [] }))
    expect([...source.columns].sort()).toEqual(['cls', 'jpg', 'note', 'patient'])
    expect(
      [0, 1, 2].map(row => [source.key(row), source.index('cls')?.at(row), source.index('patient')?.at(row)]),
    ).toEqual([
      ['ant/0001', 4, 'p0'],
      ['ant/0002', 5, 'p1'],
      ['ant/0001', 6, 'p2'],
    ])
  })

  it('keeps the members of shards that are called as columns of files are', async () => {
    mkdirSync(pictures)
    writeFileSync(
      join(pictures, 'a.tar'),
      tarFile([
        { name: 'k.file', data: 'f' },
        { name: 'k.image', data: 'i' },
        { name: 'k.json', data: '{}' },
      ]),
    )
    const options = { out: join(folder, 'out'), prefix: 'x', division: { shards: 1 }, workers: 0 }
    await pack({ tar: join(pictures, 'a.tar') }, options)
    const tar: SourceJson = { tar: join(folder, 'out/x-0000.tar') }
    expect(attachSource(await openSource(tar, { root: folder, wanted: [] })).columns).toEqual([
      'file',
      'image',
      'json',
    ])
  })

  it('keeps the names of the classes when shards are divided anew, unless their folders disagree', async () => {
    pictureFolder(pictures, ['ant', 'bee'], 4)
    await packed('old')
    const anew = (tar: string | string[], out: string) =>
      pack({ tar }, { out: join(folder, out), prefix: 'train', division: { shards: 2 }, workers: 0 })
    expect((await anew(join(folder, 'old/*.tar'), 'new')).classes).toEqual(['ant', 'bee'])
    expect(readFileSync(join(folder, 'new/classes.json'))).toEqual(
      readFileSync(join(folder, 'old/classes.json')),
    )
    mkdirSync(join(folder, 'other'))
    copyFileSync(join(folder, 'old/train-0000.tar'), join(folder, 'other/x.tar'))
    const both = [join(folder, 'old/train-0001.tar'), join(folder, 'other/x.tar')]
    expect((await anew(both, 'mixed')).classes).toEqual([])
    expect(existsSync(join(folder, 'mixed/classes.json'))).toBe(false)
  })

  it('refuses an empty class as a feed does, and lists classes without a sample where they are named', async () => {
    pictureFolder(pictures, ['ant', 'cow'], 3)
    mkdirSync(join(pictures, 'bee'))
    await expect(packed('out')).rejects.toThrow(/bee holds no picture.*"classes"/)
    const source: SourceJson = { folder: { path: pictures, classes: ['ant', 'bee', 'cow', 'dog'] } }
    const options = { out: join(folder, 'out'), prefix: 'train', division: { shards: 1 }, workers: 0 }
    expect((await pack(source, options)).classes).toEqual(['ant', 'bee', 'cow', 'dog'])
    const labels = await contents({ tar: join(folder, 'out/*.tar') }, ['jpg', 'cls'])
    expect(labels.map(({ label }) => label)).toEqual([0, 0, 0, 2, 2, 2])
  })

  it('refuses folders with different classes: their labels would not mean the same', async () => {
    pictureFolder(pictures, ['ant', 'bee'], 2)
    pictureFolder(join(folder, 'more'), ['bee', 'cow'], 2)
    const source: SourceJson = { concat: [{ folder: pictures }, { folder: join(folder, 'more') }] }
    const options = { out: join(folder, 'out'), prefix: 'x', division: { shards: 1 }, workers: 0 }
    await expect(pack(source, options)).rejects.toThrow(/ant, bee; bee, cow.*the same "classes"/)
  })

  it('makes no folder for a source that is not there', async () => {
    await expect(packed('out')).rejects.toThrow('does not exist')
    expect(existsSync(join(folder, 'out'))).toBe(false)
  })

  it('does nothing twice, and refuses to mix two packs', async () => {
    pictureFolder(pictures, ['ant', 'bee'], 5)
    await packed('out')
    expect((await packed('out')).reused).toBe(3)
    await expect(packed('out', { division: { shards: 2 } })).rejects.toThrow(/of another pack.*--force/)
    expect((await packed('out', { division: { shards: 2 }, force: true })).shards).toHaveLength(2)
    expect(readdirSync(join(folder, 'out')).filter(name => name.endsWith('.tar'))).toHaveLength(2)
    rmSync(join(pictures, 'bee'), { recursive: true })
    await expect(packed('out', { prefix: 'val' })).rejects.toThrow(/lists other classes/)
  })

  it('takes no shard for its own that was made before the data changed, under the same names and sizes', async () => {
    const tar = join(folder, 'a.tar')
    const shard = (labels: string) =>
      writeFileSync(tar, tarFile([...labels].map((data, i) => ({ name: `${i}.cls`, data }))))
    const again = (more = {}) =>
      pack(
        { tar },
        { out: join(folder, 'tars'), prefix: 'train', division: { shards: 1 }, workers: 0, ...more },
      )
    shard('0123')
    utimesSync(tar, 1e9, 1e9)
    await again()
    expect((await again()).reused).toBe(1)
    shard('3210')
    utimesSync(tar, 1e9, 1e9) // the labels alone tell
    await expect(again()).rejects.toThrow(/of another pack \(.*data that changed since.*--force/)
    await again({ force: true })
    const labels = await contents({ tar: join(folder, 'tars/train-0000.tar') }, ['cls', 'cls'])
    expect(labels.map(({ label }) => label)).toEqual([3, 2, 1, 0])

    mkdirSync(join(pictures, 'ant'), { recursive: true })
    const picture = join(pictures, 'ant/1.jpg')
    writeFileSync(picture, jpeg(1))
    utimesSync(picture, 1e9, 1e9)
    await packed('out', { division: { shards: 1 } })
    utimesSync(picture, 1e9, 1e9 + 1)
    await expect(packed('out', { division: { shards: 1 } })).rejects.toThrow(/data that changed since/)
  })

  it('replaces a shard that was cut short', async () => {
    pictureFolder(pictures, ['ant', 'bee'], 5)
    await packed('out')
    const before = hashes(join(folder, 'out'))
    writeFileSync(join(folder, 'out/train-0001.tar'), 'short')
    expect((await packed('out')).reused).toBe(2)
    expect(hashes(join(folder, 'out'))).toEqual(before)
  })
})

describe('a pack that is stopped', () => {
  /** 16 shards of 4 MB, so that there is a middle to be stopped in. */
  const many = () => {
    for (const name of ['ant', 'bee']) {
      mkdirSync(join(pictures, name), { recursive: true })
      for (let i = 0; i < 32; i++)
        writeFileSync(join(pictures, name, `${i}.jpg`), Buffer.alloc(1 << 20, i + name))
    }
  }
  const args = (out: string) => [
    'pack',
    pictures,
    '--out',
    join(folder, out),
    '--shards',
    '16',
    '--workers',
    '1',
  ]
  const shards = (out: string) => {
    try {
      return readdirSync(join(folder, out)).filter(name => name.endsWith('.tar'))
    } catch {
      return []
    }
  }

  it.each([
    ['SIGKILL', null],
    ['SIGINT', 130],
  ] as const)(
    'by %s leaves only whole shards, and ends with the same bytes when started again',
    async (signal, code) => {
      many()
      expect((await millrace(...args('whole'))).code).toBe(0)
      const wanted = hashes(join(folder, 'whole'))

      let left: string[] = []
      for (let attempt = 0; attempt < 5 && (left.length === 0 || left.length === 16); attempt++) {
        rmSync(join(folder, 'part'), { recursive: true, force: true })
        const { child, ended } = start(args('part'))
        while (shards('part').length < 3 && child.exitCode === null)
          await new Promise(resolve => setTimeout(resolve, 1))
        child.kill(signal)
        expect((await ended).code === code || shards('part').length === 16).toBe(true)
        left = shards('part')
      }
      expect(left.length).toBeGreaterThan(0)
      expect(left.length).toBeLessThan(16)
      for (const name of left) expect(hashes(join(folder, 'part'))[name]).toBe(wanted[name])
      expect(readdirSync(join(folder, 'part')).filter(name => name.includes('draft'))).toEqual([])

      const again = await millrace(...args('part'), '--json')
      expect(again.code).toBe(0)
      expect(JSON.parse(again.stdout).reused).toBeGreaterThan(0)
      expect(hashes(join(folder, 'part'))).toEqual(wanted)
      expect(
        readdirSync(join(folder, 'part')).filter(name => name.endsWith('.pack') || name.endsWith('.lock')),
      ).toEqual([])
    },
  )
})

describe('a full disk', () => {
  it('that the plan foresees is told before anything is written, and one that comes later leaves nothing', async ({
    skip,
  }) => {
    const small = join(folder, 'small')
    mkdirSync(small)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', small]).status === 0
    if (!mounted) skip('a small tmpfs can not be mounted here')
    try {
      pictureFolder(pictures, ['ant', 'bee'], 40, 128)
      const { code, stderr } = await millrace('pack', pictures, '--out', small)
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /disk full while writing to .*small: \d+ bytes .* free \d+ bytes or give another --out/,
      )
      expect(readdirSync(small).filter(name => name.endsWith('.tar'))).toEqual([])

      const writer = new TarWriter(join(small, 'a.tar'))
      expect(() => {
        for (let i = 0; i < 100; i++) writer.add(String(i), { bin: new Uint8Array(5 << 20) })
      }).toThrow(/ENOSPC/)
      writer.discard()
      expect(readdirSync(small).filter(name => name.includes('a.tar'))).toEqual([])
    } finally {
      spawnSync('umount', [small])
    }
  })

  it('or a limit on the size of files, in a thread, is told and leaves nothing', async () => {
    pictureFolder(pictures, ['ant', 'bee'], 40, 128)
    const out = join(folder, 'out')
    const { code, stderr } = await start(
      ['pack', pictures, '--out', out, '--shards', '1', '--workers', '1'],
      {
        shell: 'ulimit -f 64',
      },
    ).ended
    expect(stderr).toMatch(/file size limit reached while writing to .*out: raise `ulimit -f`/)
    expect(code).toBe(1)
    expect(readdirSync(out).filter(name => name.includes('.tar'))).toEqual([])
  })
})
