/** Which tokens of an answer are trained on, where its first or last characters have no token of their own. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'

// From build/, since the package tokenizers runs in a process.
const build = new URL('../../../../build/', import.meta.url)
const { ChatTokenizer } = (await import(
  new URL('llm/chat/tokens.js', build).href
)) as typeof import('../../chat/tokens.js')
const { openTokenizer } = (await import(
  new URL('llm/tokenize/open.js', build).href
)) as typeof import('../../tokenize/open.js')

const folder = temporaryFolder()

/** Tokens that are trained on, of a text in which "|" stands before and behind what the assistant wrote. */
async function trained(tokenizer: string, marked: string): Promise<number[]> {
  const [before, answer, after] = marked.split('|')
  const spans: [number, number][] = [[before.length, before.length + answer.length]]
  const pieces = [{ text: before + answer + after, literal: false }]
  const opened = await openTokenizer({ path: tokenizer, special: 'parse' }, folder)
  const { tokens, mask } = new ChatTokenizer(opened).encode({ pieces, spans, named: false })
  return [...tokens].filter((_, i) => mask[i] === 1)
}

test('an answer that begins or ends with characters that the tokenizer drops', async () => {
  const names = ['[UNK]', '[', ']', 'user', 'hello', 'world']
  const model = {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 9,
  }
  const vocab = Object.fromEntries(names.map((name, id) => [name, id]))
  const json = {
    version: '1.0',
    added_tokens: [],
    pre_tokenizer: { type: 'BertPreTokenizer' },
    model: { ...model, vocab },
  }
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json))
  expect(await trained(folder, '[user]|\n hello|[user]')).toEqual([4])
  expect(await trained(folder, '[user]|hello world \n|[user]')).toEqual([4, 5])
  expect(await trained(folder, '[user]| \n |[user]')).toEqual([])
})

test('both tokens of a last character that is decomposed, and nothing behind it', async () => {
  const { readFileSync } = await import('node:fs')
  const shipped = new URL('../../tokenize/shipped/millrace-4k.json', import.meta.url)
  const json = { ...JSON.parse(readFileSync(shipped, 'utf8')), normalizer: { type: 'NFC' } }
  const nfc = join(folder, 'nfc.json')
  writeFileSync(nfc, JSON.stringify(json))
  const { Tokenizer } = await import('tokenizers')
  // A letter that the vocabulary has as two bytes.
  const ids = async (text: string) => (await Tokenizer.fromString(JSON.stringify(json)).encode(text)).getIds()
  expect(await ids('\u1e0b')).toHaveLength(3)
  expect(await trained(nfc, '<|d\u0307|<')).toEqual(await ids('\u1e0b'))
})
