/** A tokenizer is found, opened once, attached in any thread, and what is wrong with it is told. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import type { openTokenizer as OpenTokenizer } from '../../tokenize/open.js'
import { findPackage } from '../../tokenize/package/open.js'

// From build/, since the package runs in a thread.
const { openTokenizer, attachTokenizer } = (await import(
  new URL('../../../../build/llm/tokenize/open.js', import.meta.url).href
)) as typeof import('../../tokenize/open.js')

const folder = temporaryFolder()
const TEXT = 'The feed reads a sample, <|endoftext|> and 12345 more.\n'
process.env.MILLRACE_CACHE = join(folder, 'cache')

type Opened = Awaited<ReturnType<typeof OpenTokenizer>>

function tokensOf(opened: Opened, text: string | Uint8Array): number[] {
  const out = new Uint32Array(4 * text.length + 8)
  return [...out.subarray(0, attachTokenizer(opened).encode(Buffer.from(text as string), out, 0))]
}

const WORDS = ['[UNK]', '[SEP]', 'the', 'feed', 'read', '##s', 'a', 'sample']
const wordPiece = {
  version: '1.0',
  added_tokens: [
    { id: 8, content: '</s>', special: true },
    { id: 9, content: '<name>', special: false },
  ].map(token => ({ single_word: false, lstrip: false, rstrip: false, normalized: false, ...token })),
  pre_tokenizer: { type: 'Whitespace' },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
  },
}

beforeAll(() => {
  mkdirSync(join(folder, 'pieces'))
  writeFileSync(join(folder, 'pieces/tokenizer.json'), JSON.stringify(wordPiece))
})

it('the vocabulary that ships is opened by its name, and posted without a copy', async () => {
  const opened = await openTokenizer('millrace-4k', folder)
  expect(opened).toMatchObject({ name: 'millrace-4k', size: 4096, eod: 4092 })
  const posted = structuredClone(opened)
  expect((posted.vocabulary as { memory: Uint8Array }).memory.buffer).toBeInstanceOf(SharedArrayBuffer)
  const tokens = tokensOf(posted, TEXT)
  expect(tokens).not.toContain(4092)
  const tokenizer = attachTokenizer(opened)
  expect(Buffer.from(tokenizer.decode(tokens)).toString()).toBe(TEXT)
  expect(tokenizer.special.get('<|im_end|>')).toBe(4094)
  const parsed = await openTokenizer({ path: 'millrace-4k', special: 'parse' }, folder)
  expect(tokensOf(parsed, TEXT)).toContain(4092)
  expect(parsed.hash).not.toBe(opened.hash)
  // The second time the tables come from the cache.
  expect((await openTokenizer('millrace-4k', folder)).hash).toBe(opened.hash)
})

it('tables that are kept and damaged are made anew', async () => {
  const opened = await openTokenizer('millrace-4k', folder)
  const kept = join(folder, 'cache/tokenizers')
  const [name] = readdirSync(kept)
  const whole = readFileSync(join(kept, name))
  for (const wrong of [
    whole.subarray(0, -1),
    whole.subarray(0, 7),
    Buffer.concat([whole.subarray(0, -9), Buffer.alloc(9, 7)]),
  ]) {
    writeFileSync(join(kept, name), wrong)
    expect(tokensOf(await openTokenizer('millrace-4k', folder), TEXT)).toEqual(tokensOf(opened, TEXT))
    expect(readFileSync(join(kept, name)).equals(whole)).toBe(true)
  }
})

it('the vocabulary that ships has the tokens of the package tokenizers', async () => {
  const { Tokenizer } = await import('tokenizers')
  const oracle = Tokenizer.fromFile(join(import.meta.dirname, '../../tokenize/shipped/millrace-4k.json'))
  const opened = await openTokenizer({ path: 'millrace-4k', special: 'parse' }, folder)
  for (const text of [TEXT, 'Größe 你好 👨‍👩‍👧‍👦 \r\n\r\n  x', ''])
    expect(tokensOf(opened, text)).toEqual((await oracle.encode(text)).getIds())
})

it('another kind of model is left to the package tokenizers, with a notice', async () => {
  const notices: string[] = []
  const opened = await openTokenizer('pieces', folder, text => notices.push(text))
  expect(notices.join()).toMatch(/several times slower.*WordPiece/)
  expect(opened).toMatchObject({ name: 'pieces', size: 10, eod: 8 })
  expect(tokensOf(structuredClone(opened), 'the feed reads a sample')).toEqual([2, 3, 4, 5, 6, 7])
  // The name of a special token is text; the token behind it keeps its number.
  expect(tokensOf(opened, 'feed</s><name>')).toEqual([3, 0, 0, 0, 9])
  expect(
    tokensOf(await openTokenizer({ path: 'pieces', special: 'parse' }, folder), 'feed</s><name>'),
  ).toEqual([3, 8, 9])
  const tokenizer = attachTokenizer(opened)
  expect(Buffer.from(tokenizer.decode([2, 3, 4, 5])).toString()).toBe('the feed reads')
  tokenizer.encode(Uint8Array.of(97, 0xff), new Uint32Array(4), 0)
  expect(tokenizer.replaced).toBe(1)
})

it('without the package the error is the command that installs it', () => {
  expect(findPackage([join(folder, 'x.js')])).toBeUndefined()
  expect(findPackage([join(folder, 'x.js'), import.meta.url])).toMatch(/tokenizers/)
})

it('the token that ends a document is that of tokenizer_config.json, then one of the usual names', async () => {
  mkdirSync(join(folder, 'ends'))
  writeFileSync(join(folder, 'ends/tokenizer.json'), JSON.stringify(wordPiece))
  for (const [token, eod] of [
    ['<name>', 9],
    [{ content: '<name>' }, 9],
    ['<other>', 8],
    [null, 8],
  ]) {
    writeFileSync(join(folder, 'ends/tokenizer_config.json'), JSON.stringify({ eos_token: token }))
    expect((await openTokenizer('ends', folder)).eod).toBe(eod)
  }
})

it('mistakes are told with what to do', async () => {
  mkdirSync(join(folder, 'sentencepiece'))
  writeFileSync(
    join(folder, 'sentencepiece/tokenizer.model'),
    Uint8Array.of(0x0a, 0x0e, 0x0a, 5, 60, 117, 110, 107),
  )
  mkdirSync(join(folder, 'empty'))
  writeFileSync(join(folder, 'words.txt'), 'the feed\n')
  const wrong: [string, RegExp][] = [
    ['sentencepiece', /no tokenizer.json: make one with Python: .*AutoTokenizer/],
    ['sentencepiece/tokenizer.model', /SentencePiece model.*AutoTokenizer/],
    ['empty', /has no tokenizer.json/],
    ['piece', /did you mean pieces/],
    ['millrace-4', /did you mean "millrace-4k"/],
    ['openai-community/gpt2', /hf download openai-community\/gpt2 tokenizer.json/],
    ['meta-llama/Llama-3.1-8B', /hf download meta-llama\/Llama-3.1-8B tokenizer.json/],
    ['llama/tokenizer.json', /there is no tokenizer .*: name a tokenizer.json, .* or millrace-4k/],
    ['words.txt', /neither a tokenizer.json nor a .tiktoken file/],
  ]
  for (const [path, message] of wrong)
    await expect(openTokenizer(path, folder), path).rejects.toThrow(message)
})

it('add_prefix_space of tokenizer_config.json counts, as in transformers', async () => {
  const { Tokenizer } = await import('tokenizers')
  const json = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../tokenize/shipped/millrace-4k.json'), 'utf8'),
  )
  mkdirSync(join(folder, 'prefix'))
  for (const [inFile, config, wanted] of [
    [false, { add_prefix_space: true }, true],
    [true, { add_prefix_space: false }, false],
    [true, {}, false],
    [true, undefined, true],
  ] as const) {
    json.pre_tokenizer = { type: 'ByteLevel', add_prefix_space: inFile, trim_offsets: true, use_regex: true }
    writeFileSync(join(folder, 'prefix/tokenizer.json'), JSON.stringify(json))
    rmSync(join(folder, 'prefix/tokenizer_config.json'), { force: true })
    if (config) writeFileSync(join(folder, 'prefix/tokenizer_config.json'), JSON.stringify(config))
    const oracle = Tokenizer.fromString(
      JSON.stringify({ ...json, pre_tokenizer: { ...json.pre_tokenizer, add_prefix_space: wanted } }),
    )
    expect(tokensOf(await openTokenizer('prefix', folder), 'feed the')).toEqual(
      (await oracle.encode('feed the')).getIds(),
    )
  }
})

it('what is no regular file is refused at once', async () => {
  mkdirSync(join(folder, 'pipe'))
  execFileSync('mkfifo', [join(folder, 'pipe/tokenizer.json')])
  await expect(openTokenizer('pipe', folder)).rejects.toThrow('tokenizer.json is a named pipe (FIFO)')
})

it.each([
  [
    'a pattern that goes back without end',
    { pre_tokenizer: { type: 'Split', pattern: { Regex: '(a+)+$' }, behavior: 'Isolated', invert: false } },
  ],
  [
    'a normalizer that grows without end',
    {
      normalizer: {
        type: 'Sequence',
        normalizers: Array(40).fill({ type: 'Replace', pattern: { String: 'a' }, content: 'aaaa' }),
      },
    },
  ],
])('the package tokenizers ends with %s, and this process does not', async (_, more) => {
  mkdirSync(join(folder, 'hostile'), { recursive: true })
  writeFileSync(join(folder, 'hostile/tokenizer.json'), JSON.stringify({ ...wordPiece, ...more }))
  const tokenizer = attachTokenizer(await openTokenizer('hostile', folder))
  const out = new Uint32Array(1000)
  const text = Buffer.from(`${'a'.repeat(40)}!`)
  for (let again = 0; again < 2; again++)
    expect(() => tokenizer.encode(text, out, 0)).toThrow(
      /the package tokenizers failed at a text of 41 bytes with the tokenizer hostile/,
    )
  // The next text is asked of another process.
  expect(tokenizer.encode(Buffer.from('the'), out, 0)).toBe(1)
})
