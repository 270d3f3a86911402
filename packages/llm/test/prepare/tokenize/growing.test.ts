/** Texts that a normalizer makes longer, tokenised by the package `tokenizers`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import type { TokenizeOptions } from '../../../prepare/tokenize/options.js'
import { documentsAt } from './helpers.js'

// From build/, since the package runs in a process.
const { tokenize } = (await import(
  new URL('../../../../../build/llm/prepare/tokenize/tokenize.js', import.meta.url).href
)) as typeof import('../../../prepare/tokenize/tokenize.js')

test('a character that becomes eighteen, in one document of three', async () => {
  const folder = temporaryFolder()
  const json = {
    version: '1.0',
    added_tokens: [],
    normalizer: { type: 'NFKC' },
    pre_tokenizer: { type: 'Split', pattern: { Regex: '.' }, behavior: 'Isolated', invert: false },
    model: { type: 'WordLevel', vocab: { u: 0, a: 1 }, unk_token: 'u' },
  }
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json))
  const texts = ['a', '\ufdfa'.repeat(60_000), 'aa']
  writeFileSync(join(folder, 'a.jsonl'), texts.map(text => JSON.stringify({ text })).join('\n'))
  const options: TokenizeOptions = {
    tokenizer: { path: 'tokenizer.json' },
    out: 'out',
    format: 'megatron',
    key: 'text',
    lines: false,
    eod: false,
    workers: 0,
    onError: 'fail',
    budget: 100,
    restart: false,
    root: folder,
  }
  await tokenize(['a.jsonl'], options)
  expect(documentsAt(join(folder, 'out')).map(({ length }) => length)).toEqual([1, 18 * 60_000, 2])
})
