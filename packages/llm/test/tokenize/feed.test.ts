/** The operator `tokenize`: texts arrive as the tokens that the package `tokenizers` gives, and mistakes are told at once. */
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { digests, type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { text } from '../../../all/index.js'
import type { FieldJson } from '../../../core/define/types.js'

const folder = temporaryFolder()
process.env.MILLRACE_CACHE = join(folder, 'cache')
const repository = join(import.meta.dirname, '../../../..')
const SHIPPED = join(repository, 'packages/llm/tokenize/shipped/millrace-4k.json')
const EOD = 4092

const TEXTS = Array.from({ length: 40 }, (_, i) =>
  [
    'The feed reads 12345 samples.',
    "I'm <|endoftext|> here",
    'Größe 你好 👨‍👩‍👧‍👦',
    '   x\t\ty',
    'def f(x): return x',
    '',
  ][i % 6].repeat(1 + (i % 3)),
)
writeFileSync(
  join(folder, 'texts.jsonl'),
  TEXTS.map((text, id) => `${JSON.stringify({ text, id })}\n`).join(''),
)
writeFileSync(join(folder, 'texts.txt'), TEXTS.filter(text => text !== '').join('\n'))
cpSync(join(repository, 'test/golden/parquet/codec-none.parquet'), join(folder, 'texts.parquet'))

const { Tokenizer } = await import('tokenizers')
const oracle = Tokenizer.fromFile(SHIPPED)
/** The tokens of a text in which names of special tokens are text: they are cut where words end, so that none is found. */
async function tokensOf(given: string): Promise<number[]> {
  const ids: number[] = []
  for (const part of given.split(/(?<=<\|)(?=endoftext)/))
    ids.push(...(await oracle.encode(part, null, { addSpecialTokens: false })).getIds())
  return ids
}

const tokens = (tokenize: unknown, rest: Partial<FieldJson> = {}): FieldJson =>
  ({ from: 'text', as: 'text', apply: [{ tokenize }], ...rest }) as FieldJson

const feed = (source: object, field: FieldJson, rest: Partial<FeedJson> = {}): FeedJson =>
  ({
    source,
    fields: { tokens: field, text: { from: 'text', as: 'text' } },
    batch: { size: 8, last: 'keep' },
    ...rest,
  }) as FeedJson

/** Text and tokens of all rows. */
async function rows(json: FeedJson, workers: number): Promise<{ text: string; tokens: number[] }[]> {
  return using(json, { root: folder, workers }, async loader => {
    const found: { text: string; tokens: number[] }[] = []
    for await (const batch of loader) {
      const { values, offsets } = batch.tokens as { values: ArrayLike<number | bigint>; offsets: Int32Array }
      ;(batch.text as string[]).forEach((text, i) => {
        const own = Array.from(values).slice(offsets[i], offsets[i + 1])
        found.push({ text, tokens: own.map(Number) })
      })
    }
    return found
  })
}

const SOURCES = [{ jsonl: 'texts.jsonl' }, { parquet: 'texts.parquet' }, { text: 'texts.txt' }]

test.each(SOURCES)('%j gives the tokens of the package tokenizers, with any workers', async source => {
  const json = feed(source, tokens({ tokenizer: SHIPPED, max: 512 }))
  const found = await rows(json, 0)
  expect(found.length).toBeGreaterThan(30)
  for (const { text, tokens } of found) expect(tokens, text).toEqual(await tokensOf(text))
  expect(await rows(json, 2)).toEqual(found)
})

test('a state is taken up in the middle', async () => {
  const json = feed(
    { jsonl: 'texts.jsonl' },
    tokens({ tokenizer: 'millrace-4k', max: 64 }, { dtype: 'i32' }),
    {
      order: { shuffle: 'global', seed: 3 },
    },
  )
  const all = await digests(json, { root: folder, workers: 2 })
  const state = await using(json, { root: folder, workers: 2 }, async loader => {
    let steps = 0
    for await (const _ of loader) if (++steps === 2) break
    return loader.state()
  })
  expect(await digests(json, { root: folder, workers: 1, state })).toEqual(all.slice(2))
})

test('texts are cut, ended, padded, and made in the element type that is asked for', async () => {
  const [whole] = await rows(
    feed({ jsonl: 'texts.jsonl' }, tokens({ tokenizer: 'millrace-4k', max: 512 })),
    0,
  )
  const cut = async (more: object): Promise<number[]> =>
    (await rows(feed({ jsonl: 'texts.jsonl' }, tokens({ tokenizer: 'millrace-4k', max: 4, ...more })), 0))[0]
      .tokens
  expect(whole.tokens.length).toBeGreaterThan(5)
  expect(await cut({})).toEqual(whole.tokens.slice(0, 4))
  expect(await cut({ truncate: 'left' })).toEqual(whole.tokens.slice(-4))
  expect(await cut({ append: 'eod' })).toEqual([...whole.tokens.slice(0, 3), EOD])
  expect(await cut({ append: 7, max: 64 })).toEqual([...whole.tokens, 7])
  for (const dtype of ['i64', 'i32', 'u32', 'u16', 'i16'] as const) {
    const built = text('text')
      .tokenize({ tokenizer: 'millrace-4k', max: 16 })
      .pad({ to: 16, value: 9 })
      .dtype(dtype)
    await using(feed({ jsonl: 'texts.jsonl' }, built.json), { root: folder, workers: 0 }, async loader => {
      for await (const batch of loader) {
        const row = Array.from((batch.tokens as Int32Array).slice(0, 16), Number)
        expect(row).toEqual([...whole.tokens, ...Array(16).fill(9)].slice(0, 16))
        expect(batch.shape('tokens')).toEqual([8, 16])
        break
      }
    })
  }
})

test('special tokens in a text, a text that stands for none, and a function before', async () => {
  const parsed = await rows(
    feed({ jsonl: 'texts.jsonl' }, tokens({ tokenizer: 'millrace-4k', max: 64, special: 'parse' })),
    0,
  )
  expect(parsed[1].tokens).toContain(EOD)
  const json = feed(
    { parquet: 'texts.parquet' },
    tokens({ tokenizer: 'millrace-4k', max: 64 }, { from: 'holes', missing: 'none' }),
  )
  const missing = await rows(
    { ...json, fields: { ...json.fields, text: { from: 'holes', as: 'text', missing: 'none' } } },
    0,
  )
  const lacking = missing.filter(({ text }) => text === 'none')
  expect(lacking.length).toBeGreaterThan(0)
  for (const { tokens } of lacking) expect(tokens).toEqual(await tokensOf('none'))
})

test('the content hash covers the tokenizer, not its path', async () => {
  cpSync(SHIPPED, join(folder, 'copy.json'))
  const hash = async (tokenize: object): Promise<string> =>
    using(
      feed({ jsonl: 'texts.jsonl' }, tokens({ max: 64, ...tokenize })),
      { root: folder, workers: 0 },
      async loader => {
        await loader.ready
        return loader.state().content
      },
    )
  const own = await hash({ tokenizer: 'millrace-4k' })
  expect(await hash({ tokenizer: 'copy.json' })).toBe(own)
  expect(await hash({ tokenizer: 'copy.json', special: 'parse' })).not.toBe(own)
})

test.each([
  [
    'a tokenizer that is not there',
    { tokenizer: 'nothing.json', max: 8 },
    {},
    /fields.tokens.apply\[0\].tokenize.tokenizer: there is no tokenizer/,
  ],
  [
    'a file that is no tokenizer',
    { tokenizer: 'texts.txt', max: 8 },
    {},
    /neither a tokenizer.json nor a .tiktoken/,
  ],
  [
    'an element type that is too small',
    { tokenizer: 'millrace-4k', max: 8 },
    { dtype: 'u8' },
    /fields.tokens.dtype: u8 can't hold/,
  ],
  ['floats', { tokenizer: 'millrace-4k', max: 8 }, { dtype: 'f32' }, /a token can't be f32/],
  ['no greatest length', { tokenizer: 'millrace-4k' }, {}, /greatest length of a row is not known: give max/],
  ['two lengths', { tokenizer: 'millrace-4k', max: 8 }, { pad: { to: 16 } }, /different greatest lengths/],
  ['a token that is not there', { tokenizer: 'millrace-4k', max: 8, append: 5000 }, {}, /no token 5000/],
  ['a misspelt option', { tokenizer: 'millrace-4k', max: 8, truncat: 'left' }, {}, /truncate/],
])('%s is a mistake of the definition', async (_, tokenize, rest, message) => {
  const json = feed({ jsonl: 'texts.jsonl' }, tokens(tokenize, rest as Partial<FieldJson>), {
    onError: 'drop',
  })
  await expect(rows(json, 0)).rejects.toMatchObject({
    tag: 'Definition',
    message: expect.stringMatching(message),
  })
})

test.each([
  [{ apply: [{ crop: [4] }] }, /no operator of text "crop"|unknown operator/],
  [{ dtype: 'i32' }, /means nothing for text, unless/],
  [{ pad: { to: 4 } }, /means nothing for text, unless/],
])('text with %j', async (rest, message) => {
  const json = feed({ jsonl: 'texts.jsonl' }, { from: 'text', as: 'text', ...rest } as FieldJson)
  await expect(rows(json, 0)).rejects.toThrow(message)
})
