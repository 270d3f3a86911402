/** What `millrace tokens` does with files: convert, merge, split, verify, repair, show, statistics. */
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { type ConvertOptions, convertTokens } from '../../../prepare/tokens/convert.js'
import { mergeTokens } from '../../../prepare/tokens/merge.js'
import { documentTokens, rowTokens } from '../../../prepare/tokens/show.js'
import { runsOf, sharesOf, splitTokens } from '../../../prepare/tokens/split.js'
import { statisticsOf, total } from '../../../prepare/tokens/statistics.js'
import { type VerifyOptions, verifyTokens } from '../../../prepare/tokens/verify/verify.js'
import { openTokenWriter } from '../../../prepare/tokens/write/open.js'
import { openTokenFiles } from '../../../tokens/formats/open.js'

const golden = join(import.meta.dirname, '../../../../../test/golden/tokens')
const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8'))
const stream: number[][] = expected.stream
const EOD = 50256

/** Indexes of documents are kept here, not beside the golden files. */
let folder: string
beforeAll(() => {
  process.env.MILLRACE_CACHE = temporaryFolder()
})

/** A folder of golden files, and files made of them. */
function copies(...names: string[]): string {
  folder = temporaryFolder()
  for (const name of names) copyFileSync(join(golden, name), join(folder, name))
  return folder
}
const context = () => ({ root: folder, wanted: [] })
const open = (paths: string | string[], options = {}) => openTokenFiles(paths, options, { root: folder })
const bytes = (name: string, where = folder): Buffer => readFileSync(join(where, name))
const same = (made: string, wanted: string): boolean => bytes(made).equals(bytes(wanted, golden))
const visible = () =>
  readdirSync(folder)
    .filter(name => !name.startsWith('.'))
    .sort()

async function convert(from: string, out: string, options: Omit<ConvertOptions, 'context'>, read = {}) {
  return convertTokens(await open(from, read), join(folder, out), { ...options, context: context() })
}

describe('convert', () => {
  const FORMATS = [
    ['nanogpt', 'nanogpt.bin'],
    ['llmc', 'llmc-u16.bin'],
    ['npy', 'array-u16.npy'],
  ] as const

  test.each(FORMATS)('%s to the others and through Megatron back, byte for byte', async (_, name) => {
    copies(name)
    const made = await convert(name, 'm', { format: 'megatron', eod: EOD })
    expect(made).toMatchObject({
      documents: stream.length,
      tokens: stream.flat().length,
      dtype: 'u16',
      marksAdded: 0,
    })
    const { documents } = await statisticsOf((await open('m'))[0], undefined, context())
    expect(documents).toBe(stream.length)
    for (const [format, wanted] of FORMATS) {
      await convert('m', `back-${format}`, { format, eod: EOD })
      expect(same(`back-${format}.${format === 'npy' ? 'npy' : 'bin'}`, wanted)).toBe(true)
      await convert(name, `direct-${format}`, { format, eod: EOD })
      expect(same(`direct-${format}.${format === 'npy' ? 'npy' : 'bin'}`, wanted)).toBe(true)
    }
  })

  test('without a mark where both files have it in the same place', async () => {
    copies('nanogpt.bin', 'llmc-u16.bin')
    await convert('nanogpt.bin', 'a', { format: 'npy' })
    expect(same('a.npy', 'array-u16.npy')).toBe(true)
    await expect(convert('llmc-u16.bin', 'b', { format: 'npy' })).rejects.toThrow(
      /llmc-u16\.bin marks documents.*--eod N/,
    )
    await expect(convert('nanogpt.bin', 'b', { format: 'megatron' })).rejects.toThrow(/--eod N/)
    expect(visible()).toEqual(['a.npy', 'llmc-u16.bin', 'nanogpt.bin'])
  })

  test('another type, and several files as one', async () => {
    copies('nanogpt.bin', 'u16.bin', 'u16.idx')
    await convert('nanogpt.bin', 'wide', { format: 'npy', dtype: 'i64' })
    // A file without a header is what nanoGPT reads, whatever it was made of.
    await convert('wide.npy', 'short', { format: 'nanogpt' })
    expect(same('short.bin', 'nanogpt.bin')).toBe(true)
    expect(same('wide.npy', 'array-i64.npy')).toBe(true)
    const both = await convertTokens(await open(['u16', 'nanogpt.bin']), join(folder, 'both'), {
      format: 'megatron',
      eod: EOD,
      context: context(),
    })
    expect(both).toMatchObject({ documents: 300 + stream.length, dtype: 'u16' })
    const [file] = await open('both')
    const all = [...(expected.u16.flat() as number[][]), ...stream]
    for (const document of [0, 299, 300, 339]) {
      const { tokens } = await documentTokens([file], document, undefined, 1e6, context())
      expect([...tokens]).toEqual(all[document])
    }
  })

  test("Megatron's documents of several sequences stay as they are, and are one document each elsewhere", async () => {
    copies('multi.bin', 'multi.idx')
    await convert('multi', 'copy', { format: 'megatron' })
    expect(same('copy.idx', 'multi.idx') && same('copy.bin', 'multi.bin')).toBe(true)
    const made = await convert('multi', 'flat', { format: 'nanogpt', eod: 99 })
    const documents: number[][] = expected.multi.map((one: number[][]) => [...one.flat(), 99])
    expect(made).toMatchObject({ documents: 6, marksAdded: 6, dtype: 'u16' })
    const read = new Uint16Array(Uint8Array.from(bytes('flat.bin')).buffer)
    expect([...read]).toEqual(documents.flat())
  })

  test('a token inside that would be a border, tokens beyond the vocabulary, and sequences with modes are refused', async () => {
    copies('u16.bin', 'u16.idx', 'i32.bin', 'i32.idx', 'modes.bin', 'modes.idx')
    const inside = (expected.u16.flat() as number[][]).findIndex(one => one.length > 3)
    const token = expected.u16.flat()[inside][1]
    await expect(convert('u16', 'x', { format: 'nanogpt', eod: token })).rejects.toThrow(
      new RegExp(`document ${inside} has the token ${token} inside, at place 1`),
    )
    await expect(convert('i32', 'x', { format: 'megatron', dtype: 'u16' })).rejects.toThrow(
      /token \d+ of document \d+ is \d+, more than tokens of type u16/,
    )
    await expect(convert('i32', 'x', { format: 'megatron', vocabulary: 100_000 })).rejects.toThrow(
      /the vocabulary has 100000 tokens/,
    )
    await expect(convert('modes', 'x', { format: 'megatron' })).rejects.toThrow(/several modes/)
    expect(visible().filter(name => name.startsWith('x'))).toEqual([])
  })
})

describe('split and merge', () => {
  test('shares have the rounding of Megatron, and joined they are the file again', async () => {
    copies('u16.bin', 'u16.idx')
    const files = await open('u16')
    const parts = await splitTokens(
      files,
      join(folder, 'part'),
      documents => sharesOf([969, 30, 1], ['train', 'val', 'test'], documents),
      { context: context() },
    )
    // round(290.7), round(299.7), 300
    expect(parts.map(({ documents }) => documents)).toEqual([291, 9, 0])
    const joined = await mergeTokens(
      await open(['part-train', 'part-val', 'part-test']),
      join(folder, 'all'),
      { context: context() },
    )
    expect(joined.documents).toBe(300)
    expect(same('all.idx', 'u16.idx') && same('all.bin', 'u16.bin')).toBe(true)
  })

  test('files of so many documents, of several formats', async () => {
    copies('nanogpt.bin', 'llmc-u16.bin', 'array-u16.npy')
    for (const name of visible()) {
      const out = join(folder, `part-${name}`.replace(/\.\w+$/, ''))
      const parts = await splitTokens(await open(name), out, all => runsOf(7, all), {
        eod: EOD,
        context: context(),
      })
      expect(parts.map(({ documents }) => documents)).toEqual([7, 7, 7, 7, 7, 5])
      expect(parts[0].files[0]).toMatch(/-0000\.(bin|npy)$/)
      await mergeTokens(await open(`${out}-*`), join(folder, `all-${name}`), { context: context() })
      expect(same(`all-${name}`, name)).toBe(true)
    }
  })

  test('a share that cuts a document of several sequences ends it', async () => {
    copies('multi.bin', 'multi.idx')
    const sequences = expected.multi.flat().length
    await splitTokens(await open('multi'), join(folder, 's'), all => runsOf(1, all), { context: context() })
    for (let i = 0; i < sequences; i++) {
      const [{ index, tokens }] = await open(`s-000${i}`)
      expect([index?.sequences, tokens]).toEqual([1, expected.multi.flat()[i].length])
      expect(index?.documents).toBeGreaterThan(0)
    }
  })

  test('parts of one job are joined by their numbers, and none may be missing', async () => {
    copies('u16.bin', 'u16.idx')
    await splitTokens(await open('u16'), join(folder, 's'), all => runsOf(25, all), { context: context() })
    for (let i = 0; i < 12; i++) {
      for (const ending of ['bin', 'idx']) {
        const part = `s-${String(i).padStart(4, '0')}.${ending}`
        renameSync(join(folder, part), join(folder, `p-${i + 1}-of-12.${ending}`))
      }
    }
    await mergeTokens(await open('p-*-of-12.bin'), join(folder, 'all'), { context: context() })
    expect(same('all.idx', 'u16.idx') && same('all.bin', 'u16.bin')).toBe(true)
    rmSync(join(folder, 'p-7-of-12.bin'))
    rmSync(join(folder, 'p-7-of-12.idx'))
    await expect(
      mergeTokens(await open('p-*-of-12.bin'), join(folder, 'x'), { context: context() }),
    ).rejects.toThrow(/of the 12 parts of p, number 7 is missing/)
  })

  test('what is not alike, or is there already, is refused', async () => {
    copies('u16.bin', 'u16.idx', 'i32.bin', 'i32.idx')
    await expect(
      mergeTokens(await open(['u16', 'i32']), join(folder, 'x'), { context: context() }),
    ).rejects.toThrow(/i32\.bin is megatron of i32, but .*u16\.bin is megatron of u16/)
    writeFileSync(join(folder, 'part-val.idx'), 'mine')
    const divide = (documents: number) => sharesOf([9, 1], ['train', 'val'], documents)
    await expect(
      splitTokens(await open('u16'), join(folder, 'part'), divide, { context: context() }),
    ).rejects.toThrow(/part-val\.idx is there already/)
    expect(existsSync(join(folder, 'part-train.bin'))).toBe(false)
    expect(bytes('part-val.idx').toString()).toBe('mine')
  })
})

describe('verify', () => {
  const verify = async (name: string, options: VerifyOptions = {}, read = {}) =>
    verifyTokens((await open(name, { unchecked: true, ...read }))[0], options)
  const reported = (verdict: Awaited<ReturnType<typeof verify>>): string =>
    verdict.problems.flatMap(one => one.reported).join('\n')
  const patch = (file: string, write: (bytes: Buffer) => void) => {
    const data = bytes(file)
    write(data)
    writeFileSync(join(folder, file), data)
  }

  test.each(['u8', 'u16', 'i32', 'i64', 'multi', 'modes', 'none', 'only-empty'])(
    "Megatron's %s is good",
    async name => {
      copies(`${name}.bin`, `${name}.idx`)
      const verdict = await verify(name)
      expect(verdict.problems).toEqual([])
      const sequences: unknown[][] =
        name === 'modes' ? [[1], [1], [1], [1], [1]] : (expected[name]?.flat() ?? [])
      expect(verdict).toMatchObject({
        documents: sequences.length,
        empty: sequences.filter(one => one.length === 0).length,
      })
    },
  )

  test('tokens beyond the vocabulary, with their document', async () => {
    copies('i32.bin', 'i32.idx', 'nanogpt.bin')
    const sequences: number[][] = expected.i32.flat()
    const verdict = await verify('i32', { vocabulary: 100_000 })
    const document = sequences.findIndex(one => one.some(token => token >= 100_000))
    const place = sequences[document].findIndex(token => token >= 100_000)
    expect(verdict.problems).toMatchObject([
      { kind: 'vocabulary', count: sequences.flat().filter(token => token >= 100_000).length },
    ])
    expect(reported(verdict)).toContain(
      `token ${place} of document ${document} is ${sequences[document][place]}, but the vocabulary has 100000`,
    )
    expect(verdict.greatest).toBe(Math.max(...sequences.flat()))
    patch('i32.bin', data => data.writeInt32LE(-7, 4))
    expect(reported(await verify('i32'))).toMatch(/is below 0/)
    expect(reported(await verify('nanogpt.bin', { vocabulary: EOD }))).toMatch(
      /nanogpt\.bin: token 0 is 50256/,
    )
  })

  test('documents that lack the token at their end', async () => {
    copies('u16.bin', 'u16.idx', 'multi.bin', 'multi.idx', 'nanogpt.bin', 'llmc-u16.bin')
    expect((await verify('u16', { eod: EOD })).problems).toEqual([])
    expect(reported(await verify('multi', { eod: 5 }))).toMatch(/document 0 ends with token 3, not with 5/)
    expect(await verify('nanogpt.bin', { eod: EOD })).toMatchObject({
      problems: [],
      documents: stream.length,
    })
    expect(await verify('llmc-u16.bin', { eod: EOD })).toMatchObject({
      problems: [],
      documents: stream.length,
    })
    truncateSync(join(folder, 'nanogpt.bin'), bytes('nanogpt.bin').length - 2)
    expect(reported(await verify('nanogpt.bin', { eod: EOD }))).toMatch(/ends with token \d+, not with 50256/)
    expect(reported(await verify('llmc-u16.bin', { eod: 5 }))).toMatch(/begins with token 50256, not with 5/)
  })

  const pointers = 34 + 4 * 300
  test.each([
    ['a length', (b: Buffer) => b.writeInt32LE(-2, 34 + 4 * 9), /u16\.idx: entry 9: a length of -2/],
    [
      'a pointer',
      (b: Buffer) => b.writeBigInt64LE(12n, pointers + 8 * 5),
      /u16\.idx: entry 5: its pointer is 12, but the one before it ends at/,
    ],
    [
      'a pointer behind a hole',
      (b: Buffer) => b.writeBigInt64LE(1n << 33n, pointers + 8 * 5),
      /entry 5: its pointer is 8589934592, but/,
    ],
    [
      'the first document index',
      (b: Buffer) => b.writeBigInt64LE(1n, 34 + 12 * 300),
      /document index 0 is 1, not 0/,
    ],
    [
      'the last document index',
      (b: Buffer) => b.writeBigInt64LE(299n, 34 + 12 * 300 + 8 * 300),
      /last document index is 299, not 300/,
    ],
    [
      'a document index',
      (b: Buffer) => b.writeBigInt64LE(3n, 34 + 12 * 300 + 8 * 100),
      /document index 100 is 3, less than/,
    ],
  ])('%s that is wrong', async (_, change, message) => {
    copies('u16.bin', 'u16.idx')
    patch('u16.idx', change)
    expect(reported(await verify('u16'))).toMatch(message)
  })

  test('a .bin that is longer or shorter than its index says', async () => {
    copies('u16.bin', 'u16.idx')
    truncateSync(join(folder, 'u16.bin'), 10_000)
    expect(reported(await verify('u16'))).toMatch(/ends at byte 10638, but .* has 10000 bytes/)
    copies('u16.bin', 'u16.idx')
    appendFileSync(join(folder, 'u16.bin'), 'ab')
    expect(reported(await verify('u16'))).toMatch(/ends at byte 10638, but .* has 10640 bytes/)
  })

  test('an index that does not count the token at the end of documents is found and repaired', async () => {
    copies('blendcorpus.bin', 'blendcorpus.idx')
    const found = await verify('blendcorpus')
    expect(found.uncounted).toBe(EOD)
    expect(reported(found)).toMatch(/leaves out the token at the end of each document, 50256.*--repair/)
    const options = { repair: true, eod: EOD, reopen: async () => (await open('blendcorpus'))[0] }
    const mended = await verify('blendcorpus', options)
    expect(mended).toMatchObject({
      problems: [],
      uncounted: EOD,
      repaired: join(folder, 'blendcorpus.idx.before'),
    })
    expect(bytes('blendcorpus.idx.before').equals(bytes('blendcorpus.idx', golden))).toBe(true)
    const writer = openTokenWriter(join(folder, 'right'), { format: 'megatron', dtype: 'u16' })
    for (const [document] of expected.blendcorpus as number[][][])
      writer.document(Uint32Array.from(document), 0, document.length)
    await writer.finish()
    expect(bytes('blendcorpus.idx').equals(bytes('right.idx'))).toBe(true)
    expect(visible()).toEqual([
      'blendcorpus.bin',
      'blendcorpus.idx',
      'blendcorpus.idx.before',
      'right.bin',
      'right.idx',
    ])
  })

  test("OLMo's borders", async () => {
    copies('olmo.npy', 'olmo.csv.gz')
    const read = { dtype: 'u32' }
    expect(await verify('olmo.npy', { eod: EOD }, read)).toMatchObject({
      problems: [],
      documents: stream.length,
      empty: 0,
    })
    writeFileSync(join(folder, 'olmo.csv.gz'), gzipSync('0,5\n5,99999\n'))
    expect(reported(await verify('olmo.npy', {}, read))).toMatch(
      /olmo\.csv\.gz: line 2: a document that ends at token 99999/,
    )
    writeFileSync(join(folder, 'olmo.csv.gz'), gzipSync('0,5\n5,5\n'))
    const verdict = await verify('olmo.npy', { eod: 7 }, read)
    expect(verdict.empty).toBe(1)
    expect(reported(verdict)).toMatch(/document 0 ends with token \d+, not with 7/)
  })

  test('an index is not taken for one of these when documents end with different tokens', async () => {
    copies('blendcorpus.bin', 'blendcorpus.idx')
    patch('blendcorpus.bin', data => data.writeUInt16LE(1, data.length - 2))
    const options = { repair: true, reopen: async () => (await open('blendcorpus'))[0] }
    const verdict = await verify('blendcorpus', options)
    expect(verdict.repaired).toBeUndefined()
    expect(reported(verdict)).toMatch(/the last document ends at byte 18/)
    expect(visible()).toEqual(['blendcorpus.bin', 'blendcorpus.idx'])
  })
})

describe('show and statistics', () => {
  test('documents, counted through files, and rows across their borders', async () => {
    copies('u16.bin', 'u16.idx', 'nanogpt.bin')
    const files = await open(['u16', 'nanogpt.bin'])
    const all: number[] = [...expected.u16.flat(2), ...stream.flat()]
    const { tokens, where } = await documentTokens(files, 305, EOD, 1000, context())
    expect([...tokens]).toEqual(stream[5])
    expect(where).toMatch(/document 5 of .*nanogpt\.bin/)
    const row = Math.floor(5319 / 50)
    expect([...(await rowTokens(files, row, 50, 1000)).tokens]).toEqual(all.slice(row * 50, row * 50 + 51))
    expect((await rowTokens(files, row, 50, 10)).tokens).toHaveLength(10)
    await expect(documentTokens(files, 340, EOD, 10, context())).rejects.toThrow(
      /no document 340: the files have 340/,
    )
    await expect(rowTokens(files, 1e6, 50, 10)).rejects.toThrow(
      /no row 1000000: \d+ tokens make 119 rows of 50/,
    )
  })

  test('counts and lengths, and their sum', async () => {
    copies('u16.bin', 'u16.idx', 'i32.bin', 'i32.idx', 'nanogpt.bin', 'multi.bin', 'multi.idx')
    const reported = await Promise.all(
      (await open(['u16', 'i32'])).map(file => statisticsOf(file, undefined, context())),
    )
    const lengths = [...expected.u16.flat(), ...expected.i32.flat()].map(one => one.length)
    expect(reported[1]).toMatchObject({
      format: 'megatron',
      dtype: 'i32',
      documents: 200,
      shortest: 0,
      longest: 38,
    })
    const sum = lengths.reduce((a, b) => a + b)
    expect(total(reported)).toMatchObject({
      documents: 500,
      tokens: sum,
      empty: lengths.filter(n => n === 0).length,
      longest: 40,
    })
    expect(total(reported).mean).toBeCloseTo(sum / 500)
    const [nanogpt, multi] = await open(['nanogpt.bin', 'multi'])
    expect(await statisticsOf(nanogpt, undefined, context())).not.toHaveProperty('documents')
    expect((await statisticsOf(nanogpt, EOD, context())).documents).toBe(stream.length)
    expect(await statisticsOf(multi, undefined, context())).toMatchObject({ documents: 10, groups: 6 })
  })
})
