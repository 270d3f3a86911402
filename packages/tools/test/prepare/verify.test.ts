import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { normalizeFeed } from '../../../core/define/normalize.js'
import { example, tfrecordFile } from '../../../formats/test/tfrecord/write-records.js'
import { TarWriter } from '../../prepare/pack/tar-writer.js'
import { verify } from '../../prepare/verify/verify.js'
import { jpeg, millrace, pictureFolder, temporary } from './helpers.js'

let folder: string
let pictures: string
let shard: string

/** What was planted in the folder, and what is to be said about it. */
const PLANTED: Record<string, [bytes: Uint8Array, cause: RegExp]> = {
  'empty.jpg': [new Uint8Array(0), /empty|no bytes|0 bytes|picture|image/i],
  'text.jpg': [Buffer.from('this is no picture at all, it only says so'), /picture|image|format/i],
  'torn.jpg': [jpeg(5, 64).slice(0, 900), /./],
}

beforeAll(() => {
  folder = temporary()
  pictures = join(folder, 'pictures')
  pictureFolder(pictures, ['ant', 'bee'], 6)
  for (const [name, [bytes]] of Object.entries(PLANTED)) writeFileSync(join(pictures, 'bee', name), bytes)

  shard = join(folder, 'shard.tar')
  const writer = new TarWriter(shard)
  writer.add('0', { jpg: jpeg(1), cls: Buffer.from('1') })
  writer.add('1', { jpg: jpeg(2), cls: Buffer.from('seven') })
  writer.add('2', { jpg: jpeg(3).slice(0, 300), cls: Buffer.from('2') })
  writer.add('3', { jpg: jpeg(4), cls: Buffer.from('3'), json: Buffer.from('{"a": ') })
  writer.add('4', { jpg: jpeg(4) })
  writer.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('verify', () => {
  it('finds exactly the planted files, and says what is wrong with each', async () => {
    const { samples, bad } = await verify({ folder: pictures }, { root: folder, workers: 0 })
    expect(samples).toBe(15)
    expect(bad.map(({ file }) => file).sort()).toEqual(
      Object.keys(PLANTED)
        .map(name => join(pictures, 'bee', name))
        .sort(),
    )
    for (const { file, column, stage, cause } of bad) {
      expect({ column, stage }).toEqual({ column: 'image', stage: 'decode' })
      expect(cause).toMatch(PLANTED[file!.slice(file!.lastIndexOf('/') + 1)][1])
    }
  })

  it('goes by the types that a format tells, not by the names of columns', async () => {
    const rows = [0, 1].map(i =>
      example({
        id: `n0${i}`,
        label: `cat`,
        json: 'no JSON',
        npy: 'x',
        image: i === 0 ? jpeg(1) : 'no picture',
      }),
    )
    writeFileSync(join(folder, 'a.tfrecord'), tfrecordFile(rows))
    const { bad } = await verify({ tfrecord: 'a.tfrecord' }, { root: folder, workers: 0 })
    expect(bad.map(({ row, column }) => [row, column])).toEqual([[1, 'image']])
  })

  it('looks into the files of a list, whatever its columns are called', async () => {
    const names = ['ant/0001.jpg', ...Object.keys(PLANTED).map(name => `bee/${name}`)]
    for (const path of ['file', 'path', 'where']) {
      const list = join(pictures, `by-${path}.csv`)
      writeFileSync(list, `${path},label,id\n${names.map(name => `${name},a cat,`).join('\n')}\n`)
      const { bad, samples } = await verify({ files: { list, path } }, { root: folder, workers: 0 })
      expect([samples, bad.map(({ row, column }) => [row, column])]).toEqual([
        4,
        [
          [1, 'jpg'],
          [2, 'jpg'],
          [3, 'jpg'],
        ],
      ])
    }
    const { code, stdout } = await millrace('inspect', join(pictures, 'by-path.csv'), '--json')
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({
        samples: 4,
        columns: ['image', 'label', 'id', 'path'].map(name => expect.objectContaining({ name })),
        classes: [{ label: 'a cat', samples: 4 }],
      }),
    ])
  })

  it('looks into every column of a shard, and names the offset', async () => {
    const { bad } = await verify({ tar: shard }, { root: folder, workers: 0 })
    expect(bad.map(({ row, column }) => [row, column])).toEqual([
      [1, 'cls'],
      [2, 'jpg'],
      [3, 'json'],
    ])
    expect(bad[0].cause).toContain('"seven"')
    expect(bad[0].file).toBe(shard)
    expect(bad[1].offset).toBeGreaterThan(bad[0].offset!)
    expect(bad[2].id).toBe('shard.tar:3')
  })

  it('asks for what the fields of a feed need, and for nothing else', async () => {
    const feed = normalizeFeed(
      {
        source: { tar: shard },
        fields: {
          label: { from: 'cls', as: 'int' },
          name: { from: 'json|jpg', as: 'bytes', ragged: { max: 10_000 } },
        },
        batch: 2,
      },
      folder,
    )
    const { bad } = await verify(feed.source, { root: folder, workers: 0, fields: feed.fields })
    expect(bad.map(({ row }) => row)).toEqual([1, 4])
    expect(bad[1].cause).toContain('no column "cls"')
  })

  it('exits with 1, names the culprits on stdout, and does the same in threads', async () => {
    const text = await millrace('verify', pictures)
    expect(text.code).toBe(1)
    for (const name of Object.keys(PLANTED)) expect(text.stdout).toContain(`bee/${name}`)
    expect(text.stdout).toContain('15 samples')
    expect(text.stdout).toContain('3 bad samples')
    const json = JSON.parse((await millrace('verify', pictures, '--json', '--workers', '2')).stdout)
    expect(json).toMatchObject({ samples: 15, badSamples: 3 })
    const good = join(folder, 'good')
    mkdirSync(good)
    pictureFolder(good, ['ant'], 3)
    expect(await millrace('verify', good)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('all good'),
    })
  })
})
