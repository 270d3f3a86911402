/**
 * Images of one channel. Their values are those of PIL's convert("L") (test/golden/images/luma.bin); of a gray picture, every
 * operator gives what it gives in the first of three equal channels.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { type AnyBatch, type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { npyOf } from '../../../../test/support/npy.js'
import { tarFile } from '../../../../test/support/tar.js'
import { imageInfo } from '../../../pixels/decode/picture/image.js'
import { openPicture } from '../../../pixels/transform/picture/open-picture.js'
import type { Dtype } from '../../basics/dtype.js'
import { Random } from '../../basics/random.js'
import { Workspace } from '../../system/memory/workspace.js'

const folder = new URL('../../../../test/golden/images/', import.meta.url)
const read = (name: string) => new Uint8Array(readFileSync(new URL(name, folder)))
const images = (
  JSON.parse(readFileSync(new URL('index.json', folder), 'utf8')) as {
    file: string
    as: string
    tolerance: number
  }[]
).filter(({ as }) => as === 'image')
/** Of a TIFF in YCbCr PIL takes the Y that is stored; we have the luma of its RGB. */
const TOLERANCE: Record<string, number> = { 'ycbcr.tif': 1 }

describe('values are those of PIL', () => {
  const lumas = read('luma.bin')
  let next = 0
  const cases = images.map(({ file, tolerance }) => {
    const bytes = read(file)
    const { width, height } = imageInfo(bytes)
    const expected = lumas.subarray(next, (next += width * height))
    return { file, bytes, width, height, expected, tolerance: TOLERANCE[file] ?? tolerance }
  })

  it('has a value for every pixel', () => expect(next).toBe(lumas.length))

  it.each(cases)('$file, all of it and a box', ({ bytes, width, height, expected, tolerance }) => {
    const x = width >> 2
    const y = height >> 2
    for (const box of [
      { x: 0, y: 0, width, height },
      { x, y, width: width - x, height: height - y },
    ]) {
      const work = Workspace.alone()
      const picture = openPicture(bytes, 'luma', { scale: 1 }).decode(box, undefined, work)
      expect(picture).toMatchObject({ width: box.width, height: box.height, channels: 1 })
      let most = 0
      for (let v = 0; v < box.height; v++)
        for (let u = 0; u < box.width; u++) {
          const ours = work.u8[picture.at + v * picture.stride + u]
          most = Math.max(most, Math.abs(ours - expected[(box.y + v) * width + box.x + u]))
        }
      expect(most).toBeLessThanOrEqual(tolerance)
    }
  })
})

const [WIDTH, HEIGHT, COUNT] = [45, 38, 8]

function noise(length: number, seed: number): Uint8Array {
  const random = new Random().key(seed, 0, 0, 0)
  return Uint8Array.from({ length }, () => random.bits() & 255)
}

let root: string
beforeAll(() => {
  root = temporaryFolder()
  const members = Array.from({ length: COUNT }, (_, i) => [
    { name: `${i}.npy`, data: npyOf([HEIGHT, WIDTH], noise(WIDTH * HEIGHT, i)) },
    { name: `${i}.jpg`, data: read('gray.jpg') },
    { name: `${i}.png`, data: read('rgb.png') },
    { name: `${i}.cls`, data: String(i % 4) },
  ]).flat()
  writeFileSync(join(root, 'gray.tar'), tarFile(members))
})

interface Given {
  apply: unknown[]
  mix?: unknown[]
  layout?: 'chw' | 'hwc'
  dtype?: Dtype
  from?: string
}

function feedOf(channels: 1 | 3, { apply, mix = [], layout = 'chw', dtype, from = 'npy' }: Given): FeedJson {
  return {
    source: { tar: 'gray.tar' },
    order: { shuffle: 'global', seed: 3 },
    fields: {
      image: { from, as: 'image', channels, apply: apply as never[], layout, ...(dtype && { dtype }) },
      // The same picture as a mask, moved as the image is.
      ...(from === 'npy' && { mask: { from, as: 'mask' as const, follow: 'image' } }),
      label: { from: 'cls', as: 'int' },
    },
    batch: { size: 4, apply: mix as never[] },
  }
}

/** All batches' images, one channel after the other, and their masks. */
async function imagesOf(channels: 1 | 3, given: Given) {
  const found: {
    shape: readonly number[]
    image: ArrayLike<number | bigint>
    mask: unknown
    label: unknown
  }[] = []
  await using(feedOf(channels, given), { root, workers: 1 }, async loader => {
    for await (const batch of loader as AsyncIterable<AnyBatch>) {
      const [image, mask, label] = ['image', 'mask', 'label'].map(name =>
        (batch[name] as Uint8Array)?.slice(),
      )
      found.push({ shape: batch.shape('image'), image, mask, label })
    }
  })
  return found
}

const CROP = { centerCrop: [32, 28] }
const MIX = { classes: 4, alpha: 1 }
const SAME: [string, Given][] = [
  ['a crop', { apply: [CROP] }],
  ['channels last', { apply: [CROP], layout: 'hwc' }],
  ['channels last, resized', { apply: [{ resize: [50, 31] }, 'flip'], layout: 'hwc', dtype: 'f32' }],
  ['bilinear', { apply: [{ randomResizedCrop: 24 }, { flip: 0.5 }] }],
  ['bicubic', { apply: [{ resize: { size: [61, 57], filter: 'bicubic' } }] }],
  ['without antialias', { apply: [{ resize: { size: [11, 17], antialias: false } }] }],
  ['padding', { apply: [{ randomCrop: { size: 48, padding: 9, padIfNeeded: true, fill: 7 } }] }],
  ['mirrored borders', { apply: [{ pad: { padding: 6, mode: 'reflect' } }, { centerCrop: 44 }] }],
  ['turned', { apply: [{ rotate: { degrees: 40, filter: 'bilinear', fill: [40] } }, CROP] }],
  ['affine', { apply: [{ affine: { degrees: 20, translate: [0.2, 0.1], shear: 9 } }, CROP] }],
  ['perspective', { apply: [{ perspective: { p: 1, fill: 9 } }, CROP] }],
  ['elastic', { apply: [{ elastic: { alpha: 30, sigma: 4 } }, CROP] }],
  ['zoomOut, scaleJitter', { apply: ['zoomOut', { scaleJitter: 40 }, CROP] }],
  ['blurred', { apply: [{ gaussianBlur: { kernel: [5, 9] } }, CROP] }],
  ['sharpened', { apply: [{ sharpness: { factor: 1.7, p: 1 } }, CROP] }],
  ['tables', { apply: [{ posterize: { bits: 3, p: 0.5 } }, { solarize: 90 }, 'invert', CROP] }],
  ['histograms', { apply: [{ autocontrast: 1 }, { equalize: 0.5 }, CROP] }],
  ['brightness', { apply: [{ colorJitter: { brightness: 0.6 } }, CROP] }],
  ['normalised', { apply: [CROP, { normalize: { mean: [0.45], std: 0.23 } }] }],
  ['normalised, f16', { apply: [CROP, { normalize: 'half' }], dtype: 'f16', layout: 'hwc' }],
  ['bf16', { apply: [CROP], dtype: 'bf16' }],
  ['i64', { apply: [CROP], dtype: 'i64' }],
  ['erased', { apply: [CROP, { normalize: 'half' }, { randomErasing: { p: 1, value: 'random' } }] }],
  ['mixup', { apply: [CROP, { normalize: 'half' }], mix: [{ mixup: MIX }] }],
  ['cutmix', { apply: [CROP], mix: [{ cutmix: MIX }] }],
  ['cutmix, channels last', { apply: [CROP], mix: [{ cutmix: MIX }], layout: 'hwc', dtype: 'f32' }],
  ['mosaic', { apply: [CROP], mix: [{ mosaic: {} }] }],
  ['a gray JPEG', { apply: [{ randomResizedCrop: 20 }], from: 'jpg' }],
]

describe('of a gray picture, an operator gives what it gives in the first of three channels', () => {
  test.each(SAME)('%s', async (_, given) => {
    const [gray, rgb] = [await imagesOf(1, given), await imagesOf(3, given)]
    expect(gray.length).toBe(COUNT / 4)
    for (const [i, { shape, image, mask, label }] of gray.entries()) {
      const [rows, height, width] = given.layout === 'hwc' ? shape : [shape[0], shape[2], shape[3]]
      expect(shape).toEqual(given.layout === 'hwc' ? [4, height, width, 1] : [4, 1, height, width])
      expect(image.length).toBe(rows * height * width)
      const [pixel, row] = given.layout === 'hwc' ? [3, 3 * height * width] : [1, 3 * height * width]
      const first = Array.from(image, (_, at) => {
        const [r, p] = [Math.floor(at / (height * width)), at % (height * width)]
        return rgb[i].image[r * row + p * pixel]
      })
      expect(Array.from(image)).toEqual(first)
      expect(new Set(first).size).toBeGreaterThan(1)
      expect([mask, label]).toEqual([rgb[i].mask, rgb[i].label])
    }
  })

  test('what turns colours leaves it as it is, as in torchvision; colours become gray before any operator', async () => {
    const plain = await imagesOf(1, { apply: [CROP] })
    const turned = [{ colorJitter: { saturation: 0.9, hue: 0.5 } }, 'grayscale', CROP]
    expect(await imagesOf(1, { apply: turned })).toEqual(plain)
    const size = { resize: [23, 37] }
    const inverted = await imagesOf(1, { apply: [{ invert: 1 }, size], from: 'png' })
    const gray = await imagesOf(1, { apply: [size], from: 'png' })
    expect(inverted.length).toBe(gray.length)
    for (const [i, { image }] of inverted.entries())
      expect(Array.from(image, value => 255 - Number(value))).toEqual(Array.from(gray[i].image))
  })

  test('the mask that follows lies where the image does', async () => {
    for (const { image, mask } of await imagesOf(1, { apply: [{ randomCrop: 20 }, 'flip'] }))
      expect(mask).toEqual(image)
  })
})
