/** Feeds of tokens: their fields follow from the source, and keys that don't go together are refused by name. */
import { describe, expect, test } from 'vitest'
import { expectRefused } from '../../../../test/support/refusal.js'
import { blend, shuffle, subset, tokens } from '../../../all/index.js'
import { feed } from '../../define/build/feed.js'
import { validateFeed } from '../../define/check/validate.js'
import { applyVariant } from '../../define/check/variants.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { TokensJson } from '../../define/token-types.js'

const base: TokensJson = { path: 'a.bin', length: 8 }
const good = { source: { tokens: base }, batch: 4 }
const withTokens = (change: object) => ({ ...good, source: { tokens: { ...base, ...change } } })
const layouts = (json: unknown) => normalizeFeed(json, '/').fields.map(({ layout }) => layout)
const names = (json: unknown) => layouts(json).map(({ name }) => name)

describe('the fields of a feed of tokens', () => {
  test('are input and target', () => {
    expect(layouts(good)).toEqual([
      { name: 'input', dtype: 'i64', shape: [8], form: 'dense' },
      { name: 'target', dtype: 'i64', shape: [8], form: 'dense' },
    ])
  })

  test('are tokens and labels where the model shifts, under the names of Hugging Face if asked', () => {
    expect(names(withTokens({ shift: 'model' }))).toEqual(['tokens', 'labels'])
    expect(names(withTokens({ naming: 'hf' }))).toEqual(['input_ids', 'labels'])
    const packed = ['input_ids', 'labels', 'position_ids', 'seq_lens']
    expect(names(withTokens({ naming: 'hf', pack: 'bestFit' }))).toEqual(packed)
  })

  test('may be a list of columns', () => {
    const json = { ...withTokens({ capacity: 5 }), fields: ['input', 'lossMask', 'cuSeqlens', 'cuCount'] }
    expect(layouts(json)).toEqual([
      { name: 'input', dtype: 'i64', shape: [8], form: 'dense' },
      { name: 'lossMask', dtype: 'bool', shape: [8], form: 'dense' },
      { name: 'cuSeqlens', dtype: 'i32', shape: [5], form: 'dense', flat: 8 },
      { name: 'cuCount', dtype: 'i32', shape: [], form: 'dense' },
    ])
    const megatron = { ...withTokens({ varlen: 'megatron' }), fields: ['cuSeqlens'] }
    expect(layouts(megatron)).toEqual([{ name: 'cuSeqlens', dtype: 'i32', shape: [9], form: 'dense' }])
  })

  test('may have names and types of their own, beside ordinary ones', () => {
    const fields = {
      x: { from: 'input', dtype: 'u16' },
      y: { from: 'target', as: 'npy', dtype: 'i32', shape: [8] },
    }
    expect(layouts({ ...good, fields }).map(({ name, dtype }) => [name, dtype])).toEqual([
      ['x', 'u16'],
      ['y', 'i32'],
    ])
  })

  test('of ragged rows are ragged', () => {
    const json = { ...withTokens({ pack: 'document', ragged: true }), fields: ['input', 'positionIds'] }
    expect(layouts(json)).toMatchObject([
      { name: 'input', form: 'ragged', max: 8 },
      { name: 'positionIds', form: 'ragged', max: 8 },
    ])
  })

  test('are the same for parts and blends of tokens', () => {
    const part = subset({ tokens: base }, { range: [0, 3] })
    expect(names({ ...good, source: part })).toEqual(['input', 'target'])
    const both = blend([
      { source: { tokens: base }, weight: 1 },
      { source: { tokens: { ...base, path: 'b.bin', pack: 'bestFit' } }, weight: 2 },
    ])
    expect(names({ ...good, source: both })).toEqual(['input', 'target'])
  })

  test('are those of a variant, too', () => {
    const variants = { val: { source: { tokens: { shift: 'model' } } } }
    const json = validateFeed({ ...good, variants })
    expect(names(applyVariant(json, 'val'))).toEqual(['tokens', 'labels'])
  })

  test('are the same in TypeScript', () => {
    const order = shuffle({ seed: 7 })
    expect(feed({ source: tokens('a.bin', { length: 8 }), order, batch: 4 }).json).toEqual({ ...good, order })
    const listed = feed({ source: tokens('a.bin', { length: 8 }), fields: ['input', 'segments'], batch: 4 })
    expect(listed.json).toEqual({ ...good, fields: ['input', 'segments'] })
    const named = feed({ source: tokens('a.bin', { length: 8 }), fields: { x: { from: 'input' } }, batch: 4 })
    expect(named.json).toEqual({ ...good, fields: { x: { from: 'input' } } })
    const varied = feed({
      source: tokens('a.bin', { length: 8 }),
      fields: ['input'],
      batch: 4,
      variants: { val: { batch: 2 } },
    })
    expect(varied.json).toEqual({ ...good, fields: ['input'], variants: { val: { batch: 2 } } })
  })
})

test('the phase goes by the seed of the order, unless it has one, or is off', () => {
  const order = { shuffle: 'global', seed: 7 }
  const seedOf = (json: object) => {
    const { source } = normalizeFeed({ ...json, order }, '/')
    return 'tokens' in source ? source.tokens.seed : undefined
  }
  expect(seedOf(good)).toBe(7)
  expect(seedOf(withTokens({ seed: 3 }))).toBe(3)
  expect(seedOf(withTokens({ phase: 0 }))).toBeUndefined()
  expect(seedOf(withTokens({ pack: 'bestFit' }))).toBeUndefined()
})

describe('refused is', () => {
  const refused: [string, object, string, RegExp][] = [
    ['a length that is none', withTokens({ length: 0 }), 'source.tokens.length', /≥ 1|from 1/],
    ['a phase but 0', withTokens({ phase: 5 }), 'source.tokens.phase', /expected 0/],
    ['a tail of packed rows', withTokens({ pack: 'bestFit', tail: 'pad' }), 'source.tokens.tail', /"concat"/],
    ['inserting into a stream', withTokens({ insert: { bos: 1 } }), 'source.tokens.insert', /as it is/],
    [
      'long documents in a stream',
      withTokens({ long: 'drop' }),
      'source.tokens.long',
      /"bestFit" or "document"/,
    ],
    [
      "Hugging Face's names with the shift here",
      withTokens({ naming: 'hf', shift: 'here' }),
      'source.tokens.naming',
      /model/,
    ],
    [
      'more borders than tokens',
      withTokens({ capacity: 10 }),
      'source.tokens.capacity',
      /at most length \+ 1, 9/,
    ],
    [
      'a share that is not there',
      withTokens({ documents: { split: [9, 1], take: 2 } }),
      'source.tokens.documents.take',
      /0 to 1/,
    ],
    [
      'an empty share',
      withTokens({ documents: { split: [9, 0], take: 1 } }),
      'source.tokens.documents.take',
      /no document/,
    ],
    [
      'an unknown column',
      { ...good, fields: ['input', 'cuSeqLens'] },
      'fields[1]',
      /did you mean "cuSeqlens"/,
    ],
    [
      'a target without a sign',
      { ...good, fields: { y: { from: 'target', dtype: 'u16' } } },
      'fields.y.dtype',
      /u16/,
    ],
    [
      'a split of packed rows',
      { ...good, source: { split: { source: { tokens: base }, parts: { train: 0.9 }, take: 'train' } } },
      'source.split.source',
      /a document would be in train and in val: .*"documents"/,
    ],
    [
      'a blend of rows of different length',
      {
        ...good,
        source: blend([
          { source: { tokens: base }, weight: 1 },
          { source: { tokens: { ...base, length: 16 } }, weight: 1 },
        ]),
      },
      'source.blend.entries[1].source.tokens.length',
      /is 16 here and 8 in the first/,
    ],
  ]
  test.each(refused)('%s', (_, json, path, message) => {
    expectRefused(json, path, message)
  })
})
