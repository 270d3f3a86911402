/** Writers of token files: byte for byte what other programs write (test/golden/tokens/make.py). */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import type { MegatronWriter } from '../../../prepare/tokens/write/megatron-writer.js'
import { openTokenWriter } from '../../../prepare/tokens/write/open.js'
import type { TokenWriter, WriterOptions } from '../../../prepare/tokens/write/writer.js'

const golden = join(import.meta.dirname, '../../../../../test/golden/tokens')
const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8'))
const stream: number[][] = expected.stream

const bytesOf = (folder: string, name: string): Buffer => readFileSync(join(folder, name))

function add(writer: TokenWriter, documents: number[][]): TokenWriter {
  for (const document of documents) {
    // From the middle of a larger array.
    const tokens = Uint32Array.from([1, ...document, 2])
    writer.document(tokens, 1, tokens.length - 1)
  }
  return writer
}

describe("Megatron's", () => {
  test.each(['u8', 'u16', 'i32', 'i64', 'none', 'only-empty'])('%s', async name => {
    const folder = temporaryFolder()
    const dtype = name === 'none' || name === 'only-empty' ? 'u16' : (name as 'u8')
    const sequences: number[][] = expected[name]?.flat() ?? []
    const written = await add(
      openTokenWriter(join(folder, name), { format: 'megatron', dtype }),
      sequences,
    ).finish()
    expect(bytesOf(folder, `${name}.bin`).equals(bytesOf(golden, `${name}.bin`))).toBe(true)
    expect(bytesOf(folder, `${name}.idx`).equals(bytesOf(golden, `${name}.idx`))).toBe(true)
    expect(written).toMatchObject({ documents: sequences.length, tokens: sequences.flat().length, dtype })
    expect(written.files).toEqual([join(folder, `${name}.bin`), join(folder, `${name}.idx`)])
    expect(readdirSync(folder).sort()).toEqual([`${name}.bin`, `${name}.idx`])
  })

  test('documents of several sequences, and of none', async () => {
    const folder = temporaryFolder()
    const writer = openTokenWriter(join(folder, 'multi.bin'), {
      format: 'megatron',
      dtype: 'i32',
    }) as MegatronWriter
    for (const document of expected.multi as number[][][]) {
      for (const sequence of document) {
        writer.part(Uint32Array.from(sequence), 0, sequence.length)
        writer.endSequence()
      }
      writer.endDocument()
    }
    await writer.finish()
    expect(bytesOf(folder, 'multi.idx').equals(bytesOf(golden, 'multi.idx'))).toBe(true)
    expect(bytesOf(folder, 'multi.bin').equals(bytesOf(golden, 'multi.bin'))).toBe(true)
  })

  test('a document of no sequence before one of one', async () => {
    const folder = temporaryFolder()
    const writer = openTokenWriter(join(folder, 'x'), { format: 'megatron', dtype: 'u16' }) as MegatronWriter
    writer.endDocument()
    writer.document(Uint32Array.of(5, 6), 0, 2)
    await writer.finish()
    const index = bytesOf(folder, 'x.idx')
    expect([18, 26].map(at => Number(index.readBigUInt64LE(at)))).toEqual([1, 3])
    expect([0, 1, 2].map(i => Number(index.readBigInt64LE(34 + 12 + 8 * i)))).toEqual([0, 0, 1])
  })

  test('the token that ends documents is counted', async () => {
    const folder = temporaryFolder()
    const bodies = (expected.u16.flat() as number[][]).map(document => document.slice(0, -1))
    const options: WriterOptions = { format: 'megatron', vocabulary: 50257, eod: 50256 }
    await add(openTokenWriter(join(folder, 'u16'), options), bodies).finish()
    expect(bytesOf(folder, 'u16.idx').equals(bytesOf(golden, 'u16.idx'))).toBe(true)
    expect(bytesOf(folder, 'u16.bin').equals(bytesOf(golden, 'u16.bin'))).toBe(true)
  })

  test('more documents than are kept in memory, in parts', async () => {
    const folder = temporaryFolder()
    const writer = openTokenWriter(join(folder, 'many'), { format: 'megatron', dtype: 'u16' })
    const tokens = Uint32Array.from({ length: 300_000 }, (_, i) => i % 50_000)
    const count = 70_000
    writer.part(tokens, 0, 200_000)
    writer.part(tokens, 200_000, 300_000)
    writer.end()
    for (let i = 1; i < count; i++) writer.document(tokens, i, i + (i % 3))
    await writer.finish()
    const index = bytesOf(folder, 'many.idx')
    expect(index.length).toBe(34 + 12 * count + 8 * (count + 1))
    expect(index.readInt32LE(34)).toBe(300_000)
    let at = 300_000
    const wrong: number[] = []
    for (let i = 1; i < count; i++) {
      const pointer = index.readBigInt64LE(34 + 4 * count + 8 * i)
      if (index.readInt32LE(34 + 4 * i) !== i % 3 || pointer !== BigInt(2 * at)) wrong.push(i)
      at += i % 3
    }
    expect(wrong).toEqual([])
    expect(Number(index.readBigInt64LE(34 + 12 * count + 8 * count))).toBe(count)
    const bin = bytesOf(folder, 'many.bin')
    expect(bin.length).toBe(2 * at)
    expect(bin.readUInt16LE(2 * 299_999)).toBe(299_999 % 50_000)
  })
})

describe('one stream', () => {
  const bodies = stream.map(document => document.slice(0, -1))
  test.each([
    ['nanogpt.bin', { format: 'nanogpt', vocabulary: 50257, eod: 50256 }],
    ['llmc-u16.bin', { format: 'llmc', vocabulary: 50257, eod: 50256 }],
    ['array-u16.npy', { format: 'npy', vocabulary: 65536, eod: 50256 }],
    ['array-i64.npy', { format: 'npy', dtype: 'i64', eod: 50256 }],
  ] as [string, WriterOptions][])('%s', async (name, options) => {
    const folder = temporaryFolder()
    const written = await add(openTokenWriter(join(folder, name.slice(0, -4)), options), bodies).finish()
    expect(bytesOf(folder, name).equals(bytesOf(golden, name))).toBe(true)
    expect(written).toMatchObject({
      documents: stream.length,
      tokens: stream.flat().length,
      files: [join(folder, name)],
    })
    expect(readdirSync(folder)).toEqual([name])
  })

  test('llmc-u32.bin', async () => {
    const folder = temporaryFolder()
    const documents: number[][] = expected['llmc-u32'].map((document: number[]) => document.slice(1))
    const options: WriterOptions = { format: 'llmc', vocabulary: 128256, eod: 128000 }
    await add(openTokenWriter(join(folder, 'llmc-u32.bin'), options), documents).finish()
    expect(bytesOf(folder, 'llmc-u32.bin').equals(bytesOf(golden, 'llmc-u32.bin'))).toBe(true)
  })
})

describe('types and limits', () => {
  test.each([
    ['megatron', 65499, 'u16'],
    ['megatron', 65500, 'i32'],
    ['nanogpt', 65536, 'u16'],
    ['nanogpt', 65537, 'u32'],
    ['llmc', 128256, 'u32'],
    ['npy', 256, 'u16'],
  ] as const)('%s with %i tokens: %s', async (format, vocabulary, dtype) => {
    const writer = openTokenWriter(join(temporaryFolder(), 'x'), { format, vocabulary })
    expect((await writer.finish()).dtype).toBe(dtype)
  })

  test.each([
    [
      { format: 'megatron', vocabulary: 1000 },
      1000,
      /token 2 of document 1 is 1000, but the vocabulary has 1000 tokens/,
    ],
    [
      { format: 'megatron', dtype: 'u16' },
      65536,
      /token 2 of document 1 is 65536, more than tokens of type u16 can be/,
    ],
    [{ format: 'nanogpt', dtype: 'u8' }, 256, /token 2 of document 1 is 256, more than tokens of type u8/],
    [{ format: 'megatron', dtype: 'i32' }, 2 ** 31, /is 2147483648, more than tokens of type i32/],
    [{ format: 'npy', dtype: 'i64', vocabulary: 9 }, 9, /is 9, but the vocabulary has 9/],
  ] as [WriterOptions, number, RegExp][])('a token that does not fit: %o', (options, token, message) => {
    const folder = temporaryFolder()
    const writer = openTokenWriter(join(folder, 'x'), options)
    writer.document(Uint32Array.of(1, 2), 0, 2)
    expect(() => writer.document(Uint32Array.of(1, 2, token), 0, 3)).toThrow(message)
    writer.abort()
    writer.abort()
    expect(readdirSync(folder)).toEqual([])
  })

  test('what can not be written so', () => {
    const folder = temporaryFolder()
    const open = (options: WriterOptions) => () => openTokenWriter(join(folder, 'x'), options)
    expect(open({ format: 'megatron', dtype: 'u32' })).toThrow(
      /format megatron have tokens of type u8, i32, i64, u16, not u32/,
    )
    expect(open({ format: 'llmc', dtype: 'i32' })).toThrow(/format llmc have tokens of type u16, u32/)
    expect(open({ format: 'megatron' })).toThrow(/the size of the vocabulary, or the type of tokens/)
    expect(open({ format: 'megatron', dtype: 'u16', eod: 65536 })).toThrow(/"eod" is 65536/)
    expect(open({ format: 'megatron', vocabulary: 10, eod: 10 })).toThrow(/"eod" is 10/)
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('files of before', () => {
  test('are not replaced unasked', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'x.idx'), 'old')
    expect(() => openTokenWriter(join(folder, 'x'), { format: 'megatron', dtype: 'u16' })).toThrow(
      /x\.idx is there already.*--overwrite/,
    )
    const options: WriterOptions = { format: 'megatron', dtype: 'u16', overwrite: true }
    const writer = add(openTokenWriter(join(folder, 'x'), options), [[1, 2]])
    expect(bytesOf(folder, 'x.idx').toString()).toBe('old')
    await writer.finish()
    expect(bytesOf(folder, 'x.idx').toString('latin1', 0, 7)).toBe('MMIDIDX')
  })

  test('an index that can not get its name takes its tokens with it', async () => {
    const folder = temporaryFolder()
    const writer = add(openTokenWriter(join(folder, 'x'), { format: 'megatron', dtype: 'u16' }), [[1, 2]])
    mkdirSync(join(folder, 'x.idx'))
    await expect(writer.finish()).rejects.toThrow()
    expect(readdirSync(folder)).toEqual(['x.idx'])
  })

  test('folders are made', async () => {
    const folder = temporaryFolder()
    await add(openTokenWriter(join(folder, 'a/b/x'), { format: 'nanogpt', dtype: 'u16' }), [[1]]).finish()
    expect(readdirSync(join(folder, 'a/b'))).toEqual(['x.bin'])
  })
})
