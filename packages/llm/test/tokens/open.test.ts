/** Token files: found by path, pattern or prefix, headers read and checked. */
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { SlowStore } from '../../../../test/support/slow-store.mjs'
import { addStore } from '../../../core/store/stores.js'
import type { TokenFileOptions } from '../../tokens/formats/found.js'
import { openTokenFiles } from '../../tokens/formats/open.js'

const golden = join(import.meta.dirname, '../../../../test/golden/tokens')
const open = (paths: string | string[], options: TokenFileOptions = {}, root = golden) =>
  openTokenFiles(paths, options, { root })
const count = (lists: unknown[]): number => lists.flat(2).length
const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8'))

/** A folder with copies of golden files. */
function copies(...names: string[]): string {
  const folder = temporaryFolder()
  for (const name of names) copyFileSync(join(golden, name), join(folder, name))
  return folder
}

describe('headers', () => {
  test.each(['u8', 'u16', 'i32', 'i64'] as const)("Megatron's files of type %s", async dtype => {
    const [file] = await open(`${dtype}.bin`)
    const documents = expected[dtype].length
    expect(file).toMatchObject({
      format: 'megatron',
      name: dtype,
      path: join(golden, `${dtype}.bin`),
      begin: 0,
      dtype,
    })
    expect(file.tokens).toBe(count(expected[dtype]))
    expect(file.index).toMatchObject({ sequences: documents, documents, modes: false })
  })

  test('documents of several sequences, of none, and files of no tokens', async () => {
    const [multi, modes, none, empty] = await open(['multi', 'modes', 'none', 'only-empty'])
    expect(multi.index).toMatchObject({
      sequences: expected.multi.flat().length,
      documents: expected.multi.length,
    })
    expect(modes.index).toMatchObject({ sequences: 5, documents: 3, modes: true })
    expect(none).toMatchObject({ tokens: 0, index: { sequences: 0, documents: 0 } })
    expect(empty).toMatchObject({ tokens: 0, index: { sequences: 2, documents: 2, modes: false } })
  })

  test('formats without an index', async () => {
    const tokens = count(expected.stream)
    const files = await open([
      'nanogpt.bin',
      'llmc-u16.bin',
      'llmc-u32.bin',
      'array-u16.npy',
      'array-i64.npy',
    ])
    expect(files.map(({ format, dtype, begin, tokens }) => [format, dtype, begin, tokens])).toEqual([
      ['nanogpt', 'u16', 0, tokens],
      ['llmc', 'u16', 1024, tokens],
      ['llmc', 'u32', 1024, count(expected['llmc-u32'])],
      ['npy', 'u16', 128, tokens],
      ['npy', 'i64', 128, tokens],
    ])
    const [olmo, bare] = await open(['olmo.npy', 'olmo-bare.npy'], { dtype: 'u32' })
    expect(olmo).toMatchObject({
      format: 'olmo',
      dtype: 'u32',
      tokens,
      borders: { path: join(golden, 'olmo.csv.gz') },
    })
    expect(bare.borders).toBeUndefined()
  })

  test('a notice says that the type of tokens was guessed, once', async () => {
    const notices: string[] = []
    await openTokenFiles(
      ['nanogpt.bin', 'nanogpt.bin'],
      {},
      { root: golden, notice: text => notices.push(text) },
    )
    expect(notices).toHaveLength(1)
    expect(notices[0]).toMatch(/nanogpt\.bin has no header.*u16.*"dtype"/)
    await openTokenFiles(
      'nanogpt.bin',
      { dtype: 'u16' },
      { root: golden, notice: text => notices.push(text) },
    )
    expect(notices).toHaveLength(1)
  })
})

describe('finding', () => {
  test('by .bin, .idx, prefix, pattern and lists of these', async () => {
    const names = async (paths: string | string[]) => (await open(paths)).map(({ name }) => name)
    expect(await names('u16.idx')).toEqual(['u16'])
    expect(await names(join(golden, 'u16'))).toEqual(['u16'])
    expect(await names('array-u16')).toEqual(['array-u16'])
    expect(await names('u*.bin')).toEqual(['u16', 'u8'])
    expect(await names('u*')).toEqual(['u16', 'u8'])
    expect(await names(['i{32,64}', 'u8.bin::multi'])).toEqual(['i32', 'i64', 'u8', 'multi'])
    expect(await names(['u8', 'u8'])).toEqual(['u8', 'u8#2'])
  })

  test('by folder, unless a file of tokens has its name', async () => {
    const folder = copies('u16.bin', 'u16.idx', 'nanogpt.bin')
    const names = async (path: string) => (await open(path, {}, folder)).map(({ name }) => name)
    expect((await names('.')).sort()).toEqual(['nanogpt', 'u16'])
    mkdirSync(join(folder, 'u16'))
    expect(await names('u16')).toEqual(['u16'])
  })

  test('a pattern leaves out what lies beside the tokens', async () => {
    const files = await open('olmo*', { dtype: 'u32' })
    expect(files.map(({ name }) => name)).toEqual(['olmo-bare', 'olmo'])
  })

  test('names that would be equal keep their endings', async () => {
    const folder = copies('u16.bin', 'u16.idx', 'array-u16.npy')
    copyFileSync(join(folder, 'array-u16.npy'), join(folder, 'u16.npy'))
    const files = await open(['u16.bin', 'u16.npy'], {}, folder)
    expect(files.map(({ name }) => name)).toEqual(['u16.bin', 'u16.npy'])
  })

  test('in another store', async () => {
    addStore('far', {
      attach: () => new SlowStore({ folder: golden, scheme: 'far', latency: 1, errors: 0 }) as never,
    })
    const files = await open(['far://u16', 'far://multi.bin'])
    expect(files.map(({ name, path, tokens }) => [name, path, tokens])).toEqual([
      ['u16', 'far://u16.bin', count(expected.u16)],
      ['multi', 'far://multi.bin', count(expected.multi)],
    ])
    expect(typeof files[0].version).toBe('string')
  })
})

describe('what is wrong is named', () => {
  const refused = async (name: string, change: (folder: string) => void, message: RegExp, options = {}) => {
    const stem = name.replace(/\.(bin|npy)$/, '')
    const folder = copies(
      name,
      ...(name.endsWith('.bin') && stem.match(/^[ui]\d+$|blend/) ? [`${stem}.idx`] : []),
    )
    change(folder)
    await expect(open(name, options, folder)).rejects.toThrow(message)
  }
  const patch = (file: string, write: (bytes: Buffer) => void) => (folder: string) => {
    const bytes = readFileSync(join(folder, file))
    write(bytes)
    writeFileSync(join(folder, file), bytes)
  }
  const cut = (file: string, bytes: number) => (folder: string) =>
    truncateSync(join(folder, file), readFileSync(join(folder, file)).length - bytes)
  const same = () => {}

  test.each([
    [
      'a .bin that is cut off',
      cut('u16.bin', 2),
      /u16\.bin has 10636 bytes, but .*u16\.idx tells of 10638.*cut off/,
    ],
    ['a .bin with half a token', cut('u16.bin', 1), /10637 bytes of tokens, which is no multiple of 2/],
    [
      'a .bin that is longer',
      (folder: string) => appendFileSync(join(folder, 'u16.bin'), 'abcd'),
      /has 10642 bytes, but .*u16\.idx tells of 10638 only/,
    ],
    [
      'an .idx that is cut off',
      cut('u16.idx', 8),
      /u16\.idx has 6034 bytes, but 300 sequences and 301 .* take 6042/,
    ],
    ['an .idx without a header', cut('u16.idx', 6020), /u16\.idx has 22 bytes, but its header takes 34/],
    ['wrong magic', patch('u16.idx', b => b.write('X')), /does not begin with "MMIDIDX"/],
    ['the old kind', patch('u16.idx', b => b.write('TNTIDX\0\0')), /old kind.*tokenise the text again/],
    ['another version', patch('u16.idx', b => b.writeUInt8(2, 9)), /format version 2: only 1/],
    ['int16', patch('u16.idx', b => b.writeUInt8(3, 17)), /type int16 \(code 3\)/],
    ['float32', patch('u16.idx', b => b.writeUInt8(7, 17)), /type float32 \(code 7\)/],
    ['no type', patch('u16.idx', b => b.writeUInt8(99, 17)), /type 99, which there is not/],
    [
      'another type',
      patch('u16.idx', b => b.writeUInt8(1, 17)),
      /tells of \d+ only: they don't belong together/,
    ],
    ['a huge count', patch('u16.idx', b => b.fill(255, 18, 26)), /sequences and 301 document indices/],
  ])("Megatron's: %s", async (_, change, message) => {
    await refused('u16.bin', change, message)
  })

  test('an index that does not count the last token of documents, with the command that repairs it', async () => {
    await refused(
      'blendcorpus.bin',
      same,
      /leaves out 3 tokens.*blendcorpus.*millrace tokens verify .*\/blendcorpus --repair/,
    )
    const folder = copies('blendcorpus.bin', 'blendcorpus.idx')
    expect((await open('blendcorpus', { unchecked: true }, folder))[0].index?.sequences).toBe(3)
  })

  test.each([
    ['nanogpt.bin', cut('nanogpt.bin', 1), /no multiple of 2.*cut off, or its tokens have another type/],
    ['llmc-u16.bin', cut('llmc-u16.bin', 2), /has 2350 bytes, but 664 tokens, as its header says, take 2352/],
    ['llmc-u16.bin', patch('llmc-u16.bin', b => b.writeInt32LE(3, 4)), /format version 3.*only 1/],
    ['llmc-eval.bin', same, /questions to evaluate a model by .*20240522/],
    ['array-2d.npy', same, /shape \(3, 4\).*one axis/],
    ['array-u16.npy', cut('array-u16.npy', 2), /needs 1328 bytes, but there are 1326: it is cut off/],
    ['array-u16.npy', patch('array-u16.npy', b => b.write("'<f2'", b.indexOf("'<u2'"))), /type "<f2"/],
    ['array-u16.npy', patch('array-u16.npy', b => b.write("'>u2'", b.indexOf("'<u2'"))), /type ">u2"/],
    ['olmo-bare.npy', same, /no header.*"dtype": "u32"/],
  ])('%s', async (name, change, message) => refused(name, change, message))

  test('what a definition says must be so', async () => {
    await refused('llmc-u16.bin', same, /tokens have type u16, but "dtype" is u32/, { dtype: 'u32' })
    await refused('nanogpt.bin', same, /there is no .*nanogpt\.idx.*"format": "nanogpt"/, {
      format: 'megatron',
    })
    await refused('nanogpt.bin', same, /begins with -?\d+: llm\.c's files begin with 20240520 or 20240801/, {
      format: 'llmc',
    })
    await refused('u16.bin', same, /u16\.bin: npy/, { format: 'npy' })
    await expect(open('nowhere')).rejects.toThrow(/token file .*nowhere is missing/)
    const without = temporaryFolder()
    await expect(open(without)).rejects.toThrow(/match/)
  })
})
