/** The normal form: shorthands written out, defaults filled in, and the layout of every field. */
import { describe, expect, test } from 'vitest'
import { resizedTo } from '../../../pixels/operators/resize/operator.js'
import { normalizeFeed } from '../../define/normalize.js'
import { operatorFacts, operatorNames, parseOperator } from '../../define/operator.js'
import type { FieldJson, NormalFeed } from '../../define/types.js'

const normal = (feed: object): NormalFeed =>
  normalizeFeed(
    { source: { tar: 'a.tar' }, fields: { n: { from: 'cls', as: 'int' } }, batch: 8, ...feed },
    '/data',
  )

const layout = (field: Partial<FieldJson>) => {
  const { name, ...rest } = normal({ fields: { x: { from: 'x', ...field } } }).fields[0].layout
  expect(name).toBe('x')
  return rest
}

const params = (op: unknown) => parseOperator(op, '').params

describe('operators', () => {
  test('shorthands and objects mean the same', () => {
    expect(params({ resize: 256 })).toEqual({ size: 256, filter: 'bilinear', antialias: true, maxSize: null })
    expect(params({ resize: { size: 256 } })).toEqual(params({ resize: 256 }))
    expect(params({ centerCrop: 224 })).toEqual({ size: [224, 224] })
    expect(params('grayscale')).toEqual({ p: 1 })
    expect(params({ flip: 0.2 })).toEqual({ p: 0.2, axis: 'horizontal' })
    expect(params({ normalize: 'imagenet' })).toEqual({
      mean: [0.485, 0.456, 0.406],
      std: [0.229, 0.224, 0.225],
    })
    expect(params({ normalize: { mean: 0, std: 0.5 } })).toEqual({ mean: [0, 0, 0], std: [0.5, 0.5, 0.5] })
  })

  test('numbers become the lists that torchvision makes of them', () => {
    expect(params({ pad: 2 }).padding).toEqual([2, 2, 2, 2])
    expect(params({ pad: [1, 2] }).padding).toEqual([1, 2, 1, 2])
    expect(params({ pad: [1, 2, 3, 4] }).padding).toEqual([1, 2, 3, 4])
    expect(params({ pad: { padding: 1, fill: 255 } }).fill).toEqual([255, 255, 255])
    expect(params({ rotate: 30 }).degrees).toEqual([-30, 30])
    expect(params({ affine: { degrees: [0, 5], shear: 3 } })).toMatchObject({
      degrees: [0, 5],
      shear: [-3, 3, 0, 0],
    })
    expect(params({ colorJitter: { brightness: 0.4, contrast: 2, saturation: 0, hue: 0.1 } })).toEqual({
      brightness: [0.6, 1.4],
      contrast: [0, 3],
      saturation: null,
      hue: [-0.1, 0.1],
    })
    expect(params({ gaussianBlur: { kernel: 5, sigma: 1 } })).toEqual({ kernel: [5, 5], sigma: [1, 1] })
    expect(params({ randomErasing: { value: 'random' } })).toEqual({
      p: 0.5,
      scale: [0.02, 0.33],
      ratio: [0.3, 3.3],
      value: 'random',
    })
  })

  test('every operator has a sentence and stands in the table once', () => {
    const names = operatorNames()
    expect(names.every(name => operatorFacts(name).says.length > 0)).toBe(true)
    expect(new Set(names.map(name => operatorFacts(name).says)).size).toBe(names.length)
  })

  test('those of one name are numbered', () => {
    const apply = ['flip', { centerCrop: 8 }, { flip: { axis: 'vertical' } }]
    const { fields } = normal({ fields: { x: { from: 'x', as: 'image', apply } } })
    expect(fields[0].apply.map(op => [op.name, op.ordinal])).toEqual([
      ['flip', 0],
      ['centerCrop', 0],
      ['flip', 1],
    ])
  })

  test('the size of a resize is that of torchvision', () => {
    expect(resizedTo([375, 500], 256, null)).toEqual([256, 341])
    expect(resizedTo([500, 375], 256, null)).toEqual([341, 256])
    expect(resizedTo([100, 400], 256, 512)).toEqual([128, 512])
  })
})

describe('layouts', () => {
  const crop = { centerCrop: [8, 9] }
  test.each<[string, Partial<FieldJson>, object]>([
    [
      'image',
      { as: 'image', apply: [crop] },
      { dtype: 'u8', shape: [3, 8, 9], form: 'dense', layout: 'chw' },
    ],
    [
      'normalized',
      { as: 'image', apply: [crop, { normalize: 'half' }] },
      { dtype: 'f32', shape: [3, 8, 9], form: 'dense', layout: 'chw' },
    ],
    [
      'channels last',
      { as: 'image', apply: [crop, { normalize: 'half' }], dtype: 'bf16', layout: 'hwc' },
      { dtype: 'bf16', shape: [8, 9, 3], form: 'dense', layout: 'hwc' },
    ],
    [
      'greatest size',
      { as: 'image', shape: [64, 48] },
      { dtype: 'u8', shape: [3, 64, 48], form: 'dense', layout: 'chw' },
    ],
    [
      'padded crop',
      { as: 'image', apply: [crop, { pad: [1, 2] }] },
      { dtype: 'u8', shape: [3, 12, 11], form: 'dense', layout: 'chw' },
    ],
    [
      'resized crop',
      { as: 'image', apply: [crop, { resize: 16 }] },
      { dtype: 'u8', shape: [3, 16, 18], form: 'dense', layout: 'chw' },
    ],
    ['mask', { as: 'mask', apply: [crop] }, { dtype: 'u8', shape: [8, 9], form: 'dense' }],
    ['int', { as: 'int' }, { dtype: 'i64', shape: [], form: 'dense' }],
    ['float', { as: 'float' }, { dtype: 'f32', shape: [], form: 'dense' }],
    ['class', { as: 'class', classes: ['a'] }, { dtype: 'i64', shape: [], form: 'dense' }],
    ['text', { as: 'text' }, { dtype: 'u8', shape: [], form: 'text', max: 65536 }],
    [
      'json',
      { as: 'json', ragged: { max: 9, total: 20 } },
      { dtype: 'u8', shape: [], form: 'text', max: 9, total: 20 },
    ],
    ['bytes', { as: 'bytes' }, { dtype: 'u8', shape: [], form: 'ragged', max: 65536 }],
    [
      'padded bytes',
      { as: 'bytes', pad: { to: 'longest', multiple: 64, max: 100 } },
      { dtype: 'u8', shape: [], form: 'padded', max: 128, to: 'longest', multiple: 64, value: 0 },
    ],
    ['boxes', { as: 'boxes' }, { dtype: 'f32', shape: [4], form: 'ragged', max: 100 }],
    [
      'labelled boxes',
      { as: 'boxes', shape: [20, 5], pad: { to: 20, value: -1 } },
      { dtype: 'f32', shape: [5], form: 'padded', max: 20, to: 20, multiple: 1, value: -1 },
    ],
    ['points', { as: 'points' }, { dtype: 'f32', shape: [2], form: 'ragged', max: 100 }],
    ['npy', { as: 'npy', dtype: 'f64', shape: [2, 3] }, { dtype: 'f64', shape: [2, 3], form: 'dense' }],
    [
      'ragged npy',
      { as: 'npy', dtype: 'i16', shape: [50, 3], ragged: {} },
      { dtype: 'i16', shape: [3], form: 'ragged', max: 50 },
    ],
  ])('%s', (_, field, expected) => {
    expect(layout(field)).toEqual(expected)
  })

  test('a mask has the size of the image it follows, and comes after it', () => {
    const { fields } = normal({
      fields: {
        mask: { from: 'm', as: 'mask', follow: 'image' },
        image: { from: 'i', as: 'image', apply: [crop] },
      },
    })
    expect(fields.map(field => field.name)).toEqual(['image', 'mask'])
    expect(fields[1].layout.shape).toEqual([8, 9])
  })

  test('a mixed label is a share for each class', () => {
    const { fields, batch } = normal({
      fields: {
        image: { from: 'i', as: 'image', apply: [crop, { normalize: 'half' }] },
        label: { from: 'cls', as: 'int' },
      },
      batch: { size: 4, apply: [{ mixup: { classes: 10 } }, { cutmix: { classes: 10, p: 0.5 } }] },
    })
    expect(fields[1].layout).toEqual({ name: 'label', dtype: 'f32', shape: [10], form: 'dense' })
    expect(batch.apply[0].params).toEqual({ alpha: 1, classes: 10, p: 1, field: 'image', label: 'label' })
  })
})

describe('defaults', () => {
  test('order, ending, errors, seed', () => {
    expect(normal({})).toMatchObject({
      order: { kind: 'none' },
      seed: 0,
      batch: { size: 8, last: 'keep', apply: [] },
      onError: { policy: 'fail', budget: 0 },
      root: '/data',
    })
    expect(normal({ order: { shuffle: 'global', seed: 3 } })).toMatchObject({
      order: { kind: 'global', seed: 3 },
      seed: 3,
      batch: { last: 'drop' },
    })
    expect(normal({ order: { shuffle: { window: 64 } } }).order).toEqual({
      kind: 'window',
      window: 64,
      seed: 0,
    })
    expect(normal({ order: { weights: { column: 'w' }, samples: 5 } }).order).toEqual({
      kind: 'weights',
      weights: { column: 'w' },
      samples: 5,
      seed: 0,
    })
    expect(normal({ onError: 'drop' }).onError).toEqual({ policy: 'drop', budget: 100 })
    expect(normal({ batch: { global: 64, last: 'pad' } }).batch).toEqual({
      global: 64,
      last: 'pad',
      apply: [],
    })
  })

  test('alternatives are a list, functions are found by absolute URLs', () => {
    const map = { call: { module: './own.ts', export: 'f', hash: 'h' } }
    const feed = normal({ fields: { n: { from: 'cls | txt', as: 'int', map } }, map })
    expect(feed.fields[0].from).toEqual(['cls', 'txt'])
    expect(feed.fields[0].map?.call.module).toBe('file:///data/own.ts')
    expect(feed.map?.call.module).toBe('file:///data/own.ts')
  })

  test('plain data: survives structuredClone and JSON', () => {
    const feed = normal({ order: { shuffle: 'global' } })
    expect(structuredClone(feed)).toEqual(feed)
    expect(JSON.parse(JSON.stringify(feed))).toEqual(feed)
  })
})
