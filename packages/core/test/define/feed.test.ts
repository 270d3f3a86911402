/** Builders: the JSON they make, that nothing is lost on the way there and back, and the types of the batches. */
import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import * as sources from '../../../all/index.js'
import {
  blend,
  cutmix,
  folder,
  image,
  mask,
  mixup,
  mosaic,
  sequential,
  shuffle,
  split,
  subset,
  synthetic,
  tar,
  weighted,
} from '../../../all/index.js'
import * as fields from '../../../pixels/build/fields.js'
import { bytes, category, float, int, json, npy, points, text } from '../../../pixels/build/fields.js'
import type { OPERATORS } from '../../../pixels/operators/registry.js'
import type { Parsed } from '../../basics/shape.js'
import type { BatchOf, FieldMap } from '../../define/build/batch-types.js'
import { type FeedOptions, feed, fromJson } from '../../define/build/feed.js'
import type { Field } from '../../define/build/field.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { FeedJson, FieldJson } from '../../define/types.js'

const cats = feed({
  source: tar('shards/train-{0000..0015}.tar'),
  order: shuffle({ seed: 7 }),
  fields: {
    image: image('jpg|jpeg|png')
      .randomResizedCrop(224)
      .flip()
      .normalize('imagenet')
      .dtype('f32')
      .layout('chw'),
    mask: mask('mask.png').follow('image'),
    label: int('cls'),
  },
  batch: { size: 256, last: 'drop' },
  onError: { policy: 'drop', budget: 100 },
  variants: {
    val: {
      source: tar('shards/val-{0000..0003}.tar'),
      order: sequential(),
      fields: {
        image: image('jpg|jpeg|png')
          .resize(256)
          .centerCrop(224)
          .normalize('imagenet')
          .dtype('f32')
          .layout('chw'),
      },
    },
  },
})

/** The feed of the design, word for word but for two shorthands of its variant. */
const design = {
  source: { tar: 'shards/train-{0000..0015}.tar' },
  order: { shuffle: 'global', seed: 7 },
  fields: {
    image: {
      from: 'jpg|jpeg|png',
      as: 'image',
      apply: [{ randomResizedCrop: { size: 224 } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }],
      dtype: 'f32',
      layout: 'chw',
    },
    mask: { from: 'mask.png', as: 'mask', follow: 'image' },
    label: { from: 'cls', as: 'int' },
  },
  batch: { size: 256, last: 'drop' },
  onError: { policy: 'drop', budget: 100 },
  variants: {
    val: {
      source: { tar: 'shards/val-{0000..0003}.tar' },
      order: 'none',
      fields: {
        image: {
          apply: [{ resize: { size: 256 } }, { centerCrop: { size: 224 } }, { normalize: 'imagenet' }],
        },
      },
    },
  },
}

describe('builders', () => {
  test('of arrays refuse options that they do not have', () => {
    const misspelt = { row: 'axis' } as object
    for (const builder of [sources.npyFiles, sources.npz, sources.safetensors])
      expect(() =>
        feed({
          source: builder('x', misspelt),
          fields: { x: npy('x', { shape: [1], dtype: 'f32' }) },
          batch: 1,
        }),
      ).toThrow(/unknown key "row"; did you mean "rows"/)
  })

  test('make the JSON of the design', () => {
    expect(cats.json).toEqual(design)
    expect(JSON.parse(JSON.stringify(cats))).toEqual(design)
  })

  test('a variant replaces whole values: nothing of the old remains', () => {
    const { json } = feed({
      source: tar('a.tar'),
      order: shuffle({ seed: 1 }),
      fields: { image: image('jpg').centerCrop(8).dtype('f16'), label: int('cls') },
      batch: { global: 64 },
      variants: {
        val: {
          source: folder('b'),
          order: weighted({ balance: 'cls' }),
          fields: { image: image('png').resize([8, 8]) },
          batch: { size: 2 },
        },
      },
    })
    expect(json.variants?.val).toEqual({
      source: { tar: null, folder: 'b' },
      order: { shuffle: null, seed: null, weights: { balance: 'cls' } },
      fields: { image: { from: 'png', apply: [{ resize: { size: [8, 8] } }], dtype: null } },
      batch: { global: null, size: 2 },
    })
  })

  test('a variant may mix otherwise', () => {
    const { json } = feed({
      source: tar('a.tar'),
      fields: { image: image('jpg').centerCrop(8), label: int('cls') },
      batch: 4,
      variants: { mixed: { batch: { size: 4, apply: [cutmix({ classes: 3 })] } } },
    })
    expect(json.variants?.mixed).toEqual({ batch: { size: 4, apply: [{ cutmix: { classes: 3 } }] } })
  })

  test('leave the builder that they start from as it was', () => {
    const base = image('jpg').centerCrop(8)
    base.flip()
    expect(base.json.apply).toEqual([{ centerCrop: { size: 8 } }])
  })

  test('refuse at once what is wrong', () => {
    expect(() => feed({ source: tar('a'), fields: { image: image('jpg').resize(8) }, batch: 1 })).toThrow(
      /fields.image: its size/,
    )
  })

  test('know the folder of the file that calls them', () => {
    expect(cats.root).toBe(import.meta.dirname)
  })
})

// ------------------------------------------------------------------ there and back

const size = fc.oneof(
  fc.integer({ min: 1, max: 64 }),
  fc.tuple(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 64 })),
)
const p = fc.double({ min: 0, max: 1, noNaN: true })

/** Any image field: a crop, some operators on pixels, perhaps normalize and erasing. */
const anyImage = fc
  .tuple(
    size,
    fc.array(
      fc.constantFrom(
        'flip',
        'rotate',
        'affine',
        'jitter',
        'gray',
        'blur',
        'post',
        'sol',
        'sharp',
        'trivial',
      ),
      { maxLength: 5 },
    ),
    p,
    fc.option(fc.constantFrom('f16', 'bf16', 'f32')),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([crop, ops, chance, dtype, normalized, hwc]) => {
    let field = image('jpg').randomCrop(crop, { padIfNeeded: true, fill: 7 })
    for (const op of ops) {
      if (op === 'flip') field = field.flip(chance, { axis: 'vertical' })
      if (op === 'rotate') field = field.rotate([0, 90 * chance])
      if (op === 'affine') field = field.affine(10, { translate: [0.1, chance], shear: 3 })
      if (op === 'jitter') field = field.colorJitter({ brightness: chance, hue: [-0.1, 0.1] })
      if (op === 'gray') field = field.grayscale(chance)
      if (op === 'blur') field = field.gaussianBlur([3, 5], { sigma: 1 })
      if (op === 'post') field = field.posterize(4).autocontrast(chance).equalize()
      if (op === 'sol') field = field.solarize(128).invert(chance)
      if (op === 'sharp') field = field.sharpness(2, { p: chance })
      if (op === 'trivial') field = field.trivialAugment({ bins: 15 })
    }
    if (hwc) field = field.layout('hwc')
    const normal = normalized
      ? field.normalize({ mean: [0, 0.1, 0.2], std: 0.5 }).randomErasing(chance, { value: 'random' })
      : field
    return dtype === null ? normal : normal.dtype(dtype)
  })

const anyField: fc.Arbitrary<Field> = fc.oneof(
  anyImage as fc.Arbitrary<Field>,
  fc.constantFrom(
    int('cls').dtype('i32'),
    float('x'),
    category('class', ['cat', 'dog']),
    text('txt').ragged({ max: 99 }),
    json('json'),
    bytes('bin').pad({ to: 'longest', multiple: 8 }),
    npy('npy', { shape: [3, 4], dtype: 'f64' }),
    npy('npy', { shape: [3, 4], dtype: 'i16' }).ragged(),
    npy('npy.zst', { shape: [3, 4], dtype: 'f32' }).compression('zstd'),
    bytes('bin.gz').compression('gzip').ragged({ max: 99 }),
    fields.boxes('json').shape([20, 5]).minArea(3).follow('base'),
    points('json').follow('base').pad({ to: 7 }),
    mask('png').follow('base').dtype('i64'),
    mask('png').centerCrop(4),
    image('png', { channels: 1 }).centerCrop(4).normalize({ mean: 0.5, std: 0.2 }),
  ),
)

const leaf = fc.constantFrom(
  tar('a.tar'),
  tar('a.tar', 'b.tar'),
  folder('photos'),
  folder('photos', { classes: ['x'] }),
  sources.files('*.png'),
  sources.files({ list: 'train.csv', path: 'file' }),
  synthetic({ count: 9, images: { width: 8, height: 8 } }),
)
const anySource = fc.oneof(
  leaf,
  fc.tuple(leaf, leaf).map(pair => sources.concat(...pair)),
  fc.tuple(leaf, leaf).map(pair => sources.zip(...pair)),
  leaf.map(source => subset(source, { where: { width: { '>=': 256 }, label: [1, 2] } })),
  leaf.map(source => split(source, { parts: { train: 0.9, val: 0.1 }, take: 'val', groupBy: 'who' })),
  leaf.map(source =>
    blend(
      [
        { source, weight: 2 },
        { source, weight: 1, rename: { png: 'jpg' } },
      ],
      { epoch: 5 },
    ),
  ),
)
const anyOptions: fc.Arbitrary<FeedOptions<FieldMap, never>> = fc.record({
  source: anySource,
  order: fc.constantFrom(sequential(), shuffle(), shuffle({ seed: 3, window: 64 })),
  fields: fc
    .dictionary(fc.stringMatching(/^[a-z]{1,6}[A-Z0-9_]$/), anyField, { maxKeys: 5 })
    .map(more => ({ base: image('jpg').centerCrop(8) as Field, ...more })),
  batch: fc.constantFrom<FeedOptions<FieldMap, never>['batch']>(4, { size: 4, last: 'pad' }, { global: 64 }),
  onError: fc.constantFrom(undefined, 'mask' as const, { policy: 'drop' as const, budget: 3 }),
})

/** A field's JSON, made again by calling the builder that it names. */
function rebuild({ as, apply = [], ...rest }: FieldJson): Field {
  const from = rest.from as string
  type Chain = Record<string, (...args: unknown[]) => Chain>
  const start: Record<string, () => Field> = {
    class: () => category(from, rest.classes!),
    npy: () => npy(from, { shape: rest.shape!, dtype: rest.dtype! }),
    image: () => image(from, rest.channels && { channels: rest.channels }),
  }
  const simple = { mask, boxes: fields.boxes, points, int, float, text, json, bytes }
  let field = (start[as] ?? (() => simple[as as 'int'](from)))() as unknown as Chain
  for (const op of apply) {
    const [[name, params]] = Object.entries(op) as [string, Record<string, unknown>][]
    const [main, ...options] = Object.keys(params)
    const whole = ['colorJitter', 'trivialAugment', 'normalize'].includes(name)
    field = whole
      ? field[name](params)
      : field[name](params[main], Object.fromEntries(options.map(key => [key, params[key]])))
  }
  for (const key of ['dtype', 'layout', 'follow', 'ragged', 'pad', 'minArea', 'compression'] as const) {
    if (rest[key] !== undefined && !(as === 'npy' && key === 'dtype')) field = field[key](rest[key])
  }
  if (rest.shape !== undefined && as !== 'npy') field = field.shape(...rest.shape)
  return field as unknown as Field
}

describe('there and back', () => {
  test('builder → JSON → builder → JSON is the identity', () => {
    fc.assert(
      fc.property(anyOptions, options => {
        const first = feed(options)
        const written = JSON.parse(JSON.stringify(first.json)) as FeedJson
        expect(written).toEqual(first.json)
        const { fields: again, ...rest } = fromJson(written).json
        const rebuilt = Object.fromEntries(
          Object.entries(again).map(([name, field]) => [name, rebuild(field)]),
        )
        const second = feed({ ...rest, fields: rebuilt } as FeedOptions<FieldMap, never>)
        expect(second.json).toEqual(first.json)
        expect(normalizeFeed(second.json, '/')).toEqual(normalizeFeed(written, '/'))
      }),
    )
  })

  test('fromJson keeps the JSON and shares nothing with it', () => {
    const made = fromJson(design)
    expect(made.json).toEqual(design)
    expect(made.json.fields).not.toBe(design.fields)
  })
})

// ------------------------------------------------------------------ types

describe('types', () => {
  test('a batch has the fields of its feed, each with its array', () => {
    const every = feed({
      source: tar('a.tar'),
      fields: {
        pixels: image('jpg').centerCrop(8),
        normal: image('jpg').centerCrop(8).normalize('half'),
        half: image('jpg').centerCrop(8).dtype('f16').normalize('half'),
        late: image('jpg').centerCrop(8).normalize('half').randomErasing().dtype('bf16'),
        mask: mask('png').follow('pixels').dtype('i64'),
        boxes: fields.boxes('json').follow('pixels'),
        padded: points('json').pad({ to: 4 }),
        label: int('cls'),
        small: int('cls').dtype('u8'),
        kind: category('class', ['a', 'b']),
        weight: float('w'),
        caption: text('txt'),
        meta: json('json'),
        raw: bytes('bin'),
        signal: npy('npy', { shape: [3], dtype: 'f64' }),
        ragged: npy('npy', { shape: [9, 3], dtype: 'i16' }).ragged(),
      },
      batch: 4,
    })
    type Batch = BatchOf<typeof every>
    expectTypeOf<Batch['pixels']>().toEqualTypeOf<Uint8Array>()
    expectTypeOf<Batch['normal']>().toEqualTypeOf<Float32Array>()
    expectTypeOf<Batch['half']>().toEqualTypeOf<Uint16Array>()
    expectTypeOf<Batch['late']>().toEqualTypeOf<Uint16Array>()
    expectTypeOf<Batch['mask']>().toEqualTypeOf<BigInt64Array>()
    expectTypeOf<Batch['boxes']>().toEqualTypeOf<{ values: Float32Array; offsets: Int32Array }>()
    expectTypeOf<Batch['padded']>().toEqualTypeOf<Float32Array>()
    expectTypeOf<Batch['label']>().toEqualTypeOf<BigInt64Array>()
    expectTypeOf<Batch['small']>().toEqualTypeOf<Uint8Array>()
    expectTypeOf<Batch['kind']>().toEqualTypeOf<BigInt64Array>()
    expectTypeOf<Batch['weight']>().toEqualTypeOf<Float32Array>()
    expectTypeOf<Batch['caption']>().toEqualTypeOf<string[]>()
    expectTypeOf<Batch['meta']>().toEqualTypeOf<string[]>()
    expectTypeOf<Batch['raw']>().toEqualTypeOf<{ values: Uint8Array; offsets: Int32Array }>()
    expectTypeOf<Batch['signal']>().toEqualTypeOf<Float64Array>()
    expectTypeOf<Batch['ragged']>().toEqualTypeOf<{ values: Int16Array; offsets: Int32Array }>()
    expectTypeOf<Batch['ids']>().toEqualTypeOf<string[]>()
    expectTypeOf<Batch['positions']>().toEqualTypeOf<Float64Array>()
    expectTypeOf<Batch['count']>().toEqualTypeOf<number>()
    expectTypeOf<Batch['valid']>().toEqualTypeOf<Uint8Array | undefined>()
    expectTypeOf<Batch>().not.toHaveProperty('lable')
    // The layouts that the engine will use agree with the types.
    const dtypes = normalizeFeed(every.json, '/').fields.map(({ name, layout }) => [
      name,
      layout.dtype,
      layout.form,
    ])
    expect(Object.fromEntries(dtypes.map(([name, dtype, form]) => [name, `${dtype} ${form}`]))).toEqual({
      pixels: 'u8 dense',
      normal: 'f32 dense',
      half: 'f16 dense',
      late: 'bf16 dense',
      mask: 'i64 dense',
      boxes: 'f32 ragged',
      padded: 'f32 padded',
      label: 'i64 dense',
      small: 'u8 dense',
      kind: 'i64 dense',
      weight: 'f32 dense',
      caption: 'u8 text',
      meta: 'u8 text',
      raw: 'u8 ragged',
      signal: 'f64 dense',
      ragged: 'i16 ragged',
    })
  })

  test('mixed labels are shares', () => {
    const base = {
      image: image('jpg').centerCrop(8).normalize('half'),
      label: int('cls'),
      weight: float('w'),
    }
    const only = feed({ source: tar('a'), fields: base, batch: { size: 4, apply: [mixup({ classes: 10 })] } })
    expectTypeOf<BatchOf<typeof only>['label']>().toEqualTypeOf<Float32Array>()
    expectTypeOf<BatchOf<typeof only>['weight']>().toEqualTypeOf<Float32Array>()
    const named = feed({
      source: tar('a'),
      fields: { ...base, other: int('id') },
      batch: {
        size: 4,
        apply: [mixup({ classes: 10, label: 'label' }), cutmix({ classes: 10, label: 'label', p: 0.5 })],
      },
    })
    expectTypeOf<BatchOf<typeof named>['label']>().toEqualTypeOf<Float32Array>()
    expectTypeOf<BatchOf<typeof named>['other']>().toEqualTypeOf<BigInt64Array>()
    const four = feed({ source: tar('a'), fields: base, batch: { size: 4, apply: [mosaic({ p: 0.5 })] } })
    expectTypeOf<BatchOf<typeof four>['label']>().toEqualTypeOf<BigInt64Array>()
    const both = feed({
      source: tar('a'),
      fields: base,
      batch: { size: 4, apply: [mosaic(), mixup({ classes: 10 })] },
    })
    expectTypeOf<BatchOf<typeof both>['label']>().toEqualTypeOf<Float32Array>()
    const plain = feed({ source: tar('a'), fields: base, batch: 4 })
    expectTypeOf<BatchOf<typeof plain>['label']>().toEqualTypeOf<BigInt64Array>()
  })

  test('functions get the value of their field', () => {
    int('cls').map(value => {
      expectTypeOf(value).toEqualTypeOf<number>()
      return value
    })
    text('txt').map(async (value, random) => value.slice(random.int(2)))
    // @ts-expect-error an image has no function of its own
    image('jpg').map
    // @ts-expect-error a mask has no colours
    mask('png').grayscale
    // @ts-expect-error text has no other element type
    text('txt').dtype
  })

  test('parameters of operators are known', () => {
    type OperatorParams<N extends keyof typeof OPERATORS> = Parsed<(typeof OPERATORS)[N]['keys']>
    expectTypeOf<OperatorParams<'resize'>['size']>().toEqualTypeOf<number | [number, number]>()
    expectTypeOf<OperatorParams<'resize'>['maxSize']>().toEqualTypeOf<number | null>()
    expectTypeOf<OperatorParams<'flip'>>().toEqualTypeOf<{ p: number; axis: 'horizontal' | 'vertical' }>()
  })
})
