/** Tokens that do not add up to their text: what transformers' assistant mask has for the same tokenizer and texts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ChatTokenizer } from '../../chat/tokens.js'
import { openTokenizer } from '../../tokenize/open.js'

const folder = mkdtempSync(join(tmpdir(), 'millrace-align-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A vocabulary as Llama 2 has it: bytes, "▁" for a blank, and one before the text and behind each added token. */
async function llama(strips: { lstrip?: boolean; rstrip?: boolean }): Promise<ChatTokenizer> {
  const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
  const tokens = ['<unk>', ...bytes, '▁', 'a', 'b', '▁a', '▁▁']
  const added = ['<s>', '</s>'].map((content, i) => ({
    id: tokens.length + i,
    content,
    special: true,
    normalized: false,
    single_word: false,
    lstrip: false,
    rstrip: false,
    ...strips,
  }))
  const json = {
    version: '1.0',
    truncation: null,
    padding: null,
    pre_tokenizer: null,
    post_processor: null,
    added_tokens: added,
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Prepend', prepend: '▁' },
        { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
      ],
    },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: '<unk>',
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, i) => [token, i])),
      merges: [
        ['▁', 'a'],
        ['▁', '▁'],
      ],
    },
  }
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json))
  return new ChatTokenizer(await openTokenizer({ path: folder, special: 'parse' }, '/'))
}

/** The tokens that are trained on, for a text whose trained part stands between | and |. */
function masked(tokenizer: ChatTokenizer, marked: string): [number[], string] {
  const [before, trained, behind] = marked.split('|')
  const text = before + trained + behind
  const spans: [number, number][] = [[before.length, before.length + trained.length]]
  const { tokens, mask } = tokenizer.encode({ pieces: [{ text, literal: false }], spans, named: false })
  return [Array.from(tokens), mask.join('')]
}

test.for([
  ['<s>a |b a</s>|', {}, [262, 260, 257, 259, 260, 263], '000111'],
  ['b<s>|ab</s>|b', {}, [257, 259, 262, 260, 259, 263, 257, 259], '00011100'],
  ['▁a<s>  |a|', {}, [257, 260, 262, 261, 260], '00001'],
  ['a<s>\n|b|', { rstrip: true }, [260, 262, 257, 259], '0010'],
  ['<s> \n |a b|</s>', { rstrip: true }, [262, 260, 257, 259, 263], '01110'],
  ['a |b|  <s> a', { lstrip: true }, [260, 257, 259, 262, 257, 260], '001000'],
] as const)('%s of %j', async ([marked, strips, tokens, mask]) => {
  expect(masked(await llama(strips), marked)).toEqual([tokens, mask])
})
