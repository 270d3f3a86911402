/** Wrong definitions: each is refused with its path, what was expected, and the nearest valid name. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expectRefused } from '../../../../test/support/refusal.js'
import { DefinitionError } from '../../basics/errors.js'
import { validateFeed } from '../../define/check/validate.js'
import { normalizeFeed } from '../../define/normalize.js'

const image = { from: 'jpg', as: 'image', apply: [{ centerCrop: 32 }] }
const label = { from: 'cls', as: 'int' }
const good = { source: { tar: 'a.tar' }, fields: { image, label }, batch: 4 }

const withField = (field: unknown) => ({ ...good, fields: { image, x: field } })
const withOp = (...apply: unknown[]) => ({ ...good, fields: { image: { from: 'jpg', as: 'image', apply } } })
const withGray = (...apply: unknown[]) =>
  withField({ from: 'jpg', as: 'image', channels: 1, apply: [{ centerCrop: 8 }, ...apply] })
const withSource = (source: unknown) => ({ ...good, source })

/** name, definition, path, what the message must hold. */
const wrongs: [string, unknown, string, RegExp][] = [
  ['no object', 7, '', /expected a feed with source, order, fields.* found 7/],
  ['no source', { ...good, source: undefined }, 'source', /is missing/],
  ['key of the feed', { ...good, filds: {} }, 'filds', /unknown key "filds"; did you mean "fields"\?/],
  ['source', withSource({ tra: 'a' }), 'source', /unknown source "tra"; did you mean "tar"\?/],
  ['two sources', withSource({ tar: 'a', files: 'b' }), 'source', /one source, found tar and files.*null/],
  ['empty list of shards', withSource({ tar: [] }), 'source.tar', /a path, a pattern or a list/],
  ['key of a folder', withSource({ folder: { pth: 'a' } }), 'source.folder.pth', /did you mean "path"/],
  [
    'synthetic of nothing',
    withSource({ synthetic: { count: 3 } }),
    'source.synthetic',
    /exactly one of images, tensors, tokens, found none/,
  ],
  [
    'blend inside',
    withSource({ concat: [{ blend: { entries: [{ source: { tar: 'a' }, weight: 1 }] } }] }),
    'source.concat[0].blend',
    /only stand at the top/,
  ],
  [
    'blend without weight',
    withSource({ blend: { entries: [{ source: { tar: 'a' }, weight: 0 }] } }),
    'source.blend.entries',
    /above 0/,
  ],
  [
    'weights of a blend',
    { ...withSource({ blend: { entries: [{ source: { tar: 'a' }, weight: 1 }] } }), order: { weights: [1] } },
    'order.weights',
    /give its entries weights/,
  ],
  [
    'part of a split',
    withSource({ split: { source: { tar: 'a' }, parts: { train: 0.9, val: 0.1 }, take: 'vall' } }),
    'source.split.take',
    /unknown part "vall"; did you mean "val"\?/,
  ],
  [
    'parts beyond the whole',
    withSource({ split: { source: { tar: 'a' }, parts: { train: 0.9, val: 0.2 }, take: 'val' } }),
    'source.split.parts',
    /add up to 1/,
  ],
  [
    'fold',
    withSource({ split: { source: { tar: 'a' }, folds: 5, take: { not: 5 } } }),
    'source.split.take.not',
    /0 to 4, found 5/,
  ],
  [
    'comparison',
    withSource({ subset: { source: { tar: 'a' }, where: { width: { '=>': 3 } } } }),
    'source.subset.where.width',
    /unknown comparison "=>"; it is called ">=" here/,
  ],
  [
    'join',
    withSource({ subset: { source: { tar: 'a' }, where: { $or: [{ width: 3 }] } } }),
    'source.subset.where.$or',
    /joined by \$any/,
  ],
  [
    'two choices',
    withSource({ subset: { source: { tar: 'a' }, range: [0, 1], indices: [1] } }),
    'source.subset',
    /found range and indices/,
  ],
  ['order', { ...good, order: 'shuffle' }, 'order', /\{"shuffle": "global"\}/],
  [
    'shuffle by a boolean',
    { ...good, order: { shuffle: true } },
    'order.shuffle',
    /"global" or \{"window": n\}/,
  ],
  [
    'batch as text',
    { ...good, batch: '4' },
    'batch',
    /a whole number, or an object with size, global or tokens, found "4"/,
  ],
  ['shuffle', { ...good, order: { shuffle: 'globl' } }, 'order.shuffle', /did you mean "global"/],
  [
    'seed',
    { ...good, order: { shuffle: 'global', seed: 1.5 } },
    'order.seed',
    /a whole number ≥ 0, found 1.5/,
  ],
  [
    'samples without weights',
    { ...good, order: { shuffle: 'global', samples: 3 } },
    'order.samples',
    /weights only/,
  ],
  ['no fields', { ...good, fields: {} }, 'fields', /at least one field/],
  ['name of a field', { ...good, fields: { 'a-b': label } }, 'fields.a-b', /a letter, then letters/],
  ['reserved name', { ...good, fields: { ids: label } }, 'fields.ids', /its own "ids"/],
  ['kind', withField({ from: 'cls', as: 'itn' }), 'fields.x.as', /unknown kind "itn"; did you mean "int"\?/],
  [
    'dtype',
    withField({ from: 'cls', as: 'int', dtype: 'float32' }),
    'fields.x.dtype',
    /unknown dtype "float32"/,
  ],
  ...['image', 'mask'].map((as): [string, unknown, string, RegExp] => [
    `${as} in i8`,
    withField({ from: 'png', as, shape: [8, 8], dtype: 'i8' }),
    'fields.x.dtype',
    new RegExp(`${as} can't be i8 \\(its values go from 0 to 255, i8 ends at 127\\); possible: u8, .*i16`),
  ]),
  [
    'dtype of a kind',
    withField({ from: 'x', as: 'float', dtype: 'u8' }),
    'fields.x.dtype',
    /float can't be u8; possible: f32/,
  ],
  ['column', withField({ from: 'jpg||png', as: 'int' }), 'fields.x.from', /alternatives such as/],
  [
    'key of another kind',
    withField({ from: 'cls', as: 'int', layout: 'chw' }),
    'fields.x.layout',
    /means nothing for int, only for image/,
  ],
  [
    'class twice',
    withField({ from: 'cls', as: 'class', classes: ['a', 'b', 'a'] }),
    'fields.x.classes',
    /"a" is there twice/,
  ],
  ['npy without dtype', withField({ from: 'x', as: 'npy', shape: [3] }), 'fields.x', /npy needs dtype/],
  ['npy without shape', withField({ from: 'x', as: 'npy', dtype: 'f32' }), 'fields.x', /npy needs shape/],
  [
    'compression by a wrong name',
    withField({ from: 'x', as: 'npy', dtype: 'f32', shape: [3], compression: 'zst' }),
    'fields.x.compression',
    /unknown compression "zst"; did you mean "zstd"/,
  ],
  [
    'compressed text',
    withField({ from: 'x', as: 'text', compression: 'gzip' }),
    'fields.x.compression',
    /means nothing for text, only for bytes, npy/,
  ],
  [
    'boxes of three numbers',
    withField({ from: 'x', as: 'boxes', shape: [9, 3] }),
    'fields.x.shape',
    /\[n, 4\] or \[n, 5\]/,
  ],
  [
    'two lengths',
    withField({ from: 'x', as: 'boxes', shape: [9, 4], ragged: { max: 8 } }),
    'fields.x',
    /different greatest lengths: 9, 8/,
  ],
  [
    'ragged and padded',
    withField({ from: 'x', as: 'bytes', ragged: {}, pad: { to: 3 } }),
    'fields.x',
    /found both/,
  ],
  [
    'follow nothing',
    withField({ from: 'm', as: 'mask', follow: 'imgae' }),
    'fields.x.follow',
    /unknown field "imgae"; did you mean "image"\?/,
  ],
  [
    'follow a number',
    { ...good, fields: { image, label, x: { from: 'm', as: 'mask', follow: 'label' } } },
    'fields.x.follow',
    /"label" is int/,
  ],
  [
    'follow a follower',
    {
      ...good,
      fields: {
        image,
        m: { from: 'm', as: 'mask', follow: 'image' },
        x: { from: 'b', as: 'boxes', follow: 'm' },
      },
    },
    'fields.x.follow',
    /follow "image"/,
  ],
  [
    'operator',
    withOp({ randomResizeCrop: 224 }),
    'fields.image.apply[0]',
    /did you mean "randomResizedCrop"/,
  ],
  [
    'parameter',
    withOp({ randomResizedCrop: { sise: 224 } }),
    'fields.image.apply[0].randomResizedCrop.sise',
    /did you mean "size"/,
  ],
  ['missing parameter', withOp('centerCrop'), 'fields.image.apply[0].centerCrop.size', /is missing/],
  [
    'size as text',
    withOp({ randomResizedCrop: { size: '224' } }),
    'fields.image.apply[0].randomResizedCrop.size',
    /found "224"/,
  ],
  [
    'probability',
    withOp({ centerCrop: 8 }, { flip: 2 }),
    'fields.image.apply[1].flip.p',
    /a number from 0 to 1, found 2/,
  ],
  [
    'interval',
    withOp({ randomResizedCrop: { size: 8, scale: [1, 0.5] } }),
    'fields.image.apply[0].randomResizedCrop.scale',
    /low ≤ high/,
  ],
  [
    'filter',
    withOp({ resize: { size: [8, 8], filter: 'bilinaer' } }),
    'fields.image.apply[0].resize.filter',
    /unknown filter "bilinaer"; did you mean "bilinear"\?/,
  ],
  [
    'greatest side of a fixed size',
    withOp({ resize: { size: [8, 8], maxSize: 9 } }),
    'fields.image.apply[0].resize',
    /shorter side only/,
  ],
  [
    'even kernel',
    withOp({ centerCrop: 8 }, { gaussianBlur: 4 }),
    'fields.image.apply[1].gaussianBlur.kernel',
    /odd/,
  ],
  [
    'rotation that expands',
    withOp({ centerCrop: 8 }, { rotate: { degrees: 3, expand: true } }),
    'fields.image.apply[1].rotate.expand',
    /one size/,
  ],
  [
    'preset',
    withOp({ centerCrop: 8 }, { normalize: 'imagnet' }),
    'fields.image.apply[1].normalize',
    /unknown preset "imagnet"; did you mean "imagenet"\?/,
  ],
  [
    'statistics of colours for one channel',
    withGray({ normalize: 'imagenet' }),
    'fields.x.apply[1].normalize',
    /the image has one channel: give one, such as \{"mean":0.449,"std":0.226\}/,
  ],
  [
    'a colour for one channel',
    withGray({ pad: { padding: 2, fill: [10, 20, 30] } }),
    'fields.x.apply[1].pad',
    /values for red, green and blue, and the image has one channel: give one, such as \{"fill":20\}/,
  ],
  [
    'two channels',
    withField({ from: 'jpg', as: 'image', channels: 2, shape: [4, 4] }),
    'fields.x.channels',
    /expected 3 \(RGB\) or 1 \(gray\), found 2/,
  ],
  [
    'channels of a mask',
    withField({ from: 'png', as: 'mask', channels: 1, shape: [4, 4] }),
    'fields.x.channels',
    /means nothing for mask, only for image/,
  ],
  [
    'deviation of zero',
    withOp({ centerCrop: 8 }, { normalize: { mean: 0, std: 0 } }),
    'fields.image.apply[1].normalize.std',
    /> 0/,
  ],
  [
    'flip after normalize',
    withOp({ centerCrop: 8 }, { normalize: 'half' }, 'flip'),
    'fields.image.apply[2].flip',
    /can't come after normalize/,
  ],
  [
    'mixup on a sample',
    withOp({ centerCrop: 8 }, { mixup: { classes: 3 } }),
    'fields.image.apply[1].mixup',
    /batch.apply/,
  ],
  ['two operators in one', withOp({ centerCrop: 8, flip: 1 }), 'fields.image.apply[0]', /one operator/],
  [
    'size unknown',
    withOp({ resize: 256 }),
    'fields.image',
    /add an operator that fixes it.*shape: \[height, width\]/,
  ],
  ['shape against operators', withField({ ...image, shape: [8, 8] }), 'fields.x.shape', /make it \[32, 32\]/],
  [
    'normalized bytes',
    withField({ from: 'jpg', as: 'image', apply: [{ centerCrop: 8 }, { normalize: 'half' }], dtype: 'u8' }),
    'fields.x.dtype',
    /don't fit into u8/,
  ],
  [
    'an orientation that is none',
    withField({ from: 'jpg', as: 'image', apply: [{ centerCrop: 8 }], orientation: 'upright' }),
    'fields.x.orientation',
    /exif, stored/,
  ],
  [
    'an orientation of boxes',
    withField({ from: 'json', as: 'boxes', follow: 'image', orientation: 'stored' }),
    'fields.x.orientation',
    /boxes/,
  ],
  [
    'colours on a mask',
    withField({ from: 'm', as: 'mask', apply: [{ centerCrop: 8 }, 'grayscale'] }),
    'fields.x.apply[1].grayscale',
    /spoil a mask/,
  ],
  [
    'geometry of a follower',
    withField({ from: 'm', as: 'mask', follow: 'image', apply: ['flip'] }),
    'fields.x.apply[0].flip',
    /follows "image"/,
  ],
  [
    'function on an image',
    withField({ ...image, map: { call: { module: 'a.ts', path: 'p', hash: 'h' } } }),
    'fields.x.map',
    /means nothing for image/,
  ],
  [
    'function without place',
    { ...good, map: { call: { module: 'a.ts', hash: 'h' } } },
    'map.call',
    /exactly one of export, path/,
  ],
  [
    'function without hash',
    { ...good, map: { call: { module: 'a.ts', export: 'f' } } },
    'map.call.hash',
    /is missing: .*JSON\.stringify/,
  ],
  [
    "torchvision's name",
    withField({ ...image, apply: [{ resize: { size: 8, interpolation: 'bicubic' } }] }),
    'fields.x.apply[0].resize.interpolation',
    /it is called "filter" here/,
  ],
  ...[
    ['random_horizontal_flip', /it is called "flip" here$/],
    ['RandomVerticalFlip', /it is called "flip" here, with axis "vertical"$/],
    ['RandomIoUCrop', /it is called "iouCrop" here$/],
    ['trivial_augment_wide', /it is called "trivialAugment" here$/],
  ].map(([name, said]): [string, unknown, string, RegExp] => [
    `torchvision's operator ${name}`,
    withField({ ...image, apply: [{ [`${name}`]: {} }] }),
    'fields.x.apply[0]',
    said as RegExp,
  ]),
  ["pandas's name", withField({ from: 'x', as: 'string' }), 'fields.x.as', /it is called "text" here/],
  ["NumPy's name", withField({ ...image, dtype: 'float32' }), 'fields.x.dtype', /it is called "f32" here/],
  [
    'a mean of bytes',
    withField({ ...image, apply: [{ normalize: { mean: [123, 117, 104], std: [58, 57, 57] } }] }),
    'fields.x.apply[0].normalize',
    /a mean of 123 is one of bytes.*divide mean and std by 255/,
  ],
  ['batch', { ...good, batch: 0 }, 'batch', /a whole number ≥ 1, found 0/],
  ['batch twice', { ...good, batch: { size: 4, global: 8 } }, 'batch', /found size and global/],
  ['tokens and rows', { ...good, batch: { size: 4, tokens: 8 } }, 'batch', /found size and tokens/],
  ['rows without tokens', { ...good, batch: { size: 4, rows: 8 } }, 'batch.rows', /goes with tokens only/],
  ['tokens of pictures', { ...good, batch: { tokens: 8 } }, 'batch', /no field has rows of varying length/],
  [
    'tokens of a field that is not there',
    { ...withField({ from: 't', as: 'text' }), batch: { tokens: 8, field: 'y' } },
    'batch.field',
    /unknown field "y"/,
  ],
  [
    'tokens of a field of fixed size',
    { ...withField({ from: 't', as: 'text' }), batch: { tokens: 8, field: 'image' } },
    'batch',
    /the rows of "image" are equally long, or follow a picture; of varying length: x/,
  ],
  [
    'a mixed batch of tokens',
    { ...withField({ from: 't', as: 'text' }), batch: { tokens: 8, apply: [{ mosaic: {} }] } },
    'batch.apply',
    /can't be mixed/,
  ],
  [
    'groups of what has no length',
    { ...good, order: { shuffle: 'global', group: {} } },
    'order.group',
    /no field has rows of varying length/,
  ],
  [
    'groups of no batches',
    { ...good, order: { shuffle: 'global', group: { by: 'size', batches: 0 } } },
    'order.group.batches',
    /≥ 1/,
  ],
  [
    'groups of a blend by batches',
    {
      ...withField({ from: 't', as: 'text' }),
      source: { blend: { entries: [{ source: { tar: 'a.tar' }, weight: 1 }], per: 'batch' } },
      batch: { tokens: 8 },
    },
    'source.blend.per',
    /can't be used with batch.tokens/,
  ],
  ['last', { ...good, batch: { size: 4, last: 'dorp' } }, 'batch.last', /did you mean "drop"/],
  [
    'flip on a batch',
    { ...good, batch: { size: 4, apply: ['flip'] } },
    'batch.apply[0].flip',
    /single samples/,
  ],
  [
    'mixup of bytes',
    { ...good, batch: { size: 4, apply: [{ mixup: { classes: 3 } }] } },
    'batch.apply[0].mixup',
    /floating type/,
  ],
  [
    'mixup of f64, for which there is no kernel',
    {
      ...good,
      fields: { ...good.fields, image: { ...good.fields.image, dtype: 'f64' } },
      batch: { size: 4, apply: [{ mixup: { classes: 3 } }] },
    },
    'batch.apply[0].mixup',
    /f32, f16 or bf16/,
  ],
  [
    'mixup of another label',
    { ...good, batch: { size: 4, apply: [{ cutmix: { classes: 3, label: 'lable' } }] } },
    'batch.apply[0].cutmix.label',
    /did you mean "label"/,
  ],
  ['policy', { ...good, onError: 'skip' }, 'onError', /known: fail, drop, mask/],
  ['budget', { ...good, onError: { policy: 'drop', budget: -1 } }, 'onError.budget', /≥ 0/],
  [
    'variant',
    { ...good, variants: { val: { batch: { sise: 4 } } } },
    'variants.val.batch.sise',
    /did you mean "size"/,
  ],
  [
    'variant of two sources',
    { ...good, variants: { val: { source: { files: 'a' } } } },
    'variants.val.source',
    /sets the other to null/,
  ],
  [
    'variants of a variant',
    { ...good, variants: { val: { variants: {} } } },
    'variants.val.variants',
    /no variants/,
  ],
]

describe('wrong definitions', () => {
  test.each(wrongs)('%s', (_, definition, path, message) => expectRefused(definition, path, message))

  test('the good ones pass', () => {
    expect(validateFeed(good)).toBe(good)
    const everything = {
      ...good,
      source: {
        blend: { entries: [{ source: { tar: 'a' }, weight: 1, rename: { img: 'jpg' } }], per: 'batch' },
      },
      order: { shuffle: { window: 9 }, seed: 3 },
      fields: {
        image,
        other: {
          from: 'png',
          as: 'image',
          follow: 'image',
          apply: ['grayscale', { normalize: 'half' }],
          dtype: 'bf16',
        },
        gray: {
          from: 'png',
          as: 'image',
          channels: 1,
          apply: [
            { pad: { padding: 2, fill: [10] } },
            { centerCrop: 8 },
            { normalize: { mean: [0.5], std: 0.2 } },
            { randomErasing: { value: 'random' } },
          ],
        },
        label,
        boxes: {
          from: 'json',
          as: 'boxes',
          follow: 'image',
          shape: [20, 5],
          pad: { to: 'longest', multiple: 8 },
        },
        signal: { from: 'npy', as: 'npy', dtype: 'f32', shape: [50, 3], ragged: {} },
      },
      batch: { global: 64, last: 'pad' },
      onError: 'mask',
      variants: { val: { order: 'none', batch: { global: null, size: 3 } } },
    }
    expect(() => validateFeed(everything)).not.toThrow()
  })

  test('a definition that contains itself is refused', () => {
    const endless: Record<string, unknown> = { ...good }
    endless.variants = { a: endless }
    expect(() => validateFeed(endless)).toThrow(/nested deeper/)
  })
})

describe('arbitrary JSON', () => {
  const refusedOrFine = (definition: unknown) => {
    try {
      normalizeFeed(definition, '/')
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error
    }
  }

  test('is a feed or a DefinitionError', () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), refusedOrFine))
  })

  // A good feed with one place in it replaced by anything reaches far deeper into the checks.
  const big = {
    source: {
      split: { source: { concat: [{ tar: ['a'] }, { folder: { path: 'b' } }] }, folds: 3, take: { not: 1 } },
    },
    order: { weights: { balance: 'cls' }, samples: 9, seed: 1 },
    fields: {
      image: {
        from: 'jpg',
        as: 'image',
        apply: [
          { randomCrop: { size: [8, 9], padding: [1, 2] } },
          { affine: { degrees: 3, shear: [1, 2] } },
          { colorJitter: { hue: 0.1 } },
          { normalize: { mean: 0, std: 1 } },
        ],
      },
      boxes: { from: 'json', as: 'boxes', follow: 'image', ragged: { max: 9, total: 90 } },
      label: {
        from: 'cls',
        as: 'class',
        classes: ['a', 'b'],
        map: { call: { module: 'm', export: 'e', hash: 'h' } },
      },
    },
    batch: { size: 4, apply: [{ mixup: { alpha: 1, classes: 2 } }] },
    onError: { policy: 'drop', budget: 3 },
    variants: { val: { order: 'none', fields: { image: { dtype: 'f16' } } } },
  }
  const places: (string | number)[][] = []
  const walk = (value: unknown, path: (string | number)[]): void => {
    places.push(path)
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value))
      walk(inner, [...path, Array.isArray(value) ? Number(key) : key])
  }
  walk(big, [])
  const replaced = (value: unknown, [key, ...rest]: (string | number)[], by: unknown): unknown => {
    if (key === undefined) return by
    const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
      string | number,
      unknown
    >
    copy[key] = replaced(copy[key], rest, by)
    return copy
  }

  test('anywhere in a good feed, too', () => {
    normalizeFeed(big, '/')
    const odd = fc.constantFrom('__proto__', 'constructor', 'toString', -0, 1e308, 2 ** 53, '', [], {}, null)
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.oneof(odd, fc.jsonValue({ maxDepth: 2 })), (place, by) =>
        refusedOrFine(replaced(big, place, by)),
      ),
    )
  })

  test('odd names of JavaScript are names like any other', () => {
    const odd = JSON.parse('{"__proto__": {"from": "x", "as": "int"}}')
    expect(() => validateFeed({ ...good, fields: odd })).toThrow(DefinitionError)
    expect(() => validateFeed(withOp('constructor'))).toThrow(/unknown operator "constructor"/)
    expect(() => validateFeed(withSource({ toString: 1 }))).toThrow(/unknown source "toString"/)
    expect(() => validateFeed(withField({ from: 'x', as: 'valueOf' }))).toThrow(/unknown kind/)
  })
})
