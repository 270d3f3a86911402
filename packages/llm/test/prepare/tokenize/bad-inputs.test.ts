/** Inputs, disks and command lines that are wrong: each is named, nothing half is left, and what was done stays done. */
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { millrace, start } from '../../../../tools/test/prepare/helpers.js'
import { LineMemory } from '../../../prepare/tokenize/json/line-memory.js'
import type { TokenizeOptions } from '../../../prepare/tokenize/options.js'
import { readRange } from '../../../prepare/tokenize/read/lines.js'
import { documentsAt, lineOf, TOKENIZER, texts, tokenized, tokensOf } from './helpers.js'

function given(files: Record<string, string | Uint8Array>) {
  const folder = temporaryFolder()
  writeFiles(folder, files)
  const run = (paths: string[], more: Partial<TokenizeOptions> = {}) => tokenized(folder, paths, more)
  return { folder, run }
}

const jsonl = (all: readonly string[]) => `${all.map(lineOf).join('\n')}\n`

describe('a bad document', () => {
  test.each([
    ['{"text": "x"', /no JSON: /],
    ['not json', /no JSON: /],
    ['["x"]', /no JSON object such as \{"text": "…"\}.*jq -c/],
    ['{"content": "x", "id": 1}', /has no "text": its keys are "content", "id"/],
    ['{"text": null}', /has null under "text", and not a text/],
    ['{"text": ["x"]}', /has a list under "text"/],
    ['{"text": {"x": 1}}', /has an object under "text"/],
    ['{"text": 1}', /has a number under "text"/],
  ])('%s is named by file and line, or left out and counted', async (line, problem) => {
    const good = texts(9)
    const { folder, run } = given({
      'a.jsonl': `\n${jsonl(good.slice(0, 4))}${line}\n${jsonl(good.slice(4))}`,
    })
    const error = await run(['a.jsonl']).catch(error => error as Error)
    expect((error as Error).message).toMatch(problem)
    expect((error as Error).message).toMatch(/^.*\/a\.jsonl, line 6, .*--on-error skip/)
    const { skipped, bad } = await run(['a.jsonl'], { onError: 'skip' })
    expect(skipped).toBe(1)
    expect(bad).toEqual([expect.stringMatching(/a\.jsonl, line 6, /)])
    expect(documentsAt(join(folder, 'out'))).toEqual(await tokensOf(good))
  })

  test('that was left out of a part is an error again without --on-error skip', async () => {
    const { run } = given({ 'a.jsonl': `${jsonl(texts(3))}bad\n` })
    await expect(run(['a.jsonl'], { onError: 'skip', budget: 0 })).rejects.toThrow(/--budget 0/)
    await expect(run(['a.jsonl'])).rejects.toThrow(/a\.jsonl, line 4, is no JSON/)
  })

  test('one in many ranges, in a compressed file, and in a table', async () => {
    const many = texts(14_000)
    const lines = jsonl(many).split('\n')
    lines[11_000] = '{"text": }'
    const { run } = given({
      'a.jsonl': lines.join('\n'),
      'b.jsonl.gz': gzipSync(lines.join('\n')),
      'c.csv': 'id,text\n1,good\n2,\n',
    })
    await expect(run(['a.jsonl'])).rejects.toThrow(/a\.jsonl, line 11001, is no JSON/)
    await expect(run(['b.jsonl.gz'], { out: 'b' })).rejects.toThrow(/b\.jsonl\.gz, line 11001, is no JSON/)
    const { bad, skipped } = await run(['a.jsonl', 'b.jsonl.gz'], { out: 'c', onError: 'skip' })
    expect(skipped).toBe(2)
    expect(bad.map(text => /\w\.jsonl[^ ]* line \d+/.exec(text.replace(',', ''))?.[0])).toEqual([
      'a.jsonl line 11001',
      'b.jsonl.gz line 11001',
    ])
    await expect(run(['c.csv'], { out: 'd' })).rejects.toThrow(/c\.csv:1 .*"text"/)
  })

  test('more of them than the budget allows', async () => {
    const { run } = given({ 'a.jsonl': 'x\n'.repeat(4) + jsonl(texts(3)) })
    await expect(run(['a.jsonl'], { onError: 'skip', budget: 3 })).rejects.toThrow(
      /4 bad documents were left out, more than --budget 3 allows.*a\.jsonl, line 4, is no JSON/,
    )
    expect((await run(['a.jsonl'], { onError: 'skip', budget: 4 })).skipped).toBe(4)
  })

  test('bytes that are no UTF-8 are replaced and counted, or bad', async () => {
    const wrong = Buffer.concat([Buffer.from('{"text":"a'), Buffer.from([0xff]), Buffer.from('b"}\n')])
    const { folder, run } = given({ 'a.jsonl': Buffer.concat([Buffer.from('{"text":"good"}\n'), wrong]) })
    expect((await run(['a.jsonl'])).replaced).toBe(1)
    expect(documentsAt(join(folder, 'out'))).toEqual(await tokensOf(['good', 'a\ufffdb']))
    const fatal = { tokenizer: { path: TOKENIZER, invalid: 'fatal' as const }, out: 'fatal' }
    await expect(run(['a.jsonl'], fatal)).rejects.toThrow(/a\.jsonl, line 2, can't be tokenised: .*UTF-8/)
    expect((await run(['a.jsonl'], { ...fatal, onError: 'skip' })).skipped).toBe(1)
  })
})

describe('a file', () => {
  const packed = gzipSync(jsonl(texts(3000)))
  const broken = Buffer.from(packed)
  broken.fill(0x55, packed.length / 2, packed.length / 2 + 8)
  test.each<[string, string, string | Uint8Array, RegExp]>([
    ['cut off', 'a.jsonl.gz', packed.subarray(0, -20), /a\.jsonl\.gz \(gzip\) is damaged at byte \d+/],
    ['damaged', 'a.jsonl.gz', broken, /a\.jsonl\.gz \(gzip\) is damaged at byte \d+/],
    ['no gzip', 'a.jsonl.gz', jsonl(texts(3)), /a\.jsonl\.gz \(gzip\) is damaged at byte 0/],
    ['no zstd', 'a.jsonl.zst', jsonl(texts(3)), /a\.jsonl\.zst \(zstd\) is damaged near byte 0/],
    ['compressed', 'a.jsonl', packed, /a\.jsonl is compressed with gzip: give it the ending \.gz/],
    ['compressed text', 'a.txt', packed, /a\.txt is compressed with gzip/],
    ['UTF-16 with its mark', 'a.txt', Buffer.from('\ufefftext', 'utf16le'), /a\.txt is UTF-16/],
    ['UTF-16 of other order', 'a.txt', Buffer.from('\ufefftext', 'utf16le').swap16(), /a\.txt is UTF-16/],
    ['UTF-16', 'a.txt', Buffer.from('text of two bytes', 'utf16le'), /a\.txt is UTF-16/],
    ['unknown', 'a.doc', 'x', /a\.doc: its ending does not tell what it is: known are \.jsonl.*--lines/],
    ['a list', 'a.json', '[\n{"text":"x"}\n]\n', /a\.json, line 1, is no JSON/],
    ['empty', 'a.jsonl', '', /no document with a token/],
    ['blank', 'a.jsonl', '\n\n \n', /no document with a token/],
  ])('that is %s', async (_, name, data, message) => {
    const { folder, run } = given({ [name]: data })
    await expect(run([name])).rejects.toThrow(message)
    expect(readdirSync(folder).filter(name => /\.(bin|idx|lock)$|draft/.test(name))).toEqual([])
  })

  test('whose name looks like a pattern is found', async () => {
    const { folder, run } = given({ 'a[1].jsonl': jsonl(['good']), 'a1.jsonl': jsonl(['other']) })
    await run(['a[1].jsonl'])
    expect(documentsAt(join(folder, 'out'))).toEqual(await tokensOf(['good']))
  })

  test('zstd that is cut off', async () => {
    const { folder, run } = given({ 'a.jsonl': jsonl(texts(500)) })
    const { status } = spawnSync('zstd', ['-q', join(folder, 'a.jsonl')])
    if (status !== 0) return
    await run(['a.jsonl.zst'])
    truncateSync(join(folder, 'a.jsonl.zst'), 3000)
    await expect(run(['a.jsonl.zst'], { out: 'b' })).rejects.toThrow(
      /zstd\) is damaged at byte 3000.*cut off/,
    )
  })

  test('that is missing, or a folder without texts', async () => {
    const { run } = given({ 'f/a.jpg': 'x' })
    await expect(run(['none.jsonl'])).rejects.toThrow(/none\.jsonl is missing/)
    await expect(run(['*.jsonl'])).rejects.toThrow(/no file matches "\*\.jsonl"/)
    await expect(run(['f'])).rejects.toThrow(/f has no file to tokenise: known are \.jsonl/)
  })

  test('that changes while it is read, or between two ranges of it', () => {
    const { folder } = given({ 'a.jsonl': jsonl(texts(100)) })
    const file = join(folder, 'a.jsonl')
    const { size: bytes, mtimeMs } = statSync(file)
    let lines = 0
    const read = () =>
      readRange(
        { file, kind: 'json', bytes, mtimeMs },
        0,
        bytes,
        new LineMemory('text'),
        () => {
          if (++lines === 50) appendFileSync(file, '{"text":"more"}\n')
        },
        () => {},
      )
    expect(read).toThrow(/a\.jsonl changed while it was tokenised/)
    expect(lines).toBe(100)
    expect(read).toThrow(/a\.jsonl changed while it was tokenised/)
    expect(lines).toBe(100)
  })
})

describe('a full disk', () => {
  test('is named, and the same command goes on when there is room', async ({ skip }) => {
    const folder = temporaryFolder()
    const small = join(folder, 'small')
    mkdirSync(small)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]).status === 0
    if (!mounted) skip('a small tmpfs can not be mounted here')
    try {
      const many = texts(9000)
      writeFileSync(join(folder, 'a.jsonl'), jsonl(many))
      const args = [
        'tokenize',
        join(folder, 'a.jsonl'),
        '--tokenizer',
        TOKENIZER,
        '--out',
        join(small, 'out'),
      ]
      const full = await millrace(...args, '--workers', '1')
      expect(full.stderr).toMatch(/disk full while writing .*small.*same command again: it goes on/)
      expect(full.code).toBe(1)
      expect(readdirSync(small)).toEqual(['out.parts'])
      expect(spawnSync('mount', ['-o', 'remount,size=32m', small]).status).toBe(0)
      const again = await millrace(...args, '--json')
      expect(JSON.parse(again.stdout).reused).toBeGreaterThan(0)
      expect(documentsAt(join(small, 'out')).length).toBe((await tokensOf(many)).length)
    } finally {
      spawnSync('umount', [small])
    }
  })

  test('or a limit on the size of files', async () => {
    const { folder } = given({ 'a.jsonl': jsonl(texts(4000)) })
    const { code, stderr } = await start(
      ['tokenize', join(folder, 'a.jsonl'), '--tokenizer', TOKENIZER, '--out', join(folder, 'out')],
      { shell: 'ulimit -f 64' },
    ).ended
    expect(stderr).toMatch(
      /file size limit reached while writing .*: raise `ulimit -f`; the same command goes on/,
    )
    expect(code).toBe(1)
    expect(readdirSync(folder).sort()).toEqual(['a.jsonl', 'out.parts'])
  })
})

describe('the command line', () => {
  test.each([
    [['a.jsonl', '--out', 'o'], /needs --tokenizer T/],
    [['a.jsonl', '--tokenizer', TOKENIZER], /needs --out PREFIX/],
    [['-', 'a.jsonl', '--tokenizer', TOKENIZER, '--out', 'o'], /- is all of the input/],
    [['a', '--tokenizer', TOKENIZER, '--out', 'o', '--part', '3/2'], /--part wants K\/N/],
    [['a', '--tokenizer', TOKENIZER, '--out', 'o', '--part', '1/2', '--shuffle', '1'], /--shuffle needs all/],
    [
      ['a', '--tokenizer', TOKENIZER, '--out', 'o', '--format', 'arrow'],
      /--format wants megatron, nanogpt, llmc or npy/,
    ],
    [['a', '--tokenizer', TOKENIZER, '--out', 'o', '--on-error', 'no'], /--on-error wants fail or skip/],
  ])('%j', async (args, message) => {
    const { code, stderr } = await millrace('tokenize', ...args)
    expect(stderr).toMatch(message)
    expect(code).toBe(2)
  })

  test('an end of documents that is no token', async () => {
    const { run } = given({ 'a.txt': 'x' })
    await expect(run(['a.txt'], { eod: 70_000 })).rejects.toThrow(
      /--eod 70000: the tokenizer .* has the tokens 0 to/,
    )
  })

  test('says what was done, and what comes next', async () => {
    const { folder } = given({ 'a.jsonl': `${jsonl(texts(60))}x\n` })
    const out = join(folder, 'out')
    const { stdout, code } = await millrace(
      ...['tokenize', join(folder, 'a.jsonl'), '--tokenizer', TOKENIZER, '--out', out, '--on-error', 'skip'],
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^58 documents, [\d,]+ tokens \(u16\) in .* KiB, from .* MB\/s, [\d,]+ tokens\/s\)$/m,
    )
    expect(stdout).toMatch(/^skipped: .*a\.jsonl, line 61, is no JSON/m)
    expect(stdout).toMatch(/^2 empty documents left out; 1 bad document skipped$/m)
    expect(stdout).toMatch(/^A feed of it: millrace run '\{"source":\{"tokens":\{"path":".*out\.bin"/m)
    const share = await millrace(
      ...['tokenize', join(folder, 'a.jsonl'), '--tokenizer', TOKENIZER, '--out', out, '--on-error', 'skip'],
      ...['--part', '1/2'],
    )
    expect(share.stdout).toContain(`millrace tokens merge '${out}-*-of-00002.bin' --out ${out}`)
  })
})
