// Writes packages/llm/tokenize/shipped/millrace-4k.json: a small vocabulary for demos and tests, trained on this repository's own documents and
// sources by byte pair encoding, with the words of cl100k. The same files give the same vocabulary; it need not be renewed when they change.
// After `npm run build`: node scripts/train-vocabulary.mjs
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PATTERN_TEXTS } from '../build/llm/tokenize/scan/patterns.js'
import { importSource } from './import-source.mjs'

const { wordsOf } = await importSource('packages/llm/test/tokenize/twin/words.ts')

const SIZE = 4096
const SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|pad|>']
/** A word that stands in fewer places teaches nothing. */
const RARE = 3
const root = join(import.meta.dirname, '..')

/** The letter that stands for each byte in a tokenizer.json. */
const letters = []
for (let byte = 0, next = 256; byte < 256; byte++) {
  const seen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
  letters.push(String.fromCharCode(seen ? byte : next++))
}

const files = execFileSync(
  'git',
  ['ls-files', '*.md', 'packages/*.ts', 'python/millrace/*.py', 'examples/*'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .trim()
  .split('\n')
  .filter(file => /\.(md|ts|py|mjs)$/.test(file) && !/generated|class-table/.test(file))
  .sort()
const counts = new Map()
for (const file of files)
  for (const word of wordsOf(readFileSync(join(root, file), 'utf8'), 'cl100k'))
    counts.set(word, (counts.get(word) ?? 0) + 1)
const words = [...counts]
  .filter(([, count]) => count >= RARE)
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([word, count]) => ({ tokens: Array.from(Buffer.from(word), byte => letters[byte]), count }))

const vocabulary = letters.toSorted((a, b) => a.codePointAt(0) - b.codePointAt(0))
const merges = []
while (vocabulary.length + SPECIAL.length < SIZE) {
  const [left, right] = mostFrequent()
  merges.push([left, right])
  vocabulary.push(left + right)
  for (const word of words) merge(word.tokens, left, right)
}

/** The pair that stands in the most places; of several, the first in the order of the letters. */
function mostFrequent() {
  const pairs = new Map()
  for (const { tokens, count } of words)
    for (let i = 0; i + 1 < tokens.length; i++) {
      const pair = `${tokens[i]} ${tokens[i + 1]}`
      pairs.set(pair, (pairs.get(pair) ?? 0) + count)
    }
  let best
  for (const [pair, count] of pairs)
    if (best === undefined || count > best.count || (count === best.count && pair < best.pair))
      best = { pair, count }
  return best.pair.split(' ')
}

function merge(tokens, left, right) {
  for (let i = 0; i + 1 < tokens.length; i++)
    if (tokens[i] === left && tokens[i + 1] === right) tokens.splice(i, 2, left + right)
}

const token = (content, i) => ({
  id: vocabulary.length + i,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
})
const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
const json = {
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: SPECIAL.map(token),
  normalizer: null,
  pre_tokenizer: {
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', pattern: { Regex: PATTERN_TEXTS.cl100k }, behavior: 'Isolated', invert: false },
      bytes,
    ],
  },
  post_processor: null,
  decoder: bytes,
  model: {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    ignore_merges: false,
    vocab: Object.fromEntries(vocabulary.map((text, id) => [text, id])),
    merges: merges.map(pair => pair.join(' ')),
  },
}
const text = `${JSON.stringify(json)}\n`
writeFileSync(join(root, 'packages/llm/tokenize/shipped/millrace-4k.json'), text)
console.log(
  `${files.length} files, ${words.length} words, ${vocabulary.length + SPECIAL.length} tokens, ${text.length} characters`,
)
