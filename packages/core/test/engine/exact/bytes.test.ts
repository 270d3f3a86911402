/**
 * Law 1: options never change what is delivered. Every byte of every batch (values, shapes, ids, positions, valid)
 * is the same for any number of workers and any depth.
 */
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { digest, digests, type FeedJson, using } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { writeShards } from '../../../../../test/support/pictures.js'

const COUNT = 75
/** Workers and depths: every pair for the global shuffle, some for the other orders. */
const PAIRS = [0, 1, 2, 5].flatMap(workers => [1, 2, 8].map(depth => ({ workers, depth })))
const SOME = [PAIRS[2], PAIRS[3], PAIRS[8], PAIRS[10]]

let root: string
beforeAll(() => {
  root = temporaryFolder()
  writeShards(root, COUNT, 3)
  writeShards(join(root, 'more'), 20, 1)
})

const TAR = { tar: 'train-{0000..0002}.tar' }

/** Each kind of field, and about every operator that chooses at random. */
const rich: Omit<FeedJson, 'order'> = {
  source: TAR,
  fields: {
    image: {
      from: 'jpg',
      as: 'image',
      apply: [
        { randomResizedCrop: { size: 24 } },
        { flip: 0.5 },
        { flip: { p: 0.5, axis: 'vertical' } },
        { rotate: 20 },
        { affine: { degrees: 10, translate: [0.1, 0.1], scale: [0.8, 1.2], shear: 5 } },
        { colorJitter: { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1 } },
        { grayscale: 0.2 },
        { gaussianBlur: 3 },
        { normalize: 'imagenet' },
        { randomErasing: { p: 0.5, value: 'random' } },
      ],
    },
    varied: {
      from: 'jpg',
      as: 'image',
      apply: [{ randomCrop: { size: 16, padding: 2 } }, { trivialAugment: {} }],
      layout: 'hwc',
    },
    mask: { from: 'mask.png', as: 'mask', follow: 'image' },
    boxes: { from: 'boxes.json', as: 'boxes', follow: 'image', shape: [8, 5], minArea: 1 },
    label: { from: 'cls', as: 'int' },
    caption: { from: 'txt', as: 'text', ragged: { max: 80 } },
    bytes: { from: 'bin', as: 'bytes', ragged: { max: 32 } },
    padded: { from: 'bin', as: 'bytes', pad: { to: 'longest', multiple: 4, value: 7, max: 32 } },
    fixed: { from: 'bin', as: 'bytes', pad: { to: 24 } },
  },
  batch: {
    size: 16,
    last: 'keep',
    apply: [
      { mixup: { alpha: 0.4, classes: 10, p: 0.5, field: 'image' } },
      { cutmix: { alpha: 1, classes: 10, p: 0.5, field: 'image' } },
    ],
  },
}

const FEEDS: Record<string, FeedJson> = {
  none: { ...rich, order: 'none' } as FeedJson,
  global: { ...rich, order: { shuffle: 'global', seed: 3 } } as FeedJson,
  window: { ...rich, order: { shuffle: { window: 32 }, seed: 3 } } as FeedJson,
  weights: {
    ...rich,
    order: { weights: Array.from({ length: COUNT }, (_, i) => 1 + (i % 3)), samples: 60, seed: 3 },
  } as FeedJson,
  'none, with operators of detection': {
    source: TAR,
    order: 'none',
    fields: {
      image: {
        from: 'jpg',
        as: 'image',
        apply: [
          { photometricDistort: 0.5 },
          { zoomOut: [1, 2] },
          { iouCrop: {} },
          { scaleJitter: 30 },
          { perspective: 0.4 },
          { elastic: { alpha: 20, sigma: 2 } },
          { randAugment: 2 },
          { autoAugment: 'imagenet' },
          { randomCrop: { size: 24, padIfNeeded: true } },
        ],
      },
      mask: { from: 'mask.png', as: 'mask', follow: 'image' },
      boxes: { from: 'boxes.json', as: 'boxes', follow: 'image', shape: [32, 5], minArea: 1 },
    },
    batch: { size: 16, last: 'keep', apply: [{ mosaic: { p: 0.7 } }] },
  } as FeedJson,
  blend: {
    ...rich,
    source: {
      blend: {
        entries: [
          { source: TAR, weight: 3, name: 'most' },
          { source: { tar: 'more/train-0000.tar' }, weight: 1, name: 'more' },
        ],
        epoch: 64,
      },
    },
    order: { shuffle: 'global', seed: 3 },
  } as FeedJson,
  'blend of windows, last pad': {
    ...rich,
    source: {
      blend: {
        entries: [
          { source: TAR, weight: 3 },
          { source: { tar: 'more/train-0000.tar' }, weight: 1 },
        ],
      },
    },
    order: { shuffle: { window: 16 }, seed: 5 },
    batch: { size: 10, last: 'pad' },
  } as FeedJson,
}

describe('two epochs are the same, byte for byte, for any workers and depth', () => {
  test.each(Object.keys(FEEDS))('order: %s', async name => {
    const expected = await digests(FEEDS[name], { root, workers: 0, depth: 1 }, 2)
    expect(new Set(expected).size).toBe(expected.length)
    for (const pair of name === 'global' ? PAIRS : SOME) {
      expect(await digests(FEEDS[name], { root, ...pair }, 2), JSON.stringify(pair)).toEqual(expected)
    }
  })
})

test('a cache too small for the window changes nothing but the reads', async () => {
  const expected = await digests(FEEDS.window, { root, workers: 2 })
  expect(await digests(FEEDS.window, { root, workers: 2, cache: 0 })).toEqual(expected)
  expect(await digests(FEEDS.window, { root, workers: 2, cache: 100_000 })).toEqual(expected)
})

test('workers and depth can be changed in the middle', async () => {
  const expected = await digests(FEEDS.global, { root, workers: 0 }, 4)
  const got = await using(FEEDS.global, { root, workers: 1, depth: 1 }, async loader => {
    const changes = [{ workers: 4 }, { depth: 6 }, { workers: 2, depth: 2 }, { depth: 8 }, { workers: 1 }]
    const out: string[] = []
    for (let epoch = 0; epoch < 4; epoch++) {
      for await (const batch of loader) {
        out.push(digest(batch, Object.keys(FEEDS.global.fields)))
        await loader.tune(changes[out.length % changes.length])
      }
    }
    return out
  })
  expect(got).toEqual(expected)
})
