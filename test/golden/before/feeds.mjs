// The definitions whose hashes, order and bytes are held to what they were.
// Relative paths are those of the folder that folder.mjs makes.

const numbers = (count, seed) => ({
  synthetic: { count, ...(seed !== undefined && { seed }), tensors: { shape: [1], dtype: 'u32' } },
})
const pictures = (count, more = {}) => ({
  synthetic: { count, images: { width: 40, height: 32, classes: 5, ...more } },
})
const shards = { tar: 'shards/train-{0000..0001}.tar' }
const list = { files: { list: 'list.csv', path: 'file', root: 'pictures' } }
const global = { shuffle: 'global', seed: 7 }

const number = { number: { from: 'data', as: 'npy', shape: [1], dtype: 'u32' } }
const label = { label: { from: 'cls', as: 'int' } }
const key = { text: { from: 'txt', as: 'text', ragged: { max: 64 } } }
const image = (apply, more = {}) => ({ from: 'jpg', as: 'image', apply, ...more })
const small = [{ resize: [12, 16] }]
const crop = [{ randomResizedCrop: { size: 20 } }, { flip: { p: 0.5 } }]
const normal = [...crop, { normalize: 'imagenet' }]

const everything = [
  { randomResizedCrop: { size: 24, filter: 'bicubic' } },
  { flip: { p: 0.3, axis: 'vertical' } },
  { rotate: { degrees: 20, filter: 'bilinear', fill: [10, 20, 30] } },
  { colorJitter: { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1 } },
  { grayscale: { p: 0.2 } },
  { gaussianBlur: { kernel: 5, sigma: [0.1, 2] } },
  { sharpness: { factor: 2, p: 0.5 } },
  { autocontrast: { p: 0.3 } },
  { posterize: { bits: 5, p: 0.2 } },
  { solarize: { threshold: 128, p: 0.2 } },
  { equalize: { p: 0.2 } },
  { invert: { p: 0.2 } },
  { normalize: 'imagenet' },
  { randomErasing: { p: 0.8, value: 'random' } },
]
const placed = [
  { resize: { size: 32 } },
  { randomCrop: { size: 28, padding: 4, mode: 'reflect' } },
  { affine: { degrees: 10, translate: [0.1, 0.1], scale: [0.8, 1.2], shear: 5 } },
  { pad: { padding: 2, mode: 'edge' } },
  { centerCrop: { size: 26 } },
  { perspective: { p: 0.5, fill: [3, 100, 200] } },
  { elastic: { alpha: 20, sigma: 2 } },
  { trivialAugment: {} },
  { randAugment: {} },
  { autoAugment: { policy: 'cifar10' } },
  { photometricDistort: { p: 0.5 } },
  { normalize: { mean: [0.5, 0.4, 0.3], std: [0.2, 0.3, 0.4] } },
]
const mixup = { mixup: { classes: 10, p: 0.7 } }
const cutmix = { cutmix: { classes: 10, alpha: 0.8 } }

const keep = (size, apply) => ({ size, last: 'keep', ...(apply && { apply }) })
const ofNumbers = (source, order = global, batch = keep(7)) => ({ source, order, fields: number, batch })
const ofShards = (fields, rest = {}) => ({ source: shards, order: global, fields, batch: keep(5), ...rest })
const ofLabels = (source, order = global, batch = keep(7)) => ({ source, order, fields: label, batch })
const ofKeys = (source, order = 'none') => ({ source, order, fields: key, batch: keep(4) })
const detected = {
  image: image([{ randomResizedCrop: { size: [20, 24], scale: [0.4, 1] } }, { flip: {} }, { rotate: 15 }]),
  mask: { from: 'mask.png', as: 'mask', follow: 'image' },
  boxes: { from: 'boxes.json', as: 'boxes', follow: 'image', shape: [16, 5], minArea: 4 },
  points: { from: 'points.json', as: 'points', follow: 'image', shape: [16, 2] },
}
const blended = (more = {}) => ({
  blend: {
    entries: [
      { name: 'a', weight: 3, source: numbers(40) },
      { name: 'b', weight: 1, source: numbers(11, 5) },
      { name: 'c', weight: 0.5, source: { concat: [numbers(5), numbers(6)] } },
    ],
    ...more,
  },
})
const divided = (split, source = shards) => ({ split: { source, ...split } })
const python = (name, hash) => ({ call: { module: `python:NAMED/${name}.pickle`, export: 'map', hash } })

/**
 * Every feed by its name, a definition or { definition, and: `options` of open(), `loops` (2), `python` (true where
 * Python has to deliver the same bytes), `needs` "python" }.
 */
export const feeds = {
  // ---------------------------------------------------------------- order
  'order: none': ofNumbers(numbers(50), 'none'),
  'order: global': { python: true, definition: ofNumbers(numbers(50)) },
  'order: global, another seed': ofNumbers(numbers(50), { shuffle: 'global', seed: 8 }),
  'order: global, drop': ofNumbers(numbers(50), global, { size: 8 }),
  'order: global, pad': ofNumbers(numbers(50), global, { size: 8, last: 'pad' }),
  'order: global, rank 1 of 3': {
    definition: ofNumbers(numbers(50), global, { global: 12, last: 'keep' }),
    options: { rank: 1, world: 3 },
  },
  'order: window': ofNumbers(numbers(300), { shuffle: { window: 32 }, seed: 7 }, keep(16)),
  'order: window of shards': ofKeys(shards, { shuffle: { window: 6 }, seed: 3 }),
  'order: weights, a list': ofNumbers(numbers(6), { weights: [1, 2, 0, 4, 0.5, 9], samples: 40, seed: 3 }),
  'order: weights, a column': ofLabels(shards, { weights: { column: 'cls' }, seed: 3 }),
  'order: weights, balanced': ofLabels(pictures(30), { weights: { balance: 'cls' }, samples: 60 }),

  // ---------------------------------------------------------------- sources
  'source: folder': {
    source: { folder: 'pictures' },
    order: global,
    fields: {
      image: { from: 'image', as: 'image', apply: small },
      label: { from: 'label', as: 'int', dtype: 'i32' },
      class: { from: 'class', as: 'class', classes: ['owl', 'cat', 'fox', 'dog'] },
      path: { from: 'path', as: 'text', ragged: { max: 64 } },
    },
    batch: keep(5),
  },
  'source: folder with classes': {
    source: { folder: { path: 'pictures', classes: ['fox', 'owl', 'dog', 'cat'], extensions: ['jpg'] } },
    fields: { label: { from: 'label', as: 'int' } },
    batch: 5,
  },
  'source: files': {
    source: { files: 'pictures/**/*.{jpg,png}' },
    fields: {
      bytes: { from: 'file', as: 'bytes', ragged: { max: 8192 } },
      name: { from: 'name', as: 'text', ragged: { max: 64 } },
    },
    batch: 5,
  },
  'source: files by a list': {
    source: list,
    order: { weights: { balance: 'label' }, seed: 7 },
    fields: {
      image: { from: 'image', as: 'image', apply: crop },
      label: { from: 'label', as: 'int' },
      species: { from: 'species', as: 'class', classes: ['cat', 'dog', 'fox, red'], dtype: 'u8' },
      boxes: { from: 'boxes', as: 'boxes', ragged: { max: 4 } },
    },
    batch: keep(5),
  },
  'source: tar': { python: true, definition: ofShards({ image: image(normal), ...label, ...key }) },
  'source: synthetic pictures': {
    python: true,
    definition: {
      source: pictures(24),
      order: global,
      fields: { image: image(normal), ...label },
      batch: keep(7),
    },
  },
  'source: synthetic tokens': {
    source: { synthetic: { count: 20, seed: 3, tokens: { length: 12, vocabulary: 70_000 } } },
    fields: { tokens: { from: 'tokens', as: 'npy', shape: [12], dtype: 'u32' } },
    batch: 6,
  },
  'source: synthetic tensors': {
    source: { synthetic: { count: 20, seed: 3, tensors: { shape: [3, 4], dtype: 'f32' } } },
    fields: { data: { from: 'data', as: 'npy', shape: [3, 4], dtype: 'f32' } },
    batch: 6,
  },
  'source: python': {
    needs: 'python',
    definition: {
      source: {
        python: {
          payload: 'NAMED/numbers.pickle',
          hash: '0123456789abcdef0123456789abcdef',
          count: 30,
          name: 'numbers',
        },
      },
      order: global,
      fields: {
        number: { from: 'number', as: 'int' },
        text: { from: 'text', as: 'text', ragged: { max: 32 } },
      },
      batch: keep(7),
    },
  },

  // ---------------------------------------------------------------- combinators
  concat: ofNumbers({ concat: [numbers(9), { concat: [numbers(5), numbers(4, 2)] }] }),
  'concat of shards': ofKeys({
    concat: [{ tar: 'shards/train-0001.tar' }, { tar: 'shards/train-0000.tar' }],
  }),
  zip: {
    source: { zip: [pictures(20), numbers(20)] },
    order: global,
    fields: { ...label, ...number },
    batch: keep(7),
  },
  'subset: range': ofNumbers({ subset: { source: numbers(50), range: [7, 31] } }),
  'subset: indices': ofNumbers({ subset: { source: numbers(50), indices: [4, 9, 2, 17, 44, 0] } }),
  'subset: where': ofKeys({ subset: { source: shards, where: { cls: [1, 2, 5] } } }),
  'subset: where of a list': {
    source: { subset: { source: list, where: { patient: { '!=': 'p2' }, label: { '<': 2 } } } },
    fields: { label: { from: 'label', as: 'int' } },
    batch: 4,
  },
  'split: fractions': ofKeys(divided({ parts: { train: 0.7, val: 0.3 }, take: 'train' })),
  'split: a fold': ofKeys(divided({ folds: 3, take: 1, seed: 4 })),
  'split: all other folds': ofNumbers(divided({ folds: 4, take: { not: 0 } }, numbers(60))),
  'split: groupBy': {
    source: divided({ parts: { train: 0.6, val: 0.4 }, take: 'train', groupBy: 'patient' }, list),
    fields: { label: { from: 'label', as: 'int' } },
    batch: 4,
  },
  'split: stratifyBy': ofLabels(
    divided({ parts: { train: 0.8, val: 0.2 }, take: 'val', stratifyBy: 'cls' }, pictures(60)),
  ),
  'split: of a split': ofNumbers(
    divided({ folds: 3, take: 2, seed: 9 }, divided({ parts: { a: 0.5, b: 0.5 }, take: 'a' }, numbers(80))),
  ),
  blend: ofNumbers(blended()),
  'blend: per batch': ofNumbers(blended({ per: 'batch', epoch: 70 })),
  'blend: renamed': {
    source: {
      blend: {
        entries: [
          { name: 'street', weight: 3, source: shards },
          {
            name: 'forest',
            weight: 1,
            source: { folder: 'pictures' },
            rename: { image: 'jpg', label: 'cls' },
          },
        ],
        epoch: 30,
      },
    },
    order: global,
    fields: { image: image(small), ...label, source: { from: 'source', as: 'text', ragged: { max: 16 } } },
    batch: keep(7),
  },

  // ---------------------------------------------------------------- fields
  'fields: every kind': {
    python: true,
    definition: ofShards({
      image: image(crop, { dtype: 'u8', layout: 'hwc' }),
      mask: {
        from: 'mask.png',
        as: 'mask',
        apply: [{ resize: { size: [9, 11], filter: 'nearest' } }],
        dtype: 'i32',
      },
      boxes: { from: 'boxes.json', as: 'boxes', shape: [8, 5], dtype: 'f64' },
      points: { from: 'points.json', as: 'points', pad: { to: 'longest', multiple: 4, value: -1 } },
      class: { from: 'cls', as: 'class', classes: ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'] },
      int: { from: 'cls', as: 'int', dtype: 'u16' },
      float: { from: 'cls', as: 'float', dtype: 'f64' },
      text: { from: 'txt', as: 'text' },
      json: { from: 'boxes.json', as: 'json' },
      bytes: { from: 'bin', as: 'bytes', ragged: { max: 64, total: 200 } },
      numbers: { from: 'npy', as: 'npy', shape: [2, 3], dtype: 'f32' },
    }),
  },
  'fields: more types': ofShards({
    f16: image(normal, { dtype: 'f16' }),
    bf16: image(normal, { dtype: 'bf16', layout: 'hwc' }),
    scaled: image(small, { dtype: 'f32' }),
    shaped: image([], { shape: [48, 48], scale: 2 }),
    boxes: { from: 'boxes.json', as: 'boxes', pad: { to: 6 }, shape: [6, 5], dtype: 'i64' },
    bytes: { from: 'bin', as: 'bytes', pad: { to: 'longest', max: 64 } },
    numbers: { from: 'npy', as: 'npy', shape: [2, 3], dtype: 'bf16' },
    half: { from: 'cls', as: 'float', dtype: 'f16' },
    bool: { from: 'flag', as: 'int', dtype: 'bool' },
    note: { from: 'note.txt', as: 'text', ragged: { max: 32 } },
    packed: { from: 'packed', as: 'npy', shape: [2, 3], dtype: 'i32', compression: 'zlib' },
  }),
  'fields: pictures of all formats': {
    source: { files: 'formats/*' },
    fields: { image: { from: 'file', as: 'image', apply: small, dtype: 'u8' } },
    batch: 8,
  },
  'operators: everything': ofShards({ image: image(everything) }),
  'operators: placed': ofShards({ image: image(placed), twice: image(placed) }),
  'operators: detection': ofShards({
    ...detected,
    image: image([
      { zoomOut: { sides: [1, 2] } },
      { iouCrop: {} },
      { scaleJitter: { size: 30, scale: [0.5, 1.5] } },
      { resize: [20, 24] },
    ]),
  }),
  follow: { python: true, definition: ofShards(detected) },
  mixup: {
    python: true,
    definition: ofShards({ image: image(normal), ...label }, { batch: keep(6, [mixup]) }),
  },
  cutmix: ofShards({ image: image(crop), ...label }, { batch: keep(6, [cutmix]) }),
  'mixup after cutmix': ofShards({ image: image(normal), ...label }, { batch: keep(6, [cutmix, mixup]) }),
  mosaic: ofShards({ ...detected, ...label }, { batch: keep(6, [{ mosaic: { p: 0.8 } }]) }),
  'onError: drop': ofShards(
    { bytes: { from: 'bin', as: 'bytes', ragged: { max: 17 } }, ...key },
    { onError: { policy: 'drop', budget: 50 } },
  ),
  'onError: mask': ofShards(
    { bytes: { from: 'bin', as: 'bytes', ragged: { max: 17 } }, ...key },
    { onError: { policy: 'mask', budget: 50 } },
  ),

  // ---------------------------------------------------------------- variants and functions
  'variant: none chosen': varied(),
  'variant: val': { definition: varied(), options: { variant: 'val' } },
  'variant: other source': { definition: varied(), options: { variant: 'other' } },
  'functions: JavaScript': { module: 'functions.feed.mjs' },
  'functions: Python': {
    needs: 'python',
    definition: {
      source: pictures(20),
      order: global,
      map: python('change', 'a hash of change'),
      fields: { label: { ...label.label, map: python('double', 'a hash of double') } },
      batch: keep(7),
    },
  },
}

function varied() {
  return ofShards(
    { image: image(normal), ...label },
    {
      variants: {
        val: {
          order: 'none',
          fields: { image: { apply: [{ resize: 24 }, { centerCrop: 20 }] } },
          batch: { size: 4 },
        },
        other: { source: { tar: null, synthetic: pictures(9).synthetic } },
      },
    },
  )
}

/** Feeds for a device: what workers leave to the GPU. */
export const deviceFeeds = {
  'rows: everything': ofShards({ image: image(everything), ...label }),
  'rows: placed, u8': ofShards({ image: image([...placed.slice(0, -1)], { dtype: 'u8', layout: 'hwc' }) }),
  'rows: mixed': ofShards({ image: image(normal), ...label }, { batch: keep(6, [mixup, cutmix]) }),
  'rows: mosaic': ofShards({ image: image(crop) }, { batch: keep(6, [{ mosaic: {} }]) }),
  kernel: {
    source: {
      kernel: {
        file: 'kernel.cu',
        entry: 'draw',
        count: 40,
        seed: 5,
        fields: { image: { dtype: 'f32', shape: [3, 8, 9] }, label: { dtype: 'i64', shape: [] } },
      },
    },
    order: global,
    batch: 8,
  },
}
