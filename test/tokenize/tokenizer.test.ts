/** The kernel's tokens and words are those of its twin, of OpenAI's ranks, and of the package `tokenizers`. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { PATTERN_TEXTS, type PatternName } from '../../src/tokenize/scan/patterns.js'
import { BpeTokenizer } from '../../src/tokenize/tokenizer.js'
import { twinOf } from '../../src/tokenize/twin/merge.js'
import { wordsOf } from '../../src/tokenize/twin/words.js'
import { compileVocabulary } from '../../src/tokenize/vocabulary/compile.js'
import type { Model } from '../../src/tokenize/vocabulary/model.js'
import { readTiktoken } from '../../src/tokenize/vocabulary/tiktoken.js'
import { readTokenizerJson } from '../../src/tokenize/vocabulary/tokenizer-json.js'

const require = createRequire(import.meta.url)
const ranks = (name: string): string =>
  readFileSync(
    join(dirname(require.resolve('gpt-tokenizer/package.json')), `data/${name}_base.tiktoken`),
    'latin1',
  )

const NASTY = [
  '',
  ' ',
  'Hello world',
  "I'm you're THEY'LL 'S ſ 'ſ don't",
  'a  b   c\t\td\n\n\ne \n f\r\n\r\n',
  '12345678 1 22 333 4444 ٣٤٥ １２３４',
  '👨‍👩‍👧‍👦 👍🏽 🇩🇪',
  '你好，世界。日本語テキスト 한국어',
  'مرحبا بالعالم',
  'e\u0301 n\u0303 \u0301\u0301x',
  'a\0b\0',
  'ABCdefGHIjkl ǅx İstanbul',
  'def f(x):\n    return x // 2  # comment\n',
  '<|endoftext|> <|im_start|>',
  'https://example.com/a/b?c=d&e=f//\n/',
  `${'x'.repeat(100)}${'ab'.repeat(60)}`,
  '\ufeffBOM \u00a0nbsp\u3000ideographic \u0085next',
]

function encoded(tokenizer: BpeTokenizer, text: string): number[] {
  const bytes = Buffer.from(text)
  const out = new Uint32Array(bytes.length + 1)
  return [...out.subarray(0, tokenizer.encode(bytes, out, 0))]
}

describe.each(['r50k', 'cl100k', 'o200k'])('%s', name => {
  let model: Model
  let tokenizer: BpeTokenizer
  let twin: (text: string) => number[]
  let oracle: (text: string) => number[]

  beforeAll(async () => {
    model = readTiktoken(ranks(name), name)
    tokenizer = new BpeTokenizer(compileVocabulary(model))
    twin = twinOf(model)
    const { encode } = await import(`gpt-tokenizer/encoding/${name}_base`)
    oracle = text => encode(text, { disallowedSpecial: new Set() })
  })

  it.each(NASTY)('%j', text => {
    expect(encoded(tokenizer, text)).toEqual(twin(text))
    // V8 has U+FEFF among the spaces, and U+0085 not: its words differ there.
    if (!/[\ufeff\u0085]/.test(text)) expect(encoded(tokenizer, text)).toEqual(oracle(text))
    expect(Buffer.from(tokenizer.decode(encoded(tokenizer, text))).toString()).toBe(text)
  })

  it('any text', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(fc.constantFrom(...NASTY, "'", 'a', 'B', ' ', '\n', '1', '!', '/', 'é', '中', '\u0301'))
        .map(parts => parts.join('')),
    )
    fc.assert(
      fc.property(texts, text => {
        const whole = Buffer.from(text).toString()
        expect(encoded(tokenizer, whole)).toEqual(twin(whole))
      }),
      { numRuns: 300 },
    )
  })

  it('words that are longer than what is looked at, and texts in many pieces', () => {
    const letters = Array.from({ length: 300_000 }, (_, i) => 'abcdefghij'[(i * 7919 + (i >> 3)) % 10]).join(
      '',
    )
    const text = `${'some words and '.repeat(40_000)}${letters} and more`
    const tokens = encoded(tokenizer, text)
    expect(Buffer.from(tokenizer.decode(tokens)).toString()).toBe(text)
    expect(tokens.slice(0, 3000)).toEqual(twin('some words and '.repeat(1500)).slice(0, 3000))
  })
})

describe.each(Object.keys(PATTERN_TEXTS) as PatternName[])('words of %s', pattern => {
  it('are those of the package tokenizers, for every character', async () => {
    const { Tokenizer } = await import('tokenizers')
    const split = {
      type: 'Split',
      pattern: { Regex: PATTERN_TEXTS[pattern] },
      behavior: 'Isolated',
      invert: false,
    }
    const json = {
      version: '1.0',
      added_tokens: [],
      pre_tokenizer: split,
      model: { type: 'BPE', vocab: {}, merges: [] },
    }
    const oracle = Tokenizer.fromString(JSON.stringify(json)).getPreTokenizer()!
    const tokenizer = new BpeTokenizer(compileVocabulary({ ...readTiktoken(ranks('r50k'), 'r50k'), pattern }))
    const characters = Array.from({ length: 0x110000 }, (_, point) => point).filter(
      // Of the large blocks of letters, and of what is not assigned, some are enough.
      point =>
        (point < 0xd800 || point > 0xdfff) &&
        (point < 0x3400 || (point > 0xa000 && point < 0xac00) || point % 97 === 0),
    )
    const between = (c: string): string =>
      `a${c}b A${c}B 1${c}2 ${c} \n${c}\n'${c}' ${c}${c}a${c}'s 'r${c} 'l${c}e x'${c}y\t${c}\r ${c}!`
    for (let at = 0; at < characters.length; at += 500) {
      const text = characters
        .slice(at, at + 500)
        .map(point => between(String.fromCodePoint(point)))
        .join('')
      const wanted = oracle.preTokenizeString(text).map(([word]) => word)
      expect(wordsOf(text, pattern)).toEqual(wanted)
      let end = 0
      expect([...tokenizer.borders(Buffer.from(text))]).toEqual(
        wanted.map(word => (end += Buffer.byteLength(word))),
      )
    }
  })
})

describe('tokenizer.json', () => {
  /** GPT-2's vocabulary as Hugging Face writes it, made of the ranks. */
  function json(more: object = {}): string {
    const model = readTiktoken(ranks('r50k'), 'r50k')
    const visible = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
    const hidden = Array.from({ length: 256 }, (_, byte) => byte).filter(byte => !visible(byte))
    const letters = (bytes: Uint8Array): string =>
      Array.from(bytes, byte => String.fromCharCode(visible(byte) ? byte : 256 + hidden.indexOf(byte))).join(
        '',
      )
    const vocab = Object.fromEntries(model.tokens.map((bytes, id) => [letters(bytes), id]))
    const merges: [string, string][] = []
    const pairs = Array.from({ length: model.pairs.length / 3 }, (_, i) =>
      model.pairs.subarray(3 * i, 3 * i + 3),
    )
    for (const [left, right] of pairs.sort((a, b) => a[2] - b[2]))
      merges.push([letters(model.tokens[left]), letters(model.tokens[right])])
    return JSON.stringify({
      version: '1.0',
      added_tokens: [
        {
          id: 50256,
          content: '<|endoftext|>',
          special: true,
          single_word: false,
          lstrip: false,
          rstrip: false,
          normalized: false,
        },
      ],
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      post_processor: null,
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: '',
        end_of_word_suffix: '',
        fuse_unk: false,
        byte_fallback: false,
        vocab,
        merges,
      },
      ...more,
    })
  }

  it('gives the tokens of the package tokenizers', async () => {
    const { Tokenizer } = await import('tokenizers')
    for (const more of [{}, { normalizer: { type: 'NFC' } }]) {
      const text = json(more)
      const oracle = Tokenizer.fromString(text)
      const model = readTokenizerJson(text, 'tokenizer.json')
      if ('why' in model) throw new Error(model.why)
      const tokenizer = new BpeTokenizer(compileVocabulary(model), { special: 'parse' })
      for (const nasty of NASTY)
        expect(encoded(tokenizer, nasty), nasty).toEqual(
          (await oracle.encode(nasty, null, { addSpecialTokens: false })).getIds(),
        )
    }
  })

  it('special tokens in a text are text, unless they are asked for', () => {
    const model = readTokenizerJson(json(), 'tokenizer.json') as Model
    const compiled = compileVocabulary(model)
    expect(encoded(new BpeTokenizer(compiled), 'a<|endoftext|>b')).not.toContain(50256)
    expect(encoded(new BpeTokenizer(compiled, { special: 'parse' }), 'a<|endoftext|>b')).toEqual([
      64, 50256, 65,
    ])
  })

  it('text that is no UTF-8 is mended and counted, or refused', () => {
    const compiled = compileVocabulary(readTokenizerJson(json(), 'tokenizer.json') as Model)
    const tokenizer = new BpeTokenizer(compiled)
    const out = new Uint32Array(99)
    const wrong = Uint8Array.from([97, 0xff, 98])
    expect([...out.subarray(0, tokenizer.encode(wrong, out, 0))]).toEqual(encoded(tokenizer, 'a\ufffdb'))
    expect(tokenizer.replaced).toBe(1)
    expect(() => new BpeTokenizer(compiled, { invalid: 'fatal' }).encode(wrong, out, 0)).toThrow('no UTF-8')
  })

  it.each([
    ['a model of another kind', { model: { type: 'Unigram', vocab: [] } }, 'Unigram'],
    [
      'another pattern',
      {
        pre_tokenizer: {
          type: 'Sequence',
          pretokenizers: [
            { type: 'Split', pattern: { Regex: 'x+' }, behavior: 'Isolated', invert: false },
            { type: 'ByteLevel', use_regex: false, add_prefix_space: false },
          ],
        },
      },
      'no scanner',
    ],
    ['another normalizer', { normalizer: { type: 'Lowercase' } }, 'Lowercase'],
  ])('%s is not done here, and the reason is told', (_, more, why) => {
    expect(readTokenizerJson(json(more), 'tokenizer.json')).toMatchObject({
      why: expect.stringContaining(why),
    })
  })
})
