import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { type TarEntry, tarFile, tarMember } from '../../../../test/support/tar.js'
import { DecodeError, SourceError } from '../../../core/basics/errors.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { needOf } from '../../../core/source/row-reader.js'
import type { Source } from '../../../core/source/source.js'
import { asText, readRow } from '../../../core/test/source/conformance.js'

let root: string
const notices: string[] = []
beforeEach(() => {
  root = temporaryFolder()
  notices.length = 0
})

async function open(tar: string | string[], wanted: string[] = []): Promise<Source> {
  const context = { root, wanted, notice: (text: string) => notices.push(text) }
  return attachSource(structuredClone(await openSource({ tar }, context)))
}

async function failure(tar: string | string[], wanted: string[] = []): Promise<SourceError> {
  const error = await open(tar, wanted).catch(e => e)
  expect(error).toBeInstanceOf(SourceError)
  return error
}

/** n samples: cls and a jpg of 200 bytes. */
function entries(n: number, from = 0): TarEntry[] {
  return Array.from({ length: n }, (_, i) => i + from).flatMap(i => [
    { name: `k${i}.cls`, data: String(i) },
    { name: `k${i}.jpg`, data: `picture ${i}`.padEnd(200) },
  ])
}

const write = (files: Record<string, TarEntry[]>): void =>
  writeFiles(root, Object.fromEntries(Object.entries(files).map(([name, list]) => [name, tarFile(list)])))

const ids = (source: Source): string[] => Array.from({ length: source.count }, (_, row) => source.id(row))
const sidecar = (name: string): string => join(root, `.${name}.millrace`)

describe('samples', () => {
  it('are one range from the first wanted member to the last', async () => {
    write({
      'a.tar': [
        { name: 'x.bin', data: 'b'.repeat(1000) },
        { name: 'x.cls', data: '1' },
        { name: 'x.jpg', data: 'j'.repeat(300) },
        { name: 'x.png', data: 'p'.repeat(400) },
      ],
    })
    const source = await open('a.tar')
    const file = join(root, 'a.tar')
    expect(needOf(source, 0, ['bin', 'png']).ranges).toMatchObject([
      { file, offset: 512, length: 4096 + 400 - 512 },
    ])
    expect(needOf(source, 0, ['jpg']).ranges).toMatchObject([{ file, offset: 3072, length: 300 }])
    expect(needOf(source, 0, ['cls']).ranges).toEqual([])
    expect(asText(readRow(source, 0, ['bin', 'png']).png)).toBe('p'.repeat(400))
    expect(source.where?.(0)).toEqual({ file, offset: 512 })
  })

  it('have ids by shard and key, unique even where keys and shards repeat', async () => {
    write({ 'a/0.tar': entries(1), 'b/0.tar': [...entries(1), ...entries(1, 9), ...entries(1)] })
    expect(ids(await open('a/0.tar'))).toEqual(['0.tar:k0'])
    expect(ids(await open(['a/0.tar', 'b/0.tar']))).toEqual([
      'a/0.tar:k0',
      'b/0.tar:k0',
      'b/0.tar:k9',
      'b/0.tar:k0#2',
    ])
    expect(ids(await open('a/0.tar::a/0.tar'))).toEqual(['0.tar:k0', '0.tar#2:k0'])
  })

  it('give small members from the index, exactly as they are', async () => {
    write({
      'a.tar': [
        { name: '1.cls', data: '007\n' },
        { name: '1.txt', data: ' a\n' },
        { name: '2.cls', data: '-1e2' },
        { name: '2.txt', data: '\ufeffa\n' }, // U+FEFF is no blank
        { name: '3.raw', data: Uint8Array.of(0, 200) },
      ],
    })
    const source = await open('a.tar')
    const { cls } = readRow(source, 0, ['cls'])
    expect(asText(cls)).toBe('007\n')
    ;(cls as Uint8Array)[0] = 65 // a copy: writing to it changes nothing else
    expect(asText(readRow(source, 0, ['cls']).cls)).toBe('007\n')
    expect([0, 1, 2].map(row => source.index('cls')?.at(row))).toEqual([7, -100, Number.NaN])
    expect([0, 1, 2].map(row => source.index('txt')?.at(row))).toEqual(['a', '\ufeffa', ''])
    expect(asText(readRow(source, 2, ['raw']).raw)).toBe('\0\xc8')
    expect(readRow(source, 2, ['cls', 'txt'])).toEqual({})
  })

  it('read a column from the shard when one of its members is large; labels with garbage are text', async () => {
    write({
      'a.tar': [
        { name: '1.txt', data: 'short' },
        { name: '1.cls', data: '5' },
        { name: '2.txt', data: 'long '.repeat(50) },
        { name: '2.cls', data: 'five?' },
      ],
    })
    const source = await open('a.tar')
    expect(source.index('txt')).toBeUndefined()
    expect(asText(readRow(source, 0, ['txt']).txt)).toBe('short')
    expect(source.index('cls')?.type).toBe('string')
    expect([0, 1].map(row => source.index('cls')?.at(row))).toEqual(['5', 'five?'])
  })

  it('number a column only if all shards do', async () => {
    write({
      'a.tar': [{ name: '1.cls', data: '1' }],
      'b.tar': [{ name: '2.cls', data: 'x' }],
      'c.tar': entries(1),
    })
    expect((await open(['a.tar', 'c.tar'])).index('cls')?.type).toBe('number')
    const mixed = (await open(['a.tar', 'b.tar'])).index('cls')
    expect([mixed?.type, mixed?.at(0), mixed?.at(1)]).toEqual(['string', '1', 'x'])
  })

  it('unpack gzipped members, and say which are broken', async () => {
    const text = '{"big": 1}'.repeat(100)
    write({
      'a.tar': [
        { name: 'x.json.gz', data: gzipSync(text) },
        { name: 'y.json.gz', data: 'nonsense' },
      ],
    })
    const source = await open('a.tar', ['json'])
    expect(source.columns).toEqual(['json'])
    expect(asText(readRow(source, 0, ['json']).json)).toBe(text)
    expect(() => readRow(source, 1, ['json'])).toThrow(DecodeError)
  })

  it('of more digits than a number holds are compared as text', async () => {
    const ids = ['9007199254740992', '9007199254740993']
    write({ 'a.tar': ids.map((data, i) => ({ name: `k${i}.id`, data })) })
    const source = await open('a.tar', ['id'])
    expect([0, 1].map(row => source.index('id')?.at(row))).toEqual(ids)
  })

  it('tell of links that they leave out', async () => {
    write({
      'a.tar': [
        ...entries(1),
        { name: 'l.cls', type: '1' },
        { name: 'l.jpg', type: '2' },
        { name: 'lib', type: '2' },
      ],
      'b.tar': [...entries(1), { name: 'folder/', type: '5' }],
    })
    for (const _ of ['scanned', 'from the index']) {
      notices.length = 0
      expect((await open('{a,b}.tar')).count).toBe(2)
      expect(notices).toEqual([
        expect.stringMatching(/a\.tar: 2 members are links \(such as "l\.cls"\) and left out/),
      ])
    }
  })

  it('go on over empty shards', async () => {
    write({ 'a.tar': [], 'b.tar': entries(2), 'c.tar': [] })
    const source = await open('{a,b,c}.tar')
    expect([source.count, [...source.runs]]).toEqual([2, [0]])
    expect(source.id(1)).toBe('b.tar:k1')
  })

  it('of more than 4 GiB are refused by the name of their largest member', async () => {
    const large = tarMember({ name: 'b.bin', size: 5 * 2 ** 30, binarySize: true })
    const before = Buffer.concat([
      tarMember({ name: 'a.cls', data: '1' }),
      tarMember({ name: 'b.cls', data: '2' }),
      large,
    ])
    const path = join(root, 'a.tar')
    writeFileSync(path, before)
    truncateSync(path, before.length + 5 * 2 ** 30)
    writeFileSync(path, tarFile([{ name: 'b.txt', data: 'text' }]), { flag: 'a' })
    const source = await open('a.tar')
    expect(() => needOf(source, 1, ['bin'])).toThrow(
      `member "b.bin" (5368709120 bytes at byte ${before.length}): what is wanted of its sample at byte ${before.length} of ${path} ` +
        'takes 5368709120 bytes, and at most 4294967296 (4 GiB) are read as one: split it into smaller samples, or ask for other columns',
    )
    expect(asText(readRow(source, 1, ['txt']).txt)).toBe('text')
  })
})

describe('index', () => {
  it('is written once and used again', async () => {
    write({ 'a.tar': entries(3) })
    await open('a.tar')
    const { mtimeMs, ino } = statSync(sidecar('a.tar'))
    await open('a.tar', ['cls'])
    expect(statSync(sidecar('a.tar'))).toMatchObject({ mtimeMs, ino })
    expect(readdirSync(root).sort()).toEqual(['.a.tar.millrace', 'a.tar'])
    expect(notices).toEqual([])
  })

  it('is rebuilt when the shard is newer or of another size, with a notice', async () => {
    write({ 'a.tar': entries(3) })
    await open('a.tar')
    write({ 'a.tar': entries(5) })
    expect((await open('a.tar')).count).toBe(5)
    utimesSync(join(root, 'a.tar'), 2e9, 2e9)
    expect((await open('a.tar')).count).toBe(5)
    expect(notices).toHaveLength(2)
    expect(notices[0]).toContain('a.tar')
    expect(notices[1]).toContain('changed after the index')
  })

  it('is rebuilt when it is torn', async () => {
    write({ 'a.tar': entries(3) })
    await open('a.tar')
    const whole = readFileSync(sidecar('a.tar'))
    writeFileSync(sidecar('a.tar'), whole.subarray(0, whole.length - 100))
    expect((await open('a.tar')).count).toBe(3)
    expect(notices[0]).toContain('torn')
  })

  it('of another moment is refused by attach', async () => {
    write({ 'a.tar': entries(3) })
    const manifest = await openSource({ tar: 'a.tar' }, { root, wanted: [] })
    write({ 'a.tar': entries(4) })
    await open('a.tar')
    expect(() => attachSource(manifest).id(0)).toThrow(/rebuilt after the feed was opened/)
  })

  it('is not left behind for a bad shard, nor is a lock', async () => {
    writeFiles(root, { 'a.tar': tarFile(entries(3)).subarray(0, 2000) })
    const error = await failure('a.tar')
    expect(error.message).toContain(join(root, 'a.tar'))
    expect(error.message).toMatch(/k1\.(cls|jpg)|k0\.jpg/)
    expect(readdirSync(root)).toEqual(['a.tar'])
  })
})

describe('bad shards', () => {
  it('stop the indexing of the others, and nothing goes on behind', async () => {
    writeFiles(
      root,
      Object.fromEntries(
        Array.from({ length: 20 }, (_, i) => [`${i + 10}.tar`, i === 0 ? 'bad' : tarFile(entries(9))]),
      ),
    )
    expect((await failure('*.tar')).message).toContain('10.tar')
    const left = readdirSync(root)
    expect(left.filter(name => name.endsWith('.lock'))).toEqual([])
    expect(left.length).toBeLessThan(40)
  })

  it('whose keys have dots are noticed', async () => {
    write({ 'a.tar': Array.from({ length: 300 }, (_, i) => ({ name: `img.${i}.jpg`, data: 'x' })) })
    expect((await open('a.tar')).count).toBe(1)
    expect(notices[0]).toContain('first dot')
  })

  it('with a hole are named with the offset', async () => {
    writeFiles(root, { 'a.tar': Buffer.concat([tarFile(entries(1)), tarFile(entries(1, 1))]) })
    const error = await failure('a.tar')
    expect([error.file, error.offset]).toEqual([join(root, 'a.tar'), 10240])
  })

  it('with a repeated extension name the member', async () => {
    write({ 'a.tar': [...entries(1), { name: 'k0.JPG', data: 'again' }] })
    expect((await failure('a.tar')).message).toMatch(
      /a\.tar: sample "k0" has a second member "jpg": "k0\.JPG" at byte 2560/,
    )
    write({
      'a.tar': [
        { name: 'k.json', data: '1' },
        { name: 'k.json.gz', data: gzipSync('1') },
      ],
    })
    expect((await failure('a.tar')).message).toContain('second member "json.gz"')
  })

  it('without samples are refused', async () => {
    write({ 'a.tar': [{ name: 'README', data: 'hello' }] })
    expect((await failure('a.tar')).message).toContain('no row')
  })

  it('with pickles wanted are refused, without are fine', async () => {
    write({ 'a.tar': [...entries(1), { name: 'k0.pyd', data: 'pickle' }] })
    for (const column of ['pyd', 'pkl', 'pickle', 'pth', 'state.pth']) {
      expect((await failure('a.tar', [column])).message).toContain('pickle')
    }
    expect((await open('a.tar', ['jpg'])).count).toBe(1)
  })
})

describe('paths', () => {
  it('expand braces, joins, lists and globs', async () => {
    write({
      'x-000.tar': entries(1),
      'x-001.tar': entries(1),
      'y-a.tar': entries(1),
      '.hidden.tar': entries(1),
    })
    expect(ids(await open('x-{000..001}.tar::y-a.tar'))).toHaveLength(3)
    expect(ids(await open('*.tar'))).toEqual(['x-000.tar:k0', 'x-001.tar:k0', 'y-a.tar:k0'])
    expect(ids(await open(['y-?.tar', 'x-00[1-9].tar']))).toEqual(['y-a.tar:k0', 'x-001.tar:k0'])
    expect(ids(await open(`file://${join(root, 'y-a.tar')}`))).toHaveLength(1)
  })

  it('name the missing shard and its pattern', async () => {
    write({ 'x-000.tar': entries(1) })
    const error = await failure('x-{000..002}.tar')
    expect(error.message).toContain(`shard ${join(root, 'x-001.tar')} is missing`)
    expect(error.message).toContain('x-{000..002}.tar')
    expect((await failure('none-*.tar')).message).toContain('none-*.tar')
    expect((await failure('nowhere/*.tar')).message).toContain('nowhere')
    expect((await failure('.')).message).toContain('folder')
  })

  it('refuse commands, remote and compressed shards with what to do', async () => {
    expect((await failure('pipe:cat x.tar')).message).toContain('runs no commands')
    expect((await failure('s3://bucket/x.tar')).message).toContain('s3://')
    expect((await failure('x.tar.gz')).message).toContain('gunzip')
    writeFiles(root, { 'z.tar': gzipSync(tarFile(entries(1))) })
    expect((await failure('z.tar')).message).toContain('gunzip')
  })
})

describe('indexes of others', () => {
  const idx = (n: number): string => {
    const lines = Array.from({ length: n }, (_, i) => {
      const at = i * 2048
      return `cls ${at + 512} ${String(i).length} k${i}.cls jpg ${at + 1536} 200 k${i}.jpg`
    })
    return `v1.2 ${n}\n${lines.join('\n')}\n`
  }

  it("DALI's index gives the same samples as a scan", async () => {
    write({ 'a.tar': entries(200) })
    const scanned = await openSource({ tar: 'a.tar' }, { root, wanted: [] })
    rmSync(sidecar('a.tar'))
    writeFiles(root, { 'a.idx': idx(200) })
    const source = await open('a.tar')
    expect(notices).toEqual([])
    expect(asText(readRow(source, 29, ['jpg']).jpg)).toBe('picture 29'.padEnd(200))
    expect(source.index('cls')?.at(29)).toBe(29)
    const again = await openSource({ tar: 'a.tar' }, { root, wanted: [] })
    expect(again.fingerprint).toEqual(scanned.fingerprint)
  })

  it("DALI's index is not believed where the shard says otherwise", async () => {
    write({ 'a.tar': entries(30) })
    for (const wrong of [
      idx(29),
      idx(31),
      idx(30).replace('v1.2', 'v1.1'),
      idx(30).replace('k7.jpg', 'k8.jpg'),
      idx(30).replace('1536 200', '1536 9000000'),
      idx(30).replace('cls 512 1', 'cls 512 2'),
      ...['199', '200.5', '0xc8', '2e2', '-200', '+200', '', 'NaN', '99999999999999999999'].map(size =>
        idx(30).replace('11776 200', `11776 ${size}`),
      ),
      idx(30).replace(' jpg 11776 200 k5.jpg', ''), // leaves out a member
      `${idx(30)}${' '.repeat(100_000)}`, // larger than the shard
      'garbage',
      '',
    ]) {
      notices.length = 0
      writeFiles(root, { 'a.idx': wrong })
      const source = await open('a.tar')
      expect(source.count).toBe(30)
      expect(notices[0]).toContain('a.idx is not used')
      rmSync(sidecar('a.tar'))
    }
  })

  it('shard lists of wids name the shards; counts and sizes are checked', async () => {
    write({ 'd/a.tar': entries(2), 'd/b.tar': entries(3) })
    const list = (samples: number, more = {}): string =>
      JSON.stringify({
        __kind__: 'wids-shard-index-v1',
        wids_version: 1,
        shardlist: [
          { url: 'b.tar', nsamples: samples, ...more },
          { url: 'a.tar', nsamples: 2 },
        ],
      })
    writeFiles(root, { 'd/shards.json': list(3) })
    expect(ids(await open('d/shards.json')).map(id => id.split(':')[0])).toEqual([
      'b.tar',
      'b.tar',
      'b.tar',
      'a.tar',
      'a.tar',
    ])
    writeFiles(root, { 'd/shards.json': list(4) })
    expect((await failure('d/shards.json')).message).toMatch(/b\.tar has 3 samples, .*shards\.json says 4/)
    writeFiles(root, { 'd/shards.json': list(3, { filesize: 7 }) })
    expect((await failure('d/shards.json')).message).toContain('says 7')
    writeFiles(root, { 'd/shards.json': '{"shards": []}' })
    expect((await failure('d/shards.json')).message).toContain('shardlist')
    writeFiles(root, { 'd/shards.json': 'not json' })
    expect((await failure('d/shards.json')).message).toContain('no JSON')
  })
})

it('keeps its index with the data when they move', async () => {
  write({ 'old/a.tar': entries(3) })
  await open('old/a.tar')
  const { atime, mtime } = statSync(join(root, 'old/a.tar'))
  writeFiles(root, { 'new/x': '' })
  for (const name of ['a.tar', '.a.tar.millrace'])
    copyFileSync(join(root, 'old', name), join(root, 'new', name))
  utimesSync(join(root, 'new/a.tar'), atime, mtime)
  expect((await open('new/a.tar')).count).toBe(3)
  expect(existsSync(join(root, 'new/.a.tar.millrace'))).toBe(true)
})
