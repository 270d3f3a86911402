/** Documents of token files: where they begin and end, their lengths, and the index that is kept of them. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { SlowStore } from '../../../../test/support/slow-store.mjs'
import { ChangedError } from '../../../core/basics/errors.js'
import { addStore } from '../../../core/store/stores.js'
import {
  attachDocuments,
  type DocumentMarks,
  documentLengths,
  openDocuments,
} from '../../tokens/formats/documents.js'
import type { TokenFileOptions } from '../../tokens/formats/found.js'
import { openTokenFiles } from '../../tokens/formats/open.js'

const golden = join(import.meta.dirname, '../../../../test/golden/tokens')
const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8'))
process.env.MILLRACE_CACHE = temporaryFolder()

/** A folder with copies of golden files, which were written long ago. */
function copies(...names: string[]): string {
  const folder = temporaryFolder()
  for (const name of names) {
    copyFileSync(join(golden, name), join(folder, name))
    utimesSync(join(folder, name), 1e9, 1e9)
  }
  return folder
}

async function documentsOf(
  root: string,
  path: string | string[],
  { eod, eodAt, ...options }: TokenFileOptions & DocumentMarks = {},
  notice?: (text: string) => void,
) {
  const context = { root, wanted: [], ...(notice && { notice }) }
  const opened = await openDocuments(await openTokenFiles(path, options, context), { eod, eodAt }, context)
  return { opened, documents: attachDocuments(opened) }
}

/** Pairs of start and end. */
function borders(lists: unknown[][]): number[][] {
  let at = 0
  return lists.map(({ length }) => [at, (at += length)])
}

const reported = (documents: Awaited<ReturnType<typeof documentsOf>>['documents'][number]): number[][] =>
  Array.from({ length: documents.count }, (_, i) => [documents.start(i), documents.end(i)])

describe('borders', () => {
  test.each(['u8', 'u16', 'i32', 'i64', 'multi', 'modes', 'none', 'only-empty'])(
    "Megatron's: %s",
    async name => {
      const { documents, opened } = await documentsOf(golden, name)
      const sequences = expected[name]?.flat() ?? []
      const wanted =
        name === 'modes' ? borders([[1, 2, 3], [0, 0], [0, 0], [0], [1, 2, 3, 4]]) : borders(sequences)
      expect(opened[0].by).toBe('index')
      expect(reported(documents[0])).toEqual(wanted)
      const lengths = await documentLengths(opened)
      expect(lengths.buffer).toBeInstanceOf(SharedArrayBuffer)
      expect([...lengths]).toEqual(wanted.map(([start, end]) => end - start))
    },
  )

  test.each([
    ['nanogpt.bin', 'stream', { eod: 50256 }],
    ['array-u16.npy', 'stream', { eod: 50256 }],
    ['array-i64.npy', 'stream', { eod: 50256 }],
    ['olmo-bare.npy', 'stream', { eod: 50256, dtype: 'u32' as const }],
    ['llmc-u16.bin', 'llmc-u16', { eod: 50256 }],
    ['llmc-u32.bin', 'llmc-u32', { eod: 128000 }],
  ])('marks in %s', async (name, wanted, options) => {
    const { documents, opened } = await documentsOf(copies(name), name, options)
    expect(reported(documents[0])).toEqual(borders(expected[wanted]))
    expect([...(await documentLengths(opened))]).toEqual(
      expected[wanted].map((list: number[]) => list.length),
    )
  })

  test("lines of OLMo's .csv.gz, with holes between documents", async () => {
    const folder = copies('olmo.npy', 'olmo.csv.gz')
    const { documents } = await documentsOf(folder, 'olmo.npy', { dtype: 'u32' })
    expect(reported(documents[0])).toEqual(borders(expected.stream))
    writeFiles(folder, { 'olmo.csv.gz': gzipSync('2,5,a,b,0\n5,5\n9,20,c\r\n') })
    const { documents: holes, opened } = await documentsOf(folder, 'olmo.npy', { dtype: 'u32' })
    expect(reported(holes[0])).toEqual([
      [2, 5],
      [5, 5],
      [9, 20],
    ])
    expect([...(await documentLengths(opened))]).toEqual([3, 0, 11])
    expect([0, 2, 8, 9, 30].map(token => holes[0].find(token))).toEqual([0, 0, 1, 2, 2])
  })

  test('a token of 64 bits is no mark because its lower half is', async () => {
    const folder = temporaryFolder()
    const tokens = BigInt64Array.of(7n, 50256n + 2n ** 32n, 8n, 50256n, 9n, -1n)
    writeFiles(folder, { 'wide.bin': new Uint8Array(tokens.buffer) })
    utimesSync(join(folder, 'wide.bin'), 1e9, 1e9)
    const { documents } = await documentsOf(folder, 'wide.bin', { eod: 50256, dtype: 'i64' })
    expect(reported(documents[0])).toEqual([
      [0, 4],
      [4, 6],
    ])
  })

  test('an .idx in another store', async () => {
    addStore('away', {
      attach: () => new SlowStore({ folder: golden, scheme: 'away', latency: 1, errors: 0 }) as never,
    })
    const { documents, opened } = await documentsOf('.', ['away://u16', 'away://multi'])
    expect(opened.map(({ by }) => by)).toEqual(['kept', 'kept'])
    expect(documents.map(reported)).toEqual([borders(expected.u16.flat()), borders(expected.multi.flat())])
  })

  test('the document of a token, in the .idx and in what is kept', async () => {
    for (const [name, options] of [
      ['u16', {}],
      ['nanogpt.bin', { eod: 50256 }],
    ] as const) {
      const {
        documents: [documents],
      } = await documentsOf(copies(...(name === 'u16' ? ['u16.bin', 'u16.idx'] : [name])), name, options)
      const all = reported(documents)
      const tokens = all.at(-1)?.[1] as number
      for (let token = 0; token < tokens; token++) {
        const found = documents.find(token)
        expect(token >= all[found][0] && token < all[found][1]).toBe(true)
      }
    }
  })

  test('many documents, found through many blocks', async () => {
    const folder = temporaryFolder()
    const lengths = Array.from({ length: 30_000 }, (_, i) => (i * 7919) % 13)
    writeMegatron(folder, 'many', lengths)
    const {
      documents: [documents],
    } = await documentsOf(folder, 'many')
    const all = borders(lengths.map(length => ({ length }) as unknown[]))
    const starts = [2048, 4096, 10_240, 28_672].map(first => all[first][0])
    for (const token of starts) {
      const found = documents.find(token)
      expect([all[found][0], all[found + 1][0] > token]).toEqual([token, true])
    }
    fc.assert(
      fc.property(fc.nat(all.at(-1)?.[1] as number), token => {
        const found = documents.find(token)
        expect(all[found][0]).toBeLessThanOrEqual(token)
        if (found + 1 < all.length) expect(all[found + 1][0]).toBeGreaterThan(token)
        expect([documents.start(found), documents.end(found)]).toEqual(all[found])
      }),
    )
  })
})

/** Writes a file whose tokens are zeros: lengths and pointers are what is looked at. */
function writeMegatron(
  folder: string,
  name: string,
  lengths: number[],
  change?: (index: Buffer) => void,
): void {
  const index = Buffer.alloc(34 + 12 * lengths.length + 8 * (lengths.length + 1))
  index.write('MMIDIDX\0\0', 'latin1')
  index.writeUInt8(1, 9)
  index.writeUInt8(8, 17)
  index.writeUInt32LE(lengths.length, 18)
  index.writeUInt32LE(lengths.length + 1, 26)
  let at = 0
  lengths.forEach((length, i) => {
    index.writeInt32LE(length, 34 + 4 * i)
    index.writeBigInt64LE(BigInt(2 * at), 34 + 4 * lengths.length + 8 * i)
    at += length
    index.writeUInt32LE(i + 1, 34 + 12 * lengths.length + 8 * (i + 1))
  })
  change?.(index)
  writeFiles(folder, { [`${name}.idx`]: index, [`${name}.bin`]: Buffer.alloc(2 * at) })
  for (const ending of ['idx', 'bin']) utimesSync(join(folder, `${name}.${ending}`), 1e9, 1e9)
}

describe('what is wrong is named', () => {
  const lengths = [5, 6, 7, 8]
  const pointers = 34 + 4 * lengths.length
  test.each([
    [
      'a length below 0',
      (b: Buffer) => b.writeInt32LE(-3, 34 + 4),
      /wrong\.idx: entry 1: a length of -3 tokens/,
    ],
    ['a pointer below 0', (b: Buffer) => b.writeBigInt64LE(-4n, pointers + 16), /entry 2: its pointer is -4/],
    ['half a token', (b: Buffer) => b.writeBigInt64LE(13n, pointers + 8), /entry 1: its pointer is 13/],
    [
      'a pointer far away',
      (b: Buffer) => b.writeBigInt64LE(1n << 40n, pointers),
      /entry 0: its pointer is 1099511627776/,
    ],
    [
      'pointers that go back',
      (b: Buffer) => b.writeBigInt64LE(4n, pointers + 16),
      /entry 2: it begins at token 2, but .* 11/,
    ],
    [
      'a length that leaves tokens out',
      (b: Buffer) => b.writeInt32LE(4, 34 + 4),
      /entry 2: it begins at token 11, but what is in front of it ends at 9/,
    ],
    [
      'a document that reaches beyond the end',
      (b: Buffer) => b.writeInt32LE(1000, 34),
      /entry 0: 1000 tokens from token 0 on/,
    ],
  ])('%s', async (_, change, message) => {
    const folder = temporaryFolder()
    writeMegatron(folder, 'wrong', lengths, change)
    const { documents, opened } = await documentsOf(folder, 'wrong')
    expect(() => reported(documents[0])).toThrow(message)
    await expect(documentLengths(opened)).rejects.toThrow(message)
  })

  test('a hole where a block of entries ends', async () => {
    const folder = temporaryFolder()
    writeMegatron(folder, 'wrong', Array<number>(3000).fill(2), b => b.writeInt32LE(1, 34 + 4 * 2047))
    const { documents } = await documentsOf(folder, 'wrong')
    expect(() => documents[0].start(2500)).toThrow(/entry 2048: it begins at token 4096, but .* 4095/)
  })

  test('an .idx, or tokens, that change during the run', async () => {
    const folder = copies('u16.bin', 'u16.idx', 'nanogpt.bin')
    const {
      documents: [documents],
      opened,
    } = await documentsOf(folder, 'u16')
    truncateSync(join(folder, 'u16.idx'), 5000)
    expect(() => documents.start(3)).toThrow(ChangedError)
    expect(() => documents.start(3)).toThrow(
      /u16\.idx changed during the run: it had 6042 bytes, now it has 5000/,
    )
    await expect(documentLengths(opened)).rejects.toThrow(ChangedError)
  })

  test("no mark, or one that can't be", async () => {
    const folder = copies('nanogpt.bin')
    await expect(documentsOf(folder, 'nanogpt.bin')).rejects.toThrow(
      /nanogpt\) don't say where documents end.*"eod"/,
    )
    await expect(documentsOf(folder, 'nanogpt.bin', { eod: 70000 })).rejects.toThrow(
      /"eod" is 70000, which no token of type u16/,
    )
    const notices: string[] = []
    const {
      documents: [documents],
    } = await documentsOf(folder, 'nanogpt.bin', { eod: 65535 }, text => notices.push(text))
    expect(documents.count).toBe(1)
    expect(notices.join()).toMatch(/no token 65535, so all of it is one document/)
  })

  test.each([
    [
      'a line that is no border',
      '0,5\nabc\n',
      /olmo\.csv\.gz: line 2: "abc" does not begin with two numbers/,
    ],
    [
      'documents that go back',
      '0,5\n3,9\n',
      /line 2: a document from token 3 to 9, but the one before it ends at 5/,
    ],
    ['a document beyond the end', '0,5\n5,99999\n', /line 2: a document that ends at token 99999/],
  ])('%s', async (_, text, message) => {
    const folder = copies('olmo.npy')
    writeFiles(folder, { 'olmo.csv.gz': gzipSync(text) })
    await expect(documentsOf(folder, 'olmo.npy', { dtype: 'u32' })).rejects.toThrow(message)
  })

  test('a .csv.gz that is cut off', async () => {
    const folder = copies('olmo.npy', 'olmo.csv.gz')
    truncateSync(join(folder, 'olmo.csv.gz'), 200)
    await expect(documentsOf(folder, 'olmo.npy', { dtype: 'u32' })).rejects.toThrow(/olmo\.csv\.gz/)
  })
})

describe('the index that is kept', () => {
  test('lies beside the tokens, is used again, and made anew for other marks or a changed file', async () => {
    const folder = copies('nanogpt.bin')
    const kept = join(folder, '.nanogpt.bin.millrace')
    await documentsOf(folder, 'nanogpt.bin', { eod: 50256 })
    const before = statSync(kept)
    await documentsOf(folder, 'nanogpt.bin', { eod: 50256 })
    expect(statSync(kept).ino).toBe(before.ino)
    const notices: string[] = []
    const {
      documents: [started],
    } = await documentsOf(folder, 'nanogpt.bin', { eod: 50256, eodAt: 'start' }, text => notices.push(text))
    expect(notices.join()).toMatch(/rebuilt: it was made for another type of tokens, or other marks/)
    expect(reported(started)[0]).toEqual([0, expected.stream[1].length])
    writeFileSync(join(folder, 'nanogpt.bin'), readFileSync(join(folder, 'nanogpt.bin')).subarray(0, 200))
    const {
      documents: [shorter],
    } = await documentsOf(folder, 'nanogpt.bin', { eod: 50256 })
    expect(reported(shorter).at(-1)?.[1]).toBe(100)
  })
})

test('a file of 100 GB with 100 million documents is opened without reading it', async () => {
  const folder = temporaryFolder()
  const sequences = 1e8
  const size = 1e11
  const index = openSync(join(folder, 'huge.idx'), 'w')
  ftruncateSync(index, 34 + 12 * sequences + 8 * (sequences + 1))
  const header = Buffer.alloc(34)
  header.write('MMIDIDX\0\0', 'latin1')
  header.writeUInt8(1, 9)
  header.writeUInt8(8, 17)
  header.writeBigUInt64LE(BigInt(sequences), 18)
  header.writeBigUInt64LE(BigInt(sequences + 1), 26)
  writeSync(index, header, 0, 34, 0)
  // All tokens are in the last 25 documents.
  const first = sequences - 25
  writeSync(index, new Int32Array(25).fill(size / 2 / 25), 0, 100, 34 + 4 * first)
  const pointers = BigInt64Array.from({ length: 25 }, (_, i) => BigInt((size / 25) * i))
  writeSync(index, pointers, 0, 200, 34 + 4 * sequences + 8 * first)
  closeSync(index)
  const tokens = openSync(join(folder, 'huge.bin'), 'w')
  ftruncateSync(tokens, size)
  closeSync(tokens)
  const before = process.resourceUsage()
  const {
    documents: [documents],
    opened,
  } = await documentsOf(folder, 'huge')
  expect(opened[0].file.tokens).toBe(size / 2)
  expect(documents.count).toBe(sequences)
  expect(documents.end(sequences - 1)).toBe(size / 2)
  expect(documents.find(size / 2 - 1)).toBe(sequences - 1)
  const after = process.resourceUsage()
  // Reading all of it would take seconds, and gigabytes: this takes neither.
  expect(after.maxRSS - before.maxRSS).toBeLessThan(64 << 10)
  expect(existsSync(join(folder, '.huge.idx.millrace'))).toBe(false)
})
