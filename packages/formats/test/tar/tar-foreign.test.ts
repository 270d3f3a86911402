/** Indexes and lists that others made, wrong in any way: they change nothing, or are refused with a word. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { paxRecords, type TarEntry, tarFile } from '../../../../test/support/tar.js'
import { SourceError } from '../../../core/basics/errors.js'
import { Stores } from '../../../core/store/stores.js'
import { readDaliIndex } from '../../tar/foreign.js'
import { findShards } from '../../tar/paths.js'
import { SampleColumns } from '../../tar/samples.js'
import { scanTar } from '../../tar/scan.js'

const SAMPLES = 6
const root = temporaryFolder()
const shard = join(root, 'a.tar')
const entries: TarEntry[] = Array.from({ length: SAMPLES }, (_, i) => [
  { name: `k${i}.cls`, data: String(i) },
  ...(i === 2 ? [{ name: 'folder/', type: '5' }] : []),
  ...(i === 4 ? [{ name: 'pax', type: 'x', data: paxRecords({ mtime: '1.5' }) }] : []),
  { name: `k${i}.jpg`, data: Buffer.alloc(700 + i, 'p') },
]).flat()
const tar = tarFile(entries)
const stores = new Stores()
const read = async (into: Buffer, position: number) =>
  tar.copy(into, 0, position, Math.min(tar.length, position + into.length))

/** What a scan finds: offsets and sizes as well as names. */
async function scanned(): Promise<unknown> {
  const samples = new SampleColumns(shard)
  await scanTar(read, tar.length, shard, samples)
  return contents(samples)
}

function contents(samples: SampleColumns): unknown {
  const { count, columns, meta } = samples.finish()
  const { offset } = columns
  return {
    count,
    digest: meta.digest,
    offsets: Array.from({ length: offset.length }, (_, i) => 'at' in offset && offset.at(i)),
  }
}

/** DALI's index of the shard. */
const right = (() => {
  let at = 0
  const lines: string[] = []
  for (const { name, data = '', type = '0' } of entries) {
    const size = Buffer.byteLength(data as Buffer)
    const [key, extension] = name.split('.')
    if (type === '0') {
      const words = `${extension} ${at + 512} ${size} ${name}`
      if (extension === 'cls') lines.push(words)
      else lines[Number(key.slice(1))] += ` ${words}`
    }
    at += 512 + Math.ceil(size / 512) * 512
  }
  return `v1.2 ${SAMPLES}\n${lines.join('\n')}\n`
})()

async function asIndex(text: string): Promise<{ found: unknown; notices: string[] }> {
  writeFileSync(join(root, 'a.idx'), text)
  const notices: string[] = []
  const samples = await readDaliIndex({ file: shard, bytes: tar.length }, read, stores, notice =>
    notices.push(notice),
  )
  return { found: samples && contents(samples), notices }
}

test("DALI's index, when it is right, is what a scan finds", async () => {
  expect(await asIndex(right)).toEqual({ found: await scanned(), notices: [] })
})

test("DALI's index, whatever stands in it, is what a scan finds, or is not used", async () => {
  const expected = await scanned()
  const word = fc.constantFrom(
    '0',
    '-1',
    '512',
    '700',
    '1e3',
    '0x2bc',
    '700.5',
    'NaN',
    '9'.repeat(20),
    '',
    ' ',
    '\n',
    'jpg',
    'k1.jpg',
    '\0',
  )
  const change = fc.tuple(fc.nat(), fc.nat({ max: 12 }), fc.oneof(word, fc.string({ maxLength: 4 })))
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 2 }), async changes => {
      let text = right
      for (const [at, length, put] of changes) {
        const from = at % (text.length + 1)
        text = text.slice(0, from) + put + text.slice(from + length)
      }
      const { found, notices } = await asIndex(text)
      if (found === undefined) expect(notices).toHaveLength(1)
      else expect(found).toEqual(expected)
    }),
    { seed: 13 },
  )
})

test('every number of the index is compared with the shard', async () => {
  const numbers = [...right.matchAll(/ (\d+)/g)].slice(1)
  for (const { index, 0: text } of numbers) {
    for (const by of [1, -1, 512]) {
      const other = ` ${Number(text) + by}`
      const { found } = await asIndex(right.slice(0, index) + other + right.slice(index + text.length))
      expect(found, `${text} as ${other} at ${index}`).toBeUndefined()
    }
  }
})

test('in a long index, too: no size is taken on trust', async () => {
  const many = Array.from({ length: 300 }, (_, i) => ({ name: `k${i}.jpg`, data: Buffer.alloc(700, 'p') }))
  const whole = tarFile(many)
  const lines = many.map(({ name }, i) => `jpg ${512 + i * 1536} 700 ${name}`)
  const readWhole = async (into: Buffer, position: number) =>
    whole.copy(into, 0, position, Math.min(whole.length, position + into.length))
  const samples = (text: string) => {
    writeFileSync(join(root, 'a.idx'), text)
    return readDaliIndex({ file: shard, bytes: whole.length }, readWhole, stores)
  }
  const index = `v1.2 300\n${lines.join('\n')}\n`
  expect((await samples(index))?.count).toBe(300)
  expect(await samples(index.replace('700 k6.jpg', '699 k6.jpg'))).toBeUndefined()
})

test('a shard list of wids is shards, or a SourceError', async () => {
  writeFileSync(shard, tar)
  const list = join(root, 'list.json')
  const value = fc.oneof(
    fc.constantFrom<unknown>(
      'a.tar',
      `file://${shard}`,
      'file://elsewhere/a.tar',
      'pipe:cat',
      's3://b/a.tar',
      '',
      'a\0.tar',
      '.',
    ),
    fc.constantFrom<unknown>(SAMPLES, tar.length, -1, 0.5, 1e300, null, true, [], {}, '7'),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const entry = fc.record({ url: value, nsamples: value, filesize: value }, { requiredKeys: ['url'] })
  const file = fc.oneof(
    fc
      .record({
        shardlist: fc.oneof(
          fc.array(fc.oneof({ weight: 5, arbitrary: entry }, value), { maxLength: 4 }),
          value,
        ),
      })
      .map(o => JSON.stringify(o)),
    fc.jsonValue().map(o => JSON.stringify(o)),
    fc.string(),
    fc.constant('['.repeat(20_000)),
  )
  await fc.assert(
    fc.asyncProperty(file, async text => {
      writeFileSync(list, text)
      try {
        for (const found of await findShards(list, root, stores)) expect(found.file).toBe(shard)
      } catch (error) {
        if (!(error instanceof SourceError)) throw error
      }
    }),
    { seed: 13 },
  )
})

test('a shard list that is too long is not read', async () => {
  writeFileSync(join(root, 'long.json'), Buffer.alloc((16 << 20) + 1, ' '))
  await expect(findShards('long.json', root, stores)).rejects.toThrow(
    /long\.json has 16777217 bytes: a shard list of wids has/,
  )
})

test('a name for all members at once does not multiply', async () => {
  const named = tarFile([
    { name: 'g', type: 'g', data: paxRecords({ path: `${'k'.repeat(5000)}.jpg` }) },
    ...Array.from({ length: 3 }, () => ({ name: 'a.jpg', data: 'x' })),
  ])
  const readNamed = async (into: Buffer, position: number) =>
    named.copy(into, 0, position, Math.min(named.length, position + into.length))
  await expect(scanTar(readNamed, named.length, 'x.tar', new SampleColumns('x.tar'))).rejects.toThrow(
    /x\.tar: a name of 5004 characters/,
  )
})
