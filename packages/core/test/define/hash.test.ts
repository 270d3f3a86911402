/** The two hashes: what they cover, what they leave out, and that they stay what they are from version to version. */
import { describe, expect, test } from 'vitest'
import { describeOrder, explainOrderChange } from '../../define/change.js'
import { canonicalJson, contentHash, orderHash, type SourceFingerprint } from '../../define/hash.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { NormalFeed } from '../../define/types.js'

const parts = Array.from({ length: 16 }, (_, i) => ({ name: `train-${i}.tar`, count: 1000, bytes: 3e7 + i }))
const fingerprint: SourceFingerprint = { kind: 'tar', count: 16000, digest: '0123456789abcdef0123', parts }

const definition = {
  source: { tar: 'shards/train-{0000..0015}.tar' },
  order: { shuffle: 'global', seed: 7 },
  fields: {
    image: {
      from: 'jpg',
      as: 'image',
      apply: [{ randomResizedCrop: 224 }, 'flip', { normalize: 'imagenet' }],
    },
    label: {
      from: 'cls',
      as: 'int',
      map: { call: { module: 'a.ts', path: 'fields.label.map', hash: 'f00d' } },
    },
  },
  batch: 256,
}
const normal = (change: object = {}, root = '/data'): NormalFeed =>
  normalizeFeed({ ...definition, ...change }, root)
const order = (change?: object, root?: string) => orderHash(normal(change, root), fingerprint)
const content = (change?: object, root?: string) => contentHash(normal(change, root))
const blend = (per: string, weight = 1) => ({
  source: { blend: { entries: [{ source: { tar: 'a' }, weight }], per } },
})

describe('hashes', () => {
  test('are what they were', () => {
    expect([order(), content()]).toEqual(['2d50909e6ee55561', '0ee934a7aea4c223'])
    expect(order({ source: { subset: { source: { tar: 'a' }, range: [0, 5] } } })).toBe('516890179135b619')
  })

  test('content knows the channels, and three of them are the default', () => {
    const withChannels = (channels?: number) =>
      content({ fields: { image: { from: 'jpg', as: 'image', shape: [8, 8], channels } } })
    expect(withChannels(3)).toBe(withChannels())
    expect(withChannels(1)).not.toBe(withChannels())
  })

  test('order knows neither place nor batch nor fields', () => {
    expect(order({}, '/elsewhere')).toBe(order())
    expect(order({ source: { tar: 'moved/train-{0000..0015}.tar' } })).toBe(order())
    expect(order({ batch: { global: 512, last: 'pad' } })).toBe(order())
    expect(order({ fields: { label: { from: 'cls', as: 'int' } } })).toBe(order())
    expect(order({ onError: 'drop' })).toBe(order())
  })

  test('order knows seed, kind of order, contents and combinators', () => {
    const others = [
      order({ order: { shuffle: 'global', seed: 8 } }),
      order({ order: { shuffle: { window: 64 }, seed: 7 } }),
      order({ order: 'none' }),
      orderHash(normal(), { ...fingerprint, digest: 'other' }),
      orderHash(normal(), { ...fingerprint, count: 15999 }),
      order({ source: { subset: { source: { tar: 'a' }, range: [0, 5] } } }),
      order({ source: { subset: { source: { tar: 'a' }, range: [0, 6] } } }),
      order(blend('sample')),
      order(blend('sample', 2)),
      order(blend('batch')),
    ]
    expect(new Set([order(), ...others]).size).toBe(others.length + 1)
  })

  test('a blend for each batch depends on the batch, one for each sample does not', () => {
    expect(order({ ...blend('batch'), batch: 8 })).not.toBe(order(blend('batch')))
    expect(order({ ...blend('sample'), batch: 8 })).toBe(order(blend('sample')))
  })

  test('content knows fields, functions by their text, errors and mixing; not how they are spelt', () => {
    const { image, label } = definition.fields
    const moved = { ...label, map: { call: { module: 'b.ts', export: 'f', hash: 'f00d' } } }
    expect(content({ fields: { label: moved, image } }, '/elsewhere')).toBe(content())
    expect(content({ batch: 8, source: { folder: 'x' } })).toBe(content())
    const long = {
      ...image,
      apply: [{ randomResizedCrop: { size: [224, 224] } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }],
    }
    expect(content({ fields: { image: long, label } })).toBe(content())
    expect(content({ fields: { image: { ...image, orientation: 'exif' }, label } })).toBe(content())
    expect(content({ fields: { image: { ...image, orientation: 'stored' }, label } })).not.toBe(content())

    const others = [
      content({ fields: { image: { ...image, dtype: 'f16' }, label } }),
      content({
        fields: { image, label: { ...label, map: { call: { module: 'a.ts', export: 'f', hash: 'beef' } } } },
      }),
      content({ fields: { image, label: { from: 'cls', as: 'int' } } }),
      content({ fields: { data: { from: 'x', as: 'npy', dtype: 'f32', shape: [3] } } }),
      content({ fields: { data: { from: 'x', as: 'npy', dtype: 'f32', shape: [3], compression: 'zlib' } } }),
      content({ fields: { data: { from: 'x', as: 'npy', dtype: 'f32', shape: [3], compression: 'zstd' } } }),
      content({ onError: 'drop' }),
      content({ batch: { size: 8, apply: [{ mixup: { classes: 3 } }] } }),
    ]
    expect(new Set([content(), ...others]).size).toBe(others.length + 1)
  })

  test('canonical JSON sorts keys and drops what is undefined', () => {
    expect(canonicalJson({ b: 1, a: { d: undefined, c: [{ z: 1, y: 2 }] } })).toBe(
      '{"a":{"c":[{"y":2,"z":1}]},"b":1}',
    )
  })
})

describe('what changed', () => {
  const before = describeOrder(normal(), fingerprint)
  const explain = (feed: NormalFeed, now: SourceFingerprint) =>
    explainOrderChange(before, describeOrder(feed, now), now.parts)

  test('nothing', () => {
    expect(explain(normal({ batch: 3 }), fingerprint)).toEqual([])
  })

  test('the seed', () => {
    expect(explain(normal({ order: { shuffle: 'global', seed: 8 } }), fingerprint)).toEqual([
      'The seed was 7 and is now 8.',
    ])
  })

  test('the order', () => {
    expect(explain(normal({ order: { shuffle: { window: 9 }, seed: 7 } }), fingerprint)).toEqual([
      'The order was "global" and is now "window 9".',
    ])
  })

  test('a shard, by name', () => {
    const changed = parts.map((part, i) => (i === 3 ? { ...part, count: 998 } : part))
    const now = { ...fingerprint, count: 15998, digest: 'fedcba9876543210', parts: changed }
    expect(explain(normal(), now)).toEqual([
      'The source had 16000 samples and now has 15998 samples.',
      'The names or sizes of what the source holds have changed, in train-3.tar.',
    ])
  })

  test('units of many rows, where the order goes by them', () => {
    const [was, now] = ['0', '1'].map(digit =>
      describeOrder(normal(), { ...fingerprint, units: digit.repeat(32) }),
    )
    expect(explainOrderChange(was, now)).toEqual([
      'The row groups or chunks of the data begin at other rows, and a windowed shuffle goes by them.',
    ])
    expect(describeOrder(normal(), { ...fingerprint, units: undefined })).toEqual(before)
  })

  test('values that decide over samples, also against a state of before they counted', () => {
    const chosen = describeOrder(normal(), { ...fingerprint, values: '0'.repeat(32) })
    const now = describeOrder(normal(), { ...fingerprint, values: '1'.repeat(32) })
    expect(explainOrderChange(chosen, now)).toEqual([
      'The values by which samples are selected, weighted or batched, such as labels or lengths, have changed.',
    ])
    expect(explainOrderChange(before, now)).toEqual([
      expect.stringContaining('this state does not know them'),
    ])
    const other = describeOrder(normal({ order: 'none' }), fingerprint)
    expect(explainOrderChange(other, now)).not.toContainEqual(expect.stringContaining('values'))
  })

  test('another number of shards', () => {
    const now = { ...fingerprint, count: 15000, digest: 'fedcba9876543210', parts: parts.slice(1) }
    expect(explain(normal(), now)[1]).toMatch(/there were 16 parts and are now 15/)
  })

  test('one of thousands of shards, by its neighbourhood', () => {
    const many = Array.from({ length: 1000 }, (_, i) => ({ name: `s${i}`, count: 1, bytes: i }))
    const was = describeOrder(normal(), { ...fingerprint, parts: many })
    const changed = many.map((part, i) => (i === 500 ? { ...part, bytes: 1 } : part))
    const now = { ...fingerprint, digest: 'x', parts: changed }
    const [sentence] = explainOrderChange(was, describeOrder(normal(), now), changed)
    expect(sentence).toMatch(/among s\d+, s\d+, s\d+ and 1[23] more/)
  })

  describe('a rule of this version', () => {
    const divided = (source: object, more: object = {}) =>
      normal({ source: { split: { source, parts: { train: 0.8, val: 0.2 }, take: 'val', ...more } } })
    /** As a version before these rules described it: their names are missing, and the hash is another. */
    const earlier = (feed: NormalFeed, now = fingerprint) => {
      const { rules: _, ...description } = describeOrder(feed, now)
      return { ...description, hash: 'another' }
    }
    const explained = (feed: NormalFeed, count = 16000) => {
      const now = { ...fingerprint, count, digest: count === 16000 ? fingerprint.digest : 'fedcba9876543210' }
      return explainOrderChange(earlier(feed), describeOrder(feed, now), now.parts)
    }

    test('that divides other samples is part of the hash, and named', () => {
      expect(explained(divided({ folder: 'f' }))).toEqual([
        expect.stringMatching(/^A folder now also has/),
        expect.stringMatching(/^`split` now goes by the names of files without their extension/),
      ])
      expect(explained(divided({ tar: 'a' }, { stratifyBy: 'cls' }), 16004)).toEqual([
        'The source had 16000 samples and now has 16004 samples.',
        expect.stringMatching(/`stratifyBy` now divides each value exactly/),
      ])
      const hashes = [
        divided({ tar: 'a' }),
        divided({ folder: 'f' }),
        divided({ concat: [{ tar: 'a' }, { files: 'f' }] }),
        divided({ tar: 'a' }, { stratifyBy: 'cls' }),
      ].map(feed => orderHash(feed, fingerprint))
      expect(new Set(hashes).size).toBe(4)
      // As it was before there were rules: parts of shards are the same as ever.
      expect(hashes[0]).toBe('ae95e5addc21fafa')
    })

    test('that a feed has nothing to do with is not', () => {
      expect(describeOrder(divided({ tar: 'a' }), fingerprint).rules).toBeUndefined()
      expect(describeOrder(divided({ files: 'a' }, { groupBy: 'name' }), fingerprint).rules).toBeUndefined()
      const [sentence] = explainOrderChange(
        earlier(normal()),
        describeOrder(divided({ files: 'a' }), fingerprint),
      )
      expect(sentence).toMatch(/combined/)
    })
  })

  test('the description is small, however many shards there are', () => {
    const many = Array.from({ length: 5000 }, (_, i) => ({ name: `train-${i}.tar`, count: 1, bytes: i }))
    const description = describeOrder(
      normal({ order: { weights: { column: 'weight' }, seed: 2 ** 53 - 1 } }),
      { ...fingerprint, count: 2 ** 52, digest: 'f'.repeat(64), parts: many },
    )
    expect(JSON.stringify(description).length).toBeLessThan(550)
  })
})
