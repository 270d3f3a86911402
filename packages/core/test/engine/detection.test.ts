/**
 * Pictures with boxes, a mask and points, through the operators of detection: what is delivered as a box is where the
 * picture has that thing, and rows left to a device are the same, also when it gives them back.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type AnyBatch, type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { npyOf } from '../../../../test/support/npy.js'
import { jpeg } from '../../../../test/support/pictures.js'
import { tarFile } from '../../../../test/support/tar.js'
import { pictureOf } from '../../../pixels/transform/device/parameter-row.js'
import { HEADER_WORDS } from '../../../pixels/transform/device/parameter-words.js'
import {
  compileDevicePicture,
  pictureForDevice,
  redoPicture,
} from '../../../pixels/transform/device/picture.js'
import { Random } from '../../basics/random.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { NormalOp } from '../../define/types.js'
import { Workspace } from '../../system/memory/workspace.js'

const [WIDTH, HEIGHT, COUNT] = [60, 44, 24]
/** Things that don't touch each other, of colours 60, 120 and 180. */
const THINGS = [
  [4, 5, 16, 20, 1],
  [25, 8, 45, 16, 2],
  [20, 24, 50, 40, 3],
]

let root: string
beforeAll(() => {
  root = temporaryFolder()
  const pixels = new Uint8Array(WIDTH * HEIGHT * 3)
  const labels = new Uint8Array(WIDTH * HEIGHT)
  for (const [x1, y1, x2, y2, label] of THINGS)
    for (let y = y1; y < y2; y++) {
      pixels.fill(label * 60, (y * WIDTH + x1) * 3, (y * WIDTH + x2) * 3)
      labels.fill(label, y * WIDTH + x1, y * WIDTH + x2)
    }
  const members = Array.from({ length: COUNT }, (_, i) => [
    { name: `${i}.npy`, data: npyOf([HEIGHT, WIDTH, 3], pixels) },
    { name: `${i}.mask.npy`, data: npyOf([HEIGHT, WIDTH], labels) },
    { name: `${i}.boxes.json`, data: JSON.stringify(THINGS) },
  ]).flat()
  writeFileSync(join(root, 'things.tar'), tarFile(members))
})

function feedOf(apply: unknown[], mix: unknown[] = []): FeedJson {
  return {
    source: { tar: 'things.tar' },
    order: { shuffle: 'global', seed: 5 },
    fields: {
      image: { from: 'npy', as: 'image', apply: apply as never[], layout: 'hwc' },
      boxes: { from: 'boxes.json', as: 'boxes', follow: 'image', shape: [16, 5], minArea: 4 },
      mask: { from: 'mask.npy', as: 'mask', follow: 'image' },
      padded: {
        from: 'boxes.json',
        as: 'boxes',
        follow: 'image',
        shape: [16, 5],
        minArea: 4,
        pad: { to: 'longest', value: -1, max: 16 },
      },
    },
    batch: { size: 8, apply: mix as never[] },
  }
}

/** The boxes of each row. */
function raggedRows(batch: AnyBatch): number[][] {
  const { values, offsets } = batch.boxes as { values: Float32Array; offsets: Int32Array }
  return Array.from({ length: batch.count }, (_, i) => [
    ...values.subarray(offsets[i] * 5, offsets[i + 1] * 5),
  ])
}

/** The same, of the field that is filled up; what is filled in is -1. */
function paddedRows(batch: AnyBatch): number[][] {
  const padded = batch.padded as Float32Array
  const step = padded.length / batch.count
  return Array.from({ length: batch.count }, (_, i) => {
    const row = [...padded.subarray(i * step, (i + 1) * step)]
    const length = batch.lengths('padded')[i] * 5
    expect(row.slice(length).every(value => value === -1)).toBe(true)
    return row.slice(0, length)
  })
}

const size = { resize: { size: [80, 90], filter: 'nearest' } }

describe('boxes lie where their things are', () => {
  test.each([
    ['zoomOut', [{ zoomOut: { p: 1, fill: 9 } }, size]],
    ['iouCrop', [{ iouCrop: { overlaps: [0, 0.3], boxes: 'boxes' } }, size]],
    ['zoomOut, flip, iouCrop', ['zoomOut', 'flip', { iouCrop: { boxes: 'boxes' } }, size]],
    [
      'scaleJitter',
      [
        { scaleJitter: { size: [80, 90], scale: [0.5, 2], filter: 'nearest' } },
        { randomCrop: { size: [80, 90], padIfNeeded: true } },
      ],
    ],
    ['perspective', [{ perspective: { distortion: 0.3, p: 1 } }, size]],
    ['elastic', [{ elastic: { alpha: 20, sigma: 4 } }, size]],
    ['mosaic', [size], [{ mosaic: {} }]],
    ['mosaic of some', ['flip', size], [{ mosaic: { p: 0.5 } }]],
  ])('%s', async (_, apply: unknown[], mix: unknown[] = []) => {
    let found = 0
    await using(feedOf(apply, mix), { root, workers: 1 }, async loader => {
      for await (const batch of loader as AsyncIterable<AnyBatch>) {
        const image = batch.image as Uint8Array
        const { values, offsets } = batch.boxes as { values: Float32Array; offsets: Int32Array }
        for (let row = 0; row < batch.count; row++)
          for (let i = offsets[row]; i < offsets[row + 1]; i++) {
            const [x1, y1, x2, y2, label] = values.subarray(i * 5, i * 5 + 5)
            if (Math.min(x2 - x1, y2 - y1) < 3) continue // a sliver: its middle may be another pixel's
            const [x, y] = [Math.floor((x1 + x2) / 2), Math.floor((y1 + y2) / 2)]
            expect(Math.abs(image[((row * 80 + y) * 90 + x) * 3] - label * 60)).toBeLessThan(10)
            expect((batch.mask as Uint8Array)[(row * 80 + y) * 90 + x]).toBe(label)
            found++
          }
        expect(paddedRows(batch)).toEqual(raggedRows(batch))
      }
    })
    expect(found).toBeGreaterThan(COUNT / 2)
  })
})

test('masks and boxes have the frame of a photograph as stored', async () => {
  const folder = temporaryFolder()
  // A grey picture of 37 × 23, to be turned by a quarter; its corner of 9 × 7 has one colour.
  const data = readFileSync(join(import.meta.dirname, '../../../../test/golden/images/exif-gray.png'))
  const boxes = JSON.stringify([[0, 0, 9, 7]])
  const members = Array.from({ length: 8 }, (_, i) => [
    { name: `${i}.png`, data },
    { name: `${i}.boxes.json`, data: boxes },
  ])
  writeFileSync(join(folder, 'turned.tar'), tarFile(members.flat()))
  const apply = ['flip', { flip: { axis: 'vertical' } }, { resize: { size: [46, 74], filter: 'nearest' } }]
  const feed: FeedJson = {
    source: { tar: 'turned.tar' },
    fields: {
      image: { from: 'png', as: 'image', apply, layout: 'hwc', orientation: 'stored' },
      mask: { from: 'png', as: 'mask', follow: 'image' },
      boxes: { from: 'boxes.json', as: 'boxes', follow: 'image' },
    },
    batch: 8,
  }
  const corners = new Set<string>()
  await using(feed, { root: folder, workers: 1 }, async loader => {
    for await (const batch of loader as AsyncIterable<AnyBatch>) {
      const mask = batch.mask as Uint8Array
      expect((batch.image as Uint8Array).filter((_, i) => i % 3 === 0)).toEqual(mask)
      const { values } = batch.boxes as { values: Float32Array }
      for (let row = 0; row < batch.count; row++) {
        const [x1, y1, x2, y2] = values.subarray(row * 4, row * 4 + 4)
        expect([x2 - x1, y2 - y1]).toEqual([18, 14])
        for (const x of [x1, x2 - 1])
          for (const y of [y1, y2 - 1]) expect(mask[(row * 46 + y) * 74 + x]).toBe(93)
        corners.add(`${x1} ${y1}`)
      }
    }
  })
  expect(corners.size).toBeGreaterThan(2)
})

test('a sample with more boxes than mosaic leaves it is bad, and told why', async () => {
  const json = feedOf([size], [{ mosaic: {} }])
  json.fields.boxes.shape = [8, 5] // two for each of four
  const run = using(json, { root, workers: 1 }, async loader => {
    for await (const _ of loader as AsyncIterable<AnyBatch>);
  })
  await expect(run).rejects.toThrow(/3 elements, more than the greatest length of 2 \(a quarter of 8: mosaic/)
})

test('a row that a device gives back is cropped as it was, without a look at its boxes', () => {
  const json = { ...feedOf([{ iouCrop: { boxes: 'boxes' } }, size]), batch: 1 } as FeedJson
  const feed = normalizeFeed(json, '/')
  const [field] = feed.fields
  const layout = pictureForDevice(field, feed, { rows: 1 })
  const file = jpeg(3, WIDTH, HEIGHT)
  for (let position = 0; position < 8; position++) {
    const random = (_: string, op: NormalOp) => new Random().key(7, 0, position, op.ordinal)
    const make = (cpuShare: number, again: boolean): Uint8Array => {
      const work = Workspace.alone(1 << 22)
      const at = work.take(layout.shape[0])
      const context = { work, position, chosen: new Map(), random }
      compileDevicePicture(field, layout, { cpuShare }).run(file, at, {
        ...context,
        other: (_, use) => use('[[4, 5, 16, 20]]'),
      })
      if (again) redoPicture(field, layout, at, context)
      // The header, and the finished pixels.
      const pixels = at + pictureOf(layout).words * 4
      const header = work.u8.slice(at, at + HEADER_WORDS * 4)
      return Buffer.concat([header, work.u8.slice(pixels, pixels + 80 * 90 * 3)])
    }
    expect(Buffer.compare(make(0, true), make(1, false))).toBe(0)
  }
})
