/** Bad token files in a run: named, and never delivered. */
import {
  closeSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type FeedJson, type OpenOptions, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { tarFile } from '../../../../test/support/tar.js'
import { documentsOf, writeMegatron, writeNanogpt } from '../../../../test/support/tokens.js'
import type { TokensJson } from '../../../core/define/token-types.js'
import { openTokenFiles } from '../../tokens/formats/open.js'

process.env.MILLRACE_CACHE = temporaryFolder()

const ROWS = 400
const LENGTH = 16

const feedOf = (json: Partial<TokensJson>, rest: object = {}): FeedJson =>
  ({ source: { tokens: { path: 'a', length: LENGTH, ...json } }, batch: 4, ...rest }) as unknown as FeedJson

const PACKS: [string, Partial<TokensJson>][] = [
  ['a stream', {}],
  ['packed', { pack: 'bestFit' }],
  ['packed, with borders', { pack: 'bestFit', shift: 'model' }],
]

describe.each([0, 2])('with %i workers', workers => {
  const options = (folder: string): OpenOptions => ({
    root: folder,
    workers,
    depth: 2,
    epochs: 1,
    notice: () => {},
  })

  /** A run in which something happens to the files after a few steps: what it says, and the tokens that came before. */
  async function disturbed(json: Partial<TokensJson>, disturb: (folder: string) => void): Promise<string> {
    const folder = temporaryFolder()
    writeMegatron(folder, 'a', documentsOf(Array<number>(ROWS).fill(LENGTH + 1)))
    let said = ''
    await using(feedOf(json), options(folder), async loader => {
      let step = 0
      for await (const batch of loader) {
        const values = (batch.input ?? batch.tokens) as BigInt64Array
        // What was written over the file is never delivered.
        expect(values.includes(0n)).toBe(false)
        if (++step === 3) disturb(folder)
      }
    }).catch((error: Error) => {
      said = error.message
    })
    return said
  }

  test.each(PACKS)('a file that is shortened is named: %s', async (_, json) => {
    const said = await disturbed(json, folder => truncateSync(join(folder, 'a.bin'), 1000))
    expect(said).toMatch(/a\.bin/)
    expect(said).toMatch(/changed|had .* bytes/)
  })

  test.each(PACKS)('a file that is written over is named: %s', async (_, json) => {
    const said = await disturbed(json, folder => {
      const path = join(folder, 'a.bin')
      const { size, mtime } = statSync(path)
      const file = openSync(path, 'r+')
      writeSync(file, new Uint8Array(size))
      closeSync(file)
      utimesSync(path, mtime, new Date(mtime.getTime() + 5000))
    })
    expect(said).toMatch(/a\.bin/)
    expect(said).toMatch(/changed/)
  })

  test.each(PACKS)('a file that is removed, or replaced under an old time, is named: %s', async (_, json) => {
    const gone = await disturbed(json, folder => rmSync(join(folder, 'a.bin')))
    expect(gone).toMatch(/a\.bin changed during the run: it (is gone|was removed)/)
    const replaced = await disturbed(json, folder => {
      const path = join(folder, 'a.bin')
      const { size, atime, mtime } = statSync(path)
      writeFileSync(`${path}.new`, new Uint8Array(size))
      utimesSync(`${path}.new`, atime, mtime)
      renameSync(`${path}.new`, path)
    })
    expect(replaced).toMatch(/a\.bin changed during the run: it (was removed, replaced|has another time)/)
  })

  test('a token beyond the vocabulary is named by file, document and offset, or dropped', async () => {
    const folder = temporaryFolder()
    const documents = documentsOf([20, 30, 40])
    documents[1][7] = 9999
    writeMegatron(folder, 'a', documents)
    const json = { vocabulary: 500, phase: 0 as const, length: 8 }
    const run = (rest: object) =>
      using(feedOf(json, rest), options(folder), async loader => {
        let rows = 0
        for await (const batch of loader) rows += batch.count
        return rows
      })
    await expect(run({})).rejects.toThrow(/token 27 of .*a\.bin \(document 1, offset 7\) is 9999/)
    expect(await run({ onError: 'drop', batch: { size: 4, last: 'keep' } })).toBe(10)
  })

  test('a number that is no token is named, also without a vocabulary', async () => {
    const folder = temporaryFolder()
    const documents = documentsOf([20, 30])
    documents[1][3] = -7
    writeMegatron(folder, 'a', documents, 'i32')
    for (const pack of ['concat', 'bestFit'] as const) {
      const feed = feedOf({ length: 8, pack }, { batch: { size: 2, last: 'keep' } })
      const read = using(feed, options(folder), async loader => {
        for await (const batch of loader) expect(Array.from(batch.input as BigInt64Array)).not.toContain(-7n)
      })
      await expect(read).rejects.toThrow(
        /token 23 of .*a\.bin \(document 1, offset 3\) is -7, which is no token/,
      )
    }
  })
})

describe('when it is opened', () => {
  const open = (folder: string, json: Partial<TokensJson>) =>
    using(feedOf(json), { root: folder, workers: 0, notice: () => {} }, async loader => {
      await loader.ready
    })

  test('a .bin that is cut off, and an .idx of another .bin, are named', async () => {
    const folder = temporaryFolder()
    writeMegatron(folder, 'a', documentsOf([30, 40]))
    truncateSync(join(folder, 'a.bin'), 139)
    await expect(open(folder, {})).rejects.toThrow(/a\.bin/)
    truncateSync(join(folder, 'a.bin'), 100)
    await expect(open(folder, {})).rejects.toThrow(/a\.(bin|idx)/)
  })

  const text = '{"text":"a row of JSON","n":1}\n'.repeat(20)
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  const noise = (bytes: number): Buffer =>
    Buffer.from(Uint16Array.from({ length: bytes / 2 }, (_, i) => (i * 7919) % 50257).buffer)
  test.each<[string, string | Uint8Array, Partial<TokensJson>, RegExp]>([
    [
      'web.jsonl',
      text,
      {},
      /web\.jsonl is of the format "jsonl" by its name, not a file of tokens: use the source/,
    ],
    ['web.jsonl', text, { dtype: 'u16' }, /"jsonl" by its name/],
    ['a.tar', tarFile([{ name: 'a.txt', data: text }]), { dtype: 'u16' }, /"tar" by its name/],
    [
      'tar.bin',
      tarFile([{ name: 'a.txt', data: text }]),
      {},
      /tar\.bin is of the format "tar" by its first bytes/,
    ],
    ['parquet.bin', Buffer.concat([Buffer.from('PAR1'), noise(400)]), {}, /"parquet" by its first bytes/],
    ['packed.bin', gzipSync(text), {}, /compressed with gzip, not a file of tokens: unpack it/],
    ['zip.bin', Buffer.concat([Buffer.from('PK\x03\x04'), noise(400)]), {}, /a zip archive/],
    ['picture.bin', Buffer.concat([png, noise(400)]), {}, /a PNG picture/],
    ['sqlite.bin', Buffer.concat([Buffer.from('SQLite format 3\0'), noise(400)]), {}, /a database of SQLite/],
    ['gguf.bin', Buffer.concat([Buffer.from('GGUF\x03\0\0\0'), noise(400)]), {}, /a program or a model/],
    ['utf16.bin', Buffer.from(`\ufeff${text}`, 'utf16le'), {}, /text in UTF-16/],
    // As pyarrow begins a stream with a column of i32.
    [
      'stream.bin',
      Buffer.concat([Buffer.from('ffffffff78000000100000000000', 'hex'), noise(400)]),
      {},
      /of the format "arrow" by its first bytes, not a file of tokens/,
    ],
    ['text.bin', text, {}, /text\.bin is text \("\{\\"text\\":/],
    ['text.bin', 'Grüße aus Zürich, '.repeat(300), { dtype: 'u16' }, /is text .*millrace tokenize/],
    ['a.dat', noise(400), {}, /a\.dat: its name does not end in \.bin or \.npy.*"dtype": "u16"/],
    [
      'a.bin',
      noise(400),
      { dtype: 'u32', vocabulary: 50257 },
      /of its first 100 tokens .* are beyond the vocabulary of 50257/,
    ],
  ])('%s is refused where it holds no tokens (%#)', async (path, bytes, json, message) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, path), bytes)
    await expect(open(folder, { path, ...json })).rejects.toThrow(message)
    // `millrace tokens inspect` of a folder opens what is there.
    const inspected = openTokenFiles(folder, { dtype: json.dtype }, { root: folder, notice: () => {} })
    if (json.vocabulary === undefined) await expect(inspected).rejects.toThrow(message)
  })

  test.each<[string, string | Uint8Array, Partial<TokensJson>]>([
    ['a.bin', noise(400), {}],
    ['a.bin', noise(400), { vocabulary: 50257 }],
    ['a.dat', noise(400), { dtype: 'u16' }],
    ['bytes.txt', text, { dtype: 'u8' }],
    ['few.bin', 'abcd'.repeat(10), { length: 4 }],
  ])('%s is taken (%#)', async (path, bytes, json) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, path), bytes)
    await open(folder, { path, ...json })
  })

  test('files of no tokens, and of empty documents alone', async () => {
    const folder = temporaryFolder()
    writeMegatron(folder, 'a', documentsOf([0, 0]))
    await expect(open(folder, {})).rejects.toThrow(/0 tokens are too few/)
    await expect(open(folder, { pack: 'bestFit' })).rejects.toThrow(/none of the documents makes a row/)
    writeNanogpt(folder, 'n.bin', [])
    await expect(open(folder, { path: 'n.bin', dtype: 'u16' })).rejects.toThrow(/n\.bin/)
  })

  test('an index that is damaged is made anew', async () => {
    const folder = temporaryFolder()
    writeMegatron(folder, 'a', documentsOf([30, 40]))
    await open(folder, { pack: 'bestFit' })
    const { readdirSync } = await import('node:fs')
    const [kept] = readdirSync(folder).filter(name => name.endsWith('.millrace'))
    writeFileSync(join(folder, kept), 'nonsense')
    await open(folder, { pack: 'bestFit' })
    expect(statSync(join(folder, kept)).size).toBeGreaterThan(100)
  })
})
