// Writes what the package `tokenizers` makes of hard texts: digests of tokens (tokens.json) and of the ends of words (borders.json).
// After `npm run build`: node test/golden/tokenize/make.mjs
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Tokenizer } from 'tokenizers'
import { PATTERN_TEXTS } from '../../../build/llm/tokenize/scan/patterns.js'
import { BLOCKS, between, digest, LONG, NASTY, RANDOM, randomText } from './texts.mjs'
import { tokenizerJson } from './vocabularies.mjs'

const write = (name, value) =>
  writeFileSync(join(import.meta.dirname, name), `${JSON.stringify(value, null, 1)}\n`)

const tokens = {}
for (const name of ['r50k', 'cl100k', 'o200k', 'llama3']) {
  const tokenizer = Tokenizer.fromString(JSON.stringify(await tokenizerJson(name)))
  const idsOf = async text => (await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds()
  const nasty = []
  for (const text of NASTY) nasty.push(await idsOf(text))
  const long = {}
  for (const [text, make] of Object.entries(LONG)) long[text] = digest(await idsOf(make()))
  const random = []
  for (let seed = 0; seed < RANDOM; seed++) random.push(...(await idsOf(randomText(seed))), 0xffffffff)
  tokens[name] = { nasty: digest(nasty.flatMap(ids => [...ids, 0xffffffff])), long, random: digest(random) }
  console.log(name)
}
write('tokens.json', tokens)

const borders = {}
for (const [name, pattern] of Object.entries(PATTERN_TEXTS)) {
  const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false }
  const json = { version: '1.0', added_tokens: [], pre_tokenizer: split, model: { type: 'BPE', vocab: {}, merges: [] } }
  const words = Tokenizer.fromString(JSON.stringify(json)).getPreTokenizer()
  borders[name] = Array.from({ length: BLOCKS }, (_, block) => {
    let end = 0
    return digest(words.preTokenizeString(between(block)).map(([word]) => (end += Buffer.byteLength(word))))
  }).join(' ')
  console.log(name)
}
write('borders.json', borders)
