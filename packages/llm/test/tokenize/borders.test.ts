/**
 * Words end where those of the package `tokenizers` do, for every character of Unicode between letters, numbers, blanks, line breaks and
 * apostrophes: by digests that it made (test/golden/tokenize/make.mjs), and for some blocks directly.
 */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { BLOCKS, between, digest } from '../../../../test/golden/tokenize/texts.mjs'
import { PATTERN_TEXTS, type TextPattern } from '../../tokenize/scan/patterns.js'
import { BpeTokenizer } from '../../tokenize/tokenizer.js'
import { compileVocabulary } from '../../tokenize/vocabulary/compile.js'
import { wordsOf } from './twin/words.js'

const GOLDEN = JSON.parse(
  readFileSync(new URL('../../../../test/golden/tokenize/borders.json', import.meta.url), 'utf8'),
) as Record<TextPattern, string>
const PATTERNS = Object.keys(PATTERN_TEXTS) as TextPattern[]

/** A vocabulary of bytes alone. */
function bytesOnly(pattern: TextPattern): BpeTokenizer {
  const bytes = Uint32Array.from({ length: 256 }, (_, byte) => byte)
  const tokens = Array.from(bytes, byte => Uint8Array.of(byte))
  const none = new Uint32Array(0)
  return new BpeTokenizer(
    compileVocabulary({
      pattern,
      tokens,
      bytes,
      pairs: none,
      made: none,
      whole: false,
      added: [],
      nfc: false,
    }),
  )
}

it('for every character, by digest', () => {
  const tokenizers = PATTERNS.map(pattern => ({
    tokenizer: bytesOnly(pattern),
    wanted: GOLDEN[pattern].split(' '),
  }))
  for (let block = 0; block < BLOCKS; block++) {
    const text = Buffer.from(between(block))
    tokenizers.forEach(({ tokenizer, wanted }, i) => {
      expect(digest(tokenizer.borders(text)), `${PATTERNS[i]}, block ${block}`).toBe(wanted[block])
    })
  }
})

it.each(PATTERNS)('%s: directly, and by the twin', async pattern => {
  const { Tokenizer } = await import('tokenizers')
  const split = {
    type: 'Split',
    pattern: { Regex: PATTERN_TEXTS[pattern] },
    behavior: 'Isolated',
    invert: false,
  }
  const model = { type: 'BPE', vocab: {}, merges: [] }
  const oracle = Tokenizer.fromString(
    JSON.stringify({ version: '1.0', added_tokens: [], pre_tokenizer: split, model }),
  ).getPreTokenizer()!
  const tokenizer = bytesOnly(pattern)
  // Latin to Arabic; and one piece of every block.
  const pieces = [
    between(0).slice(0, 60_000),
    ...[1, 2, 10, 16, 29, 30].map(block => between(block).slice(0, 6000)),
  ]
  for (const piece of pieces) {
    // No half of a character at the end.
    const text = Buffer.from(piece)
      .toString()
      .replace(/\ufffd$/, '')
    const words = oracle.preTokenizeString(text).map(([word]) => word)
    expect(wordsOf(text, pattern)).toEqual(words)
    let end = 0
    expect([...tokenizer.borders(Buffer.from(text))]).toEqual(
      words.map(word => (end += Buffer.byteLength(word))),
    )
  }
})
