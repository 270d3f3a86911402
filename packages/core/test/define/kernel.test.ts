/** Feeds whose source is a kernel: their fields are the kernel's, and what can't be is refused by name. */
import { describe, expect, test } from 'vitest'
import { expectRefused } from '../../../../test/support/refusal.js'
import { kernel } from '../../../all/index.js'
import { feed } from '../../define/build/feed.js'
import { kernelThreads } from '../../define/check/kernel.js'
import { validateFeed } from '../../define/check/validate.js'
import { applyVariant } from '../../define/check/variants.js'
import { contentHash, orderHash } from '../../define/hash.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { KernelJson } from '../../define/types.js'

const made: KernelJson = {
  file: 'gen.cu',
  entry: 'draw',
  count: 1000,
  fields: { image: { dtype: 'f32', shape: [3, 8, 9] }, label: { dtype: 'i64', shape: [] } },
}
const good = { source: { kernel: made }, batch: 4 }
const withKernel = (change: object) => ({ ...good, source: { kernel: { ...made, ...change } } })

describe('a feed from a kernel', () => {
  test('has its fields, in their order, on the device', () => {
    const { fields } = normalizeFeed(good, '/')
    expect(fields.map(field => field.layout)).toEqual([
      {
        name: 'image',
        dtype: 'f32',
        shape: [3, 8, 9],
        form: 'dense',
        device: { kind: 'generated', dtype: 'f32', shape: [3, 8, 9] },
      },
      {
        name: 'label',
        dtype: 'i64',
        shape: [],
        form: 'dense',
        device: { kind: 'generated', dtype: 'i64', shape: [] },
      },
    ])
  })

  test('may name some of them, and rename them', () => {
    const { fields } = normalizeFeed({ ...good, fields: { picture: { from: 'image' } } }, '/')
    expect(fields.map(({ name, from }) => [name, from])).toEqual([['picture', ['image']]])
  })

  test('has variants that change its count', () => {
    const variants = { val: { source: { kernel: { count: 10, seed: 5 } } } }
    const json = validateFeed({ ...good, variants })
    expect(normalizeFeed(applyVariant(json, 'val'), '/').source).toEqual({
      kernel: { ...made, count: 10, seed: 5 },
    })
  })

  test('is the same in TypeScript', () => {
    const { file, ...options } = made
    expect(feed({ source: kernel(file, options), batch: 4 }).json).toEqual(good)
    const named = feed({ source: kernel(file, options), fields: { x: { from: 'image' } }, batch: 4 })
    expect(named.json).toEqual({ ...good, fields: { x: { from: 'image' } } })
    const varied = feed({
      source: kernel(file, options),
      batch: 4,
      variants: { val: { source: kernel(file, { ...options, count: 9 }) } },
    })
    expect(varied.json).toEqual({ ...good, variants: { val: { source: { kernel: { count: 9 } } } } })
  })

  test('has a thread for each element of its largest field, unless told otherwise', () => {
    expect(kernelThreads(made)).toBe(216)
    expect(kernelThreads({ ...made, threads: 7 })).toBe(7)
    expect(kernelThreads({ ...made, fields: { label: { dtype: 'i64', shape: [] } } })).toBe(1)
  })

  test('has a content hash that knows the text, and an order hash that does not', () => {
    const normal = normalizeFeed(good, '/')
    expect(contentHash(normal, 'a')).not.toBe(contentHash(normal, 'b'))
    expect(contentHash(normal, undefined)).toBe(contentHash(normal))
    const fingerprint = { kind: 'kernel', count: 1000, digest: 'd' }
    const renamed = normalizeFeed(withKernel({ file: 'other.cu', entry: 'paint' }), '/')
    expect(orderHash(renamed, fingerprint)).toBe(orderHash(normal, fingerprint))
  })
})

/** name, definition, path, what the message must hold. */
const wrongs: [string, unknown, string, RegExp][] = [
  ['no file', withKernel({ file: undefined }), 'source.kernel.file', /is missing/],
  ['no fields', withKernel({ fields: {} }), 'source.kernel.fields', /at least one field/],
  ['no count', withKernel({ count: 0 }), 'source.kernel.count', /≥ 1, found 0/],
  ['entry', withKernel({ entry: 'draw it' }), 'source.kernel.entry', /extern "C".*found "draw it"/],
  ['key', withKernel({ thread: 3 }), 'source.kernel.thread', /did you mean "threads"/],
  [
    'dtype',
    withKernel({ fields: { image: { dtype: 'f31', shape: [] } } }),
    'source.kernel.fields.image.dtype',
    /did you mean "f32"/,
  ],
  [
    'shape',
    withKernel({ fields: { image: { dtype: 'f32', shape: [3, 0] } } }),
    'source.kernel.fields.image.shape[1]',
    /≥ 1/,
  ],
  [
    'a field that it does not make',
    { ...good, fields: { image: { from: 'imgae' } } },
    'fields.image.from',
    /unknown field of the kernel "imgae"; did you mean "image"/,
  ],
  [
    'one field twice',
    { ...good, fields: { a: { from: 'image' }, b: { from: 'image' } } },
    'fields.b.from',
    /"image" is "a" already/,
  ],
  [
    'operators',
    { ...good, fields: { image: { from: 'image', apply: ['flip'] } } },
    'fields.image.apply',
    /as the kernel makes it/,
  ],
  ['no fields chosen', { ...good, fields: {} }, 'fields', /at least one field/],
  [
    'a reserved name',
    withKernel({ fields: { ids: { dtype: 'u8', shape: [] } } }),
    'fields.ids',
    /its own "ids"/,
  ],
  [
    'mixing',
    { ...good, batch: { size: 4, apply: [{ mixup: { classes: 3 } }] } },
    'batch.apply',
    /made on the GPU/,
  ],
  [
    'a function',
    { ...good, map: { call: { module: 'a.mjs', export: 'f', hash: 'h' } } },
    'map',
    /do it in the kernel/,
  ],
  [
    'inside another',
    { source: { subset: { source: { kernel: made }, range: [0, 5] } }, fields: {}, batch: 1 },
    'source.subset.source.kernel',
    /only stand at the top/,
  ],
  [
    'in a variant',
    { ...good, variants: { val: { source: { kernel: { entry: '9' } } } } },
    'variants.val.source.kernel.entry',
    /extern "C"/,
  ],
]

test.each(wrongs)('%s is refused', (_, definition, path, message) => {
  expectRefused(definition, path, message)
})
