/**
 * Tokens are those of the package `tokenizers`: of hard texts and random ones by digests that it made
 * (test/golden/tokenize/make.mjs), and for GPT-2 directly. The plain twin gives the same.
 */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { digest, LONG, NASTY, RANDOM, randomText } from '../../../../test/golden/tokenize/texts.mjs'
import { ranksFile, tokenizerJson, type Vocabulary } from '../../../../test/golden/tokenize/vocabularies.mjs'
import { runs } from '../../../../test/support/runs.js'
import { BpeTokenizer } from '../../tokenize/tokenizer.js'
import { compileVocabulary } from '../../tokenize/vocabulary/compile.js'
import type { Model } from '../../tokenize/vocabulary/model.js'
import { readTiktoken } from '../../tokenize/vocabulary/tiktoken.js'
import { readTokenizerJson } from '../../tokenize/vocabulary/tokenizer-json.js'
import { encoded } from './encoded.js'
import { twinOf } from './twin/merge.js'

interface Digests {
  nasty: string
  random: string
  long: Record<string, string>
}
const GOLDEN = JSON.parse(
  readFileSync(new URL('../../../../test/golden/tokenize/tokens.json', import.meta.url), 'utf8'),
) as Record<Vocabulary, Digests>
const END = 0xffffffff

const files = new Map<string, Promise<string>>()
/** The text of a tokenizer.json, made once. */
function jsonOf(name: Vocabulary): Promise<string> {
  const made = files.get(name) ?? tokenizerJson(name).then(json => JSON.stringify(json))
  files.set(name, made)
  return made
}

/** OpenAI's come from ranks, the others from a tokenizer.json. */
async function modelOf(name: Vocabulary): Promise<Model> {
  if (name === 'cl100k' || name === 'o200k')
    return readTiktoken(readFileSync(ranksFile(name), 'latin1'), name)
  const model = readTokenizerJson(await jsonOf(name), name)
  if ('why' in model) throw new Error(model.why)
  return model
}

describe.each(['r50k', 'cl100k', 'o200k', 'llama3'] as const)('%s', name => {
  let model: Model
  let parsing: BpeTokenizer
  beforeAll(async () => {
    model = await modelOf(name)
    parsing = new BpeTokenizer(compileVocabulary(model), { special: 'parse' })
  })

  it('hard texts', () => {
    const all = NASTY.map(text => encoded(parsing, text))
    expect(digest(all.flatMap(ids => [...ids, END]))).toBe(GOLDEN[name].nasty)
    for (const [i, text] of NASTY.entries()) expect(Buffer.from(parsing.decode(all[i])).toString()).toBe(text)
  })

  it.each(Object.keys(LONG))('long texts: %s', text => {
    const made = LONG[text]()
    const ids = encoded(parsing, made)
    expect(digest(ids)).toBe(GOLDEN[name].long[text])
    expect(Buffer.from(parsing.decode(ids)).equals(Buffer.from(made))).toBe(true)
  })

  it('random texts', () => {
    const all: number[] = []
    for (let seed = 0; seed < RANDOM; seed++) all.push(...encoded(parsing, randomText(seed)), END)
    expect(digest(all)).toBe(GOLDEN[name].random)
  })

  it('the twin agrees on any text', () => {
    const tokenizer = new BpeTokenizer(compileVocabulary(model))
    const twin = twinOf(model)
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(fc.constantFrom(...NASTY, "'", 'a', 'B', ' ', '\n', '1', '!', '/', 'é', '中', '\u0301'))
        .map(parts => parts.join('')),
    )
    const agrees = fc.property(texts, text => {
      const whole = Buffer.from(text).toString()
      expect(encoded(tokenizer, whole)).toEqual(twin(whole))
    })
    fc.assert(agrees, { numRuns: runs(60) })
  })
})

it('GPT-2 has the tokens of the package tokenizers on any text', async () => {
  const json = await jsonOf('r50k')
  const { Tokenizer } = await import('tokenizers')
  const oracle = Tokenizer.fromString(json)
  const tokenizer = new BpeTokenizer(compileVocabulary(await modelOf('r50k')), { special: 'parse' })
  const agrees = fc.asyncProperty(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.constantFrom(...NASTY)).map(parts => parts.join('')),
    ),
    async text => {
      const whole = Buffer.from(text).toString()
      expect(encoded(tokenizer, whole)).toEqual((await oracle.encode(whole)).getIds())
    },
  )
  await fc.assert(agrees)
})
