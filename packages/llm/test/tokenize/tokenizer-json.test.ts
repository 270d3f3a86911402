/** What a tokenizer.json may say: each gives the tokens of the package `tokenizers`, or a reason why that package has to do it. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NASTY, randomText } from '../../../../test/golden/tokenize/texts.mjs'
import { addedToken, type TokenizerJson } from '../../../../test/golden/tokenize/vocabularies.mjs'
import { BpeTokenizer } from '../../tokenize/tokenizer.js'
import { compileVocabulary } from '../../tokenize/vocabulary/compile.js'
import type { Model } from '../../tokenize/vocabulary/model.js'
import { readTokenizerJson } from '../../tokenize/vocabulary/tokenizer-json.js'
import { encoded } from './encoded.js'
import { twinOf } from './twin/merge.js'

const { Tokenizer } = await import('tokenizers')
const shipped = (): TokenizerJson =>
  JSON.parse(
    readFileSync(new URL('../../tokenize/shipped/millrace-4k.json', import.meta.url), 'utf8'),
  ) as TokenizerJson

function modelOf(json: object): Model {
  const model = readTokenizerJson(JSON.stringify(json), 'tokenizer.json')
  if ('why' in model) throw new Error(model.why)
  return model
}

const TEXTS = [
  ...NASTY,
  'a  <tok>  b<tok>c <tok>',
  '<tok><tok> \u3000<tok>\u0085 x',
  'word<tok>s éa<tok> <tok>é _<tok> 1<tok>',
  '<caf\u00e9> <cafe\u0301> e\u0301<tok>',
  ...Array.from({ length: 100 }, (_, seed) => randomText(10_000 + seed).replaceAll('|endoftext|', 'tok')),
]

async function agrees(json: object, texts = TEXTS): Promise<void> {
  const oracle = Tokenizer.fromString(JSON.stringify(json))
  const tokenizer = new BpeTokenizer(compileVocabulary(modelOf(json)), { special: 'parse' })
  for (const text of texts)
    expect(encoded(tokenizer, text), JSON.stringify(text)).toEqual(
      (await oracle.encode(text, null, { addSpecialTokens: false })).getIds(),
    )
}

const bytes = (more: object): object => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: true,
  ...more,
})

describe('byte level', () => {
  it.each([
    ['GPT-2’s words', { pre_tokenizer: bytes({}) }],
    ['a blank before the text', { pre_tokenizer: bytes({ add_prefix_space: true }) }],
    ['the text as one word', { pre_tokenizer: bytes({ use_regex: false }) }],
    ['in a sequence of one', { pre_tokenizer: { type: 'Sequence', pretokenizers: [bytes({})] } }],
    ['NFC', { normalizer: { type: 'NFC' } }],
    ['NFC in a sequence', { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFC' }] } }],
  ])('%s', async (_, more) => {
    await agrees({ ...shipped(), ...more })
  })

  it('NFC leaves marks as they are that are younger than the tables of the package', async () => {
    // Marks that came with Unicode 10 to 17, and what is composed since 13 and 16.
    const marks = Array.from('\u07fd\u0898\u08ca\u09fe\u1abf\u1acf\u1dfa\u{10eab}\u{11a47}\u{1e08f}\u{1e4ec}')
    const pairs = ['\u{11935}\u{11930}', '\u{105d2}\u0307', '\u{1611e}\u{1611f}', '\u{16d67}\u{16d67}']
    const texts = [...marks.map(mark => `e${mark}\u0301\u0323 ${mark}`), ...pairs]
    await agrees({ ...shipped(), normalizer: { type: 'NFC' } }, [...texts, texts.join('e\u0301')])
  })

  it('ignore_merges', async () => {
    const json = shipped()
    // A token that no merge makes.
    Object.assign(json.model.vocab as object, { Ġxylophone: 4096 })
    const text = [' xylophone xylophone']
    await agrees({ ...json, model: { ...json.model, ignore_merges: true } }, text)
    await agrees(json, text)
  })

  it('of a merge that is there twice, the last counts', async () => {
    const json = shipped()
    const merges = json.model.merges as string[]
    await agrees({ ...json, model: { ...json.model, merges: [...merges, ...merges.slice(0, 40)] } })
  })
})

describe('added tokens', () => {
  it.each([
    ['plain', {}],
    ['that are not special', { special: false }],
    ['with the blanks before', { lstrip: true }],
    ['with the blanks behind', { rstrip: true }],
    ['with both', { lstrip: true, rstrip: true }],
    ['as words of their own', { single_word: true }],
    ['in normalised text', { normalized: true }],
    ['all of it', { lstrip: true, rstrip: true, single_word: true, normalized: true }],
  ])('%s', async (_, flags) => {
    const json = shipped()
    const added_tokens = [
      ...json.added_tokens,
      addedToken(4096, '<tok>', flags),
      addedToken(4097, '<tok><tok>', { ...flags, rstrip: false }),
      addedToken(4098, '<cafe\u0301>', flags),
      addedToken(4099, ' x', { special: false }),
    ]
    await agrees({ ...json, added_tokens })
    await agrees({ ...json, added_tokens, normalizer: { type: 'NFC' } })
    await agrees({ ...json, added_tokens, pre_tokenizer: bytes({ add_prefix_space: true }) })
  })

  it('that are special are text, unless they are asked for; others are found', () => {
    const json = shipped()
    const added_tokens = [...json.added_tokens, addedToken(4096, '<tok>', { special: false })]
    const compiled = compileVocabulary(modelOf({ ...json, added_tokens }))
    const text = 'a<|endoftext|>b<tok>'
    expect(encoded(new BpeTokenizer(compiled), text)).not.toContain(4092)
    expect(encoded(new BpeTokenizer(compiled), text).at(-1)).toBe(4096)
    expect(encoded(new BpeTokenizer(compiled, { special: 'parse' }), text)).toContain(4092)
  })
})

/** A vocabulary as Llama 2 and Gemma have them: characters, "▁" for blanks, bytes for the rest. */
function pieces(more: Partial<TokenizerJson> = {}, merges = MERGES): object {
  const names = ['<unk>', '<s>', '</s>']
  for (let byte = 0; byte < 256; byte++) names.push(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
  const single = [
    ...new Set(['▁', ...'abcdehilnorstwxy.,0123456789 \n'.replace(' ', ''), 'é', '你', '好', '👍', '\u0301']),
  ]
  const made = merges.map(merge => merge.join(''))
  const vocab = Object.fromEntries([...new Set([...names, ...single, ...made])].map((text, id) => [text, id]))
  return {
    version: '1.0',
    added_tokens: [
      addedToken(0, '<unk>'),
      addedToken(1, '<s>'),
      addedToken(2, '</s>'),
      addedToken(Object.keys(vocab).length, '<tok>', { special: false }),
    ],
    normalizer: LLAMA,
    pre_tokenizer: null,
    decoder: null,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: '<unk>',
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab,
      merges: merges.map(merge => merge.join(' ')),
    },
    ...more,
  }
}

const MERGES: [string, string][] = [
  ['▁', '▁'],
  ['▁▁', '▁▁'],
  ['h', 'e'],
  ['▁', 't'],
  ['▁t', 'he'],
  ['l', 'l'],
  ['he', 'll'],
  ['▁', 'hell'],
  ['o', 'r'],
  ['a', 'b'],
  ['ab', 'ab'],
  ['▁', 'a'],
  ['你', '好'],
  ['x', 'x'],
]
const LLAMA = {
  type: 'Sequence',
  normalizers: [
    { type: 'Prepend', prepend: '▁' },
    { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
  ],
}
const GEMMA = { type: 'Replace', pattern: { String: ' ' }, content: '▁' }
const metaspace = (more: object): object => ({ type: 'Metaspace', replacement: '▁', ...more })

describe('characters with bytes for the others', () => {
  const texts = [
    ...TEXTS,
    'the  hello<s>the</s> <tok> the',
    ' the',
    '▁the ▁ hello',
    '   the   ',
    '<tok>the',
    'xxx'.repeat(40_000),
  ]

  it.each([
    ['Llama 2', {}],
    [
      'Gemma',
      {
        normalizer: GEMMA,
        pre_tokenizer: {
          type: 'Split',
          pattern: { String: ' ' },
          behavior: 'MergedWithPrevious',
          invert: false,
        },
      },
    ],
    [
      'Metaspace, first',
      { normalizer: null, pre_tokenizer: metaspace({ prepend_scheme: 'first', split: false }) },
    ],
    [
      'Metaspace, always',
      { normalizer: null, pre_tokenizer: metaspace({ prepend_scheme: 'always', split: false }) },
    ],
    [
      'Metaspace, never',
      { normalizer: null, pre_tokenizer: metaspace({ prepend_scheme: 'never', split: false }) },
    ],
    [
      'Metaspace that cuts',
      { normalizer: null, pre_tokenizer: metaspace({ prepend_scheme: 'always', split: true }) },
    ],
  ])('%s', async (_, more) => {
    await agrees(pieces(more as Partial<TokenizerJson>), texts)
  })

  it('merges over the border of words keep the text in one piece', async () => {
    const json = pieces({}, [...MERGES, ['e', '▁'], ['e▁', 't']])
    expect(modelOf(pieces()).pattern).toBe('spaces')
    expect(modelOf(json).pattern).toBe('none')
    await agrees(json, texts)
  })

  it('the twin, and back to text', () => {
    const model = modelOf(pieces({ normalizer: GEMMA }))
    const tokenizer = new BpeTokenizer(compileVocabulary(model))
    const twin = twinOf(model)
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...'the l▁oab你好é👍') })),
        text => {
          const whole = Buffer.from(text.replaceAll('<', '')).toString()
          const ids = encoded(tokenizer, whole)
          expect(ids).toEqual(twin(whole))
          expect(Buffer.from(tokenizer.decode(ids)).toString()).toBe(whole.replaceAll('▁', ' '))
        },
      ),
    )
    for (const point of [0x7fffe, 0x7ffff, 0x80000, 0xfffff, 0x10ffff]) {
      const text = String.fromCodePoint(point)
      expect(encoded(tokenizer, text)).toEqual(twin(text))
    }
    const llama = new BpeTokenizer(compileVocabulary(modelOf(pieces())))
    expect(Buffer.from(llama.decode(encoded(llama, 'the hello \u{1f47e}'))).toString()).toBe(
      'the hello \u{1f47e}',
    )
  })
})

it('text that is no UTF-8 is mended and counted, or refused', () => {
  const compiled = compileVocabulary(modelOf(shipped()))
  const tokenizer = new BpeTokenizer(compiled)
  const wrong = Uint8Array.from([97, 0xff, 98])
  expect(encoded(tokenizer, wrong)).toEqual(encoded(tokenizer, 'a\ufffdb'))
  expect(tokenizer.replaced).toBe(1)
  expect(() => encoded(new BpeTokenizer(compiled, { invalid: 'fatal' }), wrong)).toThrow('no UTF-8')
})

it('tokens that don’t fit are refused, wherever they are found', () => {
  const tokenizer = new BpeTokenizer(compileVocabulary(modelOf(shipped())), { special: 'parse' })
  for (const text of ['hello world and more', '<|endoftext|><|endoftext|>'])
    expect(() => tokenizer.encode(Buffer.from(text), new Uint32Array(1), 0)).toThrow(RangeError)
})

const split = (more: object): object => ({
  type: 'Sequence',
  pretokenizers: [
    { type: 'Split', pattern: { Regex: 'x+' }, behavior: 'Isolated', invert: false, ...more },
    bytes({ use_regex: false }),
  ],
})

it.each([
  ['a model of another kind', { model: { type: 'Unigram', vocab: [] } }, 'Unigram'],
  ['another pattern', { pre_tokenizer: split({}) }, 'no scanner'],
  ['another pre-tokenizer', { pre_tokenizer: { type: 'Whitespace' } }, 'Whitespace'],
  [
    'three steps',
    { pre_tokenizer: { type: 'Sequence', pretokenizers: [bytes({}), bytes({}), bytes({})] } },
    'several steps',
  ],
  ['another normalizer', { normalizer: { type: 'Lowercase' } }, 'Lowercase'],
  ['no words', { pre_tokenizer: null }, 'cut words'],
  ['no bytes', { model: { ...shipped().model, vocab: { a: 0 }, merges: [] } }, 'bytes'],
])('%s is not done here, and the reason is told', (_, more, why) => {
  expect(readTokenizerJson(JSON.stringify({ ...shipped(), ...more }), 'tokenizer.json')).toMatchObject({
    why: expect.stringContaining(why),
  })
})

it.each([
  ['no JSON', '{', /no JSON/],
  ['null', 'null', /no "model"/],
  ['no model', '{"model": 3}', /no "model"/],
  [
    'dropout',
    JSON.stringify({ ...shipped(), model: { ...shipped().model, dropout: 0.1 } }),
    /"dropout": 0.1.*set it to null/,
  ],
  [
    'a merge of nothing',
    JSON.stringify({ ...shipped(), model: { ...shipped().model, merges: ['zzz qqq'] } }),
    /merge 0, "zzz qqq"/,
  ],
])('mistakes in the file are told: %s', (_, text, message) => {
  expect(() => readTokenizerJson(text, 'tokenizer.json')).toThrow(message)
})

it.each([
  ['beyond 2^31', { the: 2 ** 33 + 7 }, [], '"the" has the number 8589934599'],
  ['no whole number', { the: 1.5 }, [], '"the" has the number 1.5'],
  ['below 0', { the: -1 }, [], '"the" has the number -1'],
  ['two tokens with one', { the: 1, feed: 1 }, [], 'the tokens "the" and "feed" both have the number 1'],
  [
    "an added token with another's",
    { the: 1 },
    [{ id: 1, content: '</s>' }],
    '"the" and "</s>" both have the number 1',
  ],
  ['one token with two', { the: 1 }, [{ id: 2, content: 'the' }], '"the" has the numbers 1 and 2'],
  ['an added token without one', { the: 1 }, [{ content: '</s>' }], '"</s>" has the number undefined'],
  ['far behind the others', { the: 2 ** 30 }, [], 'at most 1048576 may be free'],
])('numbers of tokens are checked: %s', (_, vocab, added_tokens, message) => {
  const json = { model: { type: 'BPE', vocab, merges: [] }, added_tokens, pre_tokenizer: bytes({}) }
  expect(() => readTokenizerJson(JSON.stringify(json), 'tokenizer.json')).toThrow(message)
})
