/** Variants are merge patches by RFC 7396, whose own examples are the test. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyVariant, mergePatch, patchBetween } from '../../define/check/variants.js'
import type { FeedJson } from '../../define/types.js'

describe('merge patches', () => {
  test.each<[unknown, unknown, unknown]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j + %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result)
  })

  test('the patch between two objects makes one of the other', () => {
    // Null can't be set by a merge patch; definitions have none.
    const value = fc.jsonValue({ maxDepth: 3 }).map(v => JSON.parse(JSON.stringify(v), (_, x) => x ?? 0))
    const object = fc.dictionary(fc.string(), value)
    fc.assert(
      fc.property(object, object, (before, after) => {
        const patch = patchBetween(before, after)
        expect(canonical(mergePatch(before, patch ?? {}))).toBe(canonical(after))
      }),
    )
  })
})

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, v) =>
    typeof v === 'object' && v !== null && !Array.isArray(v)
      ? Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))
      : v,
  )

describe('variants', () => {
  const feed: FeedJson = {
    source: { tar: 'train.tar' },
    order: { shuffle: 'global', seed: 7 },
    fields: { image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: 224 }], dtype: 'f32' } },
    batch: 256,
    variants: {
      val: {
        source: { tar: 'val.tar' },
        order: 'none',
        fields: { image: { apply: [{ resize: [224, 224] }] } },
      },
      test: {},
    },
  }

  test('change what they name and nothing else', () => {
    expect(applyVariant(feed, 'val')).toEqual({
      source: { tar: 'val.tar' },
      order: 'none',
      fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [224, 224] }], dtype: 'f32' } },
      batch: 256,
    })
    expect(feed.order).toEqual({ shuffle: 'global', seed: 7 })
  })

  test('unknown ones are refused', () => {
    expect(() => applyVariant(feed, 'vla')).toThrow('variants: unknown variant "vla"; did you mean "val"?')
    expect(() => applyVariant({ ...feed, variants: undefined }, 'val')).toThrow(/the feed has none/)
  })
})
