/** Feeds of conversations: their fields follow from the source, and keys that don't go together are refused by name. */
import { expect, test } from 'vitest'
import { expectRefused } from '../../../../test/support/refusal.js'
import { blend, chat, jsonl, split, tokens } from '../../../all/index.js'
import { feed } from '../../define/build/feed.js'
import { validateFeed } from '../../define/check/validate.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { ChatJson } from '../../define/types.js'

const base: ChatJson = { source: { jsonl: 'a.jsonl' }, tokenizer: 'model', length: 8 }
const withChat = (change: object) => ({ source: { chat: { ...base, ...change } }, batch: 4 })
const layouts = (json: unknown) => normalizeFeed(json, '/').fields.map(({ layout }) => layout)
const names = (json: unknown) => layouts(json).map(({ name }) => name)

test('packed rows have the fields of tokens', () => {
  expect(names(withChat({}))).toEqual(['input', 'target'])
  expect(names(withChat({ shift: 'model' }))).toEqual(['tokens', 'labels'])
  expect(names(withChat({ naming: 'hf' }))).toEqual(['input_ids', 'labels', 'position_ids', 'seq_lens'])
  const [, cu] = layouts({ ...withChat({ capacity: 3 }), fields: ['input', 'cuSeqlens'] })
  expect(cu).toMatchObject({ shape: [3], flat: 8 })
})

test('pairs are padded with masks, or ragged', () => {
  const padded = layouts(withChat({ pairs: true }))
  expect(padded.map(({ name }) => name)).toEqual([
    'prompt',
    'chosen',
    'rejected',
    'promptMask',
    'chosenMask',
    'rejectedMask',
  ])
  expect(padded[1]).toMatchObject({ dtype: 'i64', form: 'padded', to: 'longest', max: 8 })
  const ragged = layouts(withChat({ pairs: true, ragged: true, naming: 'hf' }))
  expect(ragged.map(({ name, form }) => `${name} ${form}`)).toEqual([
    'prompt_ids ragged',
    'chosen_ids ragged',
    'rejected_ids ragged',
  ])
  expect(names({ ...withChat({ pairs: true }), fields: ['chosen'] })).toEqual(['chosen'])
  expectRefused({ ...withChat({ pairs: true }), fields: ['chosn'] }, 'fields[0]', /did you mean "chosen"/)
})

test('conversations and files of tokens can be blended, where rows are alike', () => {
  const corpus = tokens('a.bin', { length: 8 })
  const both = (length: number) =>
    validateFeed({
      source: blend([
        { source: chat(jsonl('a.jsonl'), { tokenizer: 'model', length }), weight: 1 },
        { source: corpus, weight: 3 },
      ]),
      batch: 4,
    })
  expect(names(both(8))).toEqual(['input', 'target'])
  expect(() => both(9)).toThrow('rows of one feed have the same columns')
})

test('what does not go together is refused', () => {
  expectRefused(withChat({ pack: 'concat' }), 'source.chat.pack', /bestFit/)
  expectRefused(withChat({ now: 'today' }), 'source.chat.now', /2024-07-26/)
  expectRefused(withChat({ train: 'user' }), 'source.chat.train', /assistant/)
  expectRefused(withChat({ variables: [1] }), 'source.chat.variables', /enable_thinking/)
  expectRefused(withChat({ pairs: true, shift: 'model' }), 'source.chat.shift', /pairs/)
  expectRefused(withChat({ pairs: true, long: 'split' }), 'source.chat.long', /truncate/)
  expectRefused(withChat({ shift: 'here', naming: 'hf' }), 'source.chat.naming', /shift/)
  expectRefused(withChat({ ragged: true }), 'source.chat.ragged', /document/)
  expectRefused(
    { source: { chat: { ...base, source: { blend: { entries: [] } } } }, batch: 4 },
    'source.chat.source.blend',
    /top/,
  )
})

test('the part for validation is cut from the conversations, before they are packed', () => {
  const source = chat(split(jsonl('a.jsonl'), { parts: { train: 0.9, val: 0.1 }, take: 'val' }), {
    tokenizer: 'model',
    length: 8,
  })
  expect(names(feed({ source, batch: 4 }).json)).toEqual(['input', 'target'])
})
