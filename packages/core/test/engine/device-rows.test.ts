/**
 * Images left to the device: the rows that makers leave in the slot, finished by the kernel's plain twin after the CPU's
 * decoder, are the very images that makers would have made themselves.
 */
import { copyFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { AnyBatch, FeedJson } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { jpeg } from '../../../../test/support/pictures.js'
import { decodeImage, imageInfo } from '../../../pixels/decode/picture/image.js'
import { makePicture } from '../../../pixels/test/transform/twins/picture.js'
import { Form, MixKind, Word } from '../../../pixels/transform/device/parameter-words.js'
import { pictureForDevice } from '../../../pixels/transform/device/picture.js'
import type { DevicePicture } from '../../define/making.js'
import { normalizeFeed } from '../../define/normalize.js'
import type { Loader as LoaderType } from '../../deliver/node/loader.js'
import type * as Options from '../../deliver/options.js'
import { Workspace } from '../../system/memory/workspace.js'

// As built: makers are threads that load compiled files.
const built = (path: string): string => new URL(`../../../../build/${path}`, import.meta.url).href
await import(built('all/registry.js'))
const { Loader } = (await import(built('core/deliver/node/loader.js'))) as { Loader: typeof LoaderType }
const { fillOptions } = (await import(built('core/deliver/options.js'))) as typeof Options

const GOLDEN = join(import.meta.dirname, '../../../../test/golden/images')
const CROP = [{ randomResizedCrop: { size: 48 } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }]

function feedOf(apply: unknown[], rest: Partial<FeedJson> = {}, image: object = {}): FeedJson {
  return {
    source: { synthetic: { count: 60, images: { width: 80, height: 64, classes: 5 } } },
    order: { shuffle: 'global', seed: 3 },
    fields: {
      image: { from: 'jpg', as: 'image', apply: apply as never[], ...image },
      label: { from: 'cls', as: 'int' },
    },
    batch: { size: 10, last: 'keep' },
    ...rest,
  }
}

/** What the feed's image is on the device: as the engine lays it out. */
function pictureOf(json: FeedJson, meanBytes?: number): DevicePicture {
  const feed = normalizeFeed(json, process.cwd())
  const field = feed.fields.find(({ name }) => name === 'image')!
  return pictureForDevice(field, feed, { rows: feed.batch.size!, meanBytes }).device as DevicePicture
}

interface Row {
  words: Uint32Array
  bytes: Uint8Array
}

function rowsOf(batch: AnyBatch, { words }: DevicePicture): Row[] {
  const field = batch.image as Uint8Array
  const step = field.length / batch.count
  return Array.from({ length: batch.count }, (_, i) => {
    const row = field.slice(i * step, (i + 1) * step)
    const parameters = new Uint32Array(row.buffer, 0, words)
    return { words: parameters, bytes: row.subarray(words * 4, words * 4 + parameters[Word.Bytes]) }
  })
}

const work = Workspace.alone()

/** The stored picture: as the GPU's decoder would give it, if it were the CPU's. */
function decoded({ words, bytes }: Row): Uint8Array {
  if (words[Word.Form] === Form.Pixels) return bytes
  work.reset()
  const info = { ...imageInfo(bytes), orientation: 1 as const }
  const upright = { ...info, width: words[Word.StoredWidth], height: words[Word.StoredHeight] }
  const { at, width, height, stride } = decodeImage(bytes, upright, { channels: 3 }, work)
  const out = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++)
    out.set(work.u8.subarray(at + y * stride, at + y * stride + width * 3), y * width * 3)
  return out
}

function finished(row: Row, device: DevicePicture): Uint8Array {
  return makePicture(row.words, decoded(row), { ...device, lookup: Buffer.from(device.lookup, 'base64') })
}

interface Made {
  ids: string[]
  labels: string
  rows: Uint8Array[]
  forms: number[]
  parameters: Uint32Array[]
}

/** All rows of an epoch, made where `decode` says. */
async function epoch(
  json: FeedJson,
  decode: 'cpu' | 'gpu',
  device: DevicePicture,
  cpuShare = 0,
): Promise<Made> {
  // As a server for another process has it: rows that are for a device are not shown to a Node program.
  const options = fillOptions({ decode, workers: 2 }, undefined, { cpuShare })
  const loader = new Loader<AnyBatch>(normalizeFeed(json, process.cwd()), options)
  const made: Made = { ids: [], labels: '', rows: [], forms: [], parameters: [] }
  const left: Row[] = [] // to the device
  try {
    for await (const batch of loader) {
      made.ids.push(...batch.ids)
      made.labels += String(batch.label)
      if (decode === 'gpu') {
        const rows = rowsOf(batch, device)
        left.push(...rows)
        made.forms.push(...rows.map(({ words }) => words[Word.Form]))
        made.parameters.push(...rows.map(({ words }) => words))
        continue
      }
      const image = batch.image as Uint8Array
      const bytes = new Uint8Array(image.buffer, image.byteOffset, image.byteLength)
      const step = bytes.length / batch.count
      for (let i = 0; i < batch.count; i++) made.rows.push(bytes.slice(i * step, (i + 1) * step))
    }
  } finally {
    await loader.close()
  }
  made.rows.push(...left.map(row => finished(row, device)))
  return made
}

async function both(json: FeedJson, meanBytes?: number): Promise<{ cpu: Made; gpu: Made }> {
  const device = pictureOf(json, meanBytes)
  const [cpu, gpu] = [await epoch(json, 'cpu', device), await epoch(json, 'gpu', device)]
  expect(gpu.ids).toEqual(cpu.ids)
  expect(gpu.labels).toBe(cpu.labels)
  return { cpu, gpu }
}

/** Rows that are not the same, by number. */
function different({ cpu, gpu }: { cpu: Made; gpu: Made }): number[] {
  return cpu.rows.flatMap((row, i) => (Buffer.compare(row, gpu.rows[i]) === 0 ? [] : [i]))
}

const EVERYTHING = [
  { resize: 60 },
  { randomCrop: { size: 52, padding: 4, mode: 'reflect' } },
  { flip: { p: 0.5, axis: 'vertical' } },
  { rotate: { degrees: 20 } },
  { perspective: { p: 0.7 } },
  { elastic: { alpha: 20, sigma: 2 } },
  { colorJitter: { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1 } },
  { grayscale: { p: 0.3 } },
  { gaussianBlur: { kernel: 5 } },
  'trivialAugment',
  { randAugment: 2 },
  'autoAugment',
  { photometricDistort: 0.5 },
  { resize: [40, 44] },
  { normalize: 'imagenet' },
  { randomErasing: { p: 0.7, value: 'random' } },
]

describe('images left to the device', () => {
  test.each([
    ['crop, flip, normalise', CROP, {}],
    ['u8, hwc', CROP.slice(0, 2), { layout: 'hwc' }],
    ['bf16', CROP, { dtype: 'bf16' }],
    ['everything', EVERYTHING, {}],
    ['the size of the picture, with room to spare', [{ flip: {} }], { shape: [70, 90] }],
  ])('are what makers would have made: %s', async (_, apply, image) => {
    const made = await both(feedOf(apply, {}, image))
    expect(different(made)).toEqual([])
    expect(new Set(made.gpu.forms)).toEqual(new Set([Form.Jpeg]))
  })

  test('are shared with the CPU, the same ones whenever they come, and are what they would have been', async () => {
    const json = feedOf(EVERYTHING)
    const device = pictureOf(json)
    const cpu = await epoch(json, 'cpu', device)
    const [half, again] = [await epoch(json, 'gpu', device, 0.5), await epoch(json, 'gpu', device, 0.5)]
    expect(different({ cpu, gpu: half })).toEqual([])
    expect(again.forms).toEqual(half.forms)
    const here = half.forms.filter(form => form === Form.Pixels).length
    expect(here).toBeGreaterThan(15)
    expect(here).toBeLessThan(45)
    // In runs: few copies bring them to a device.
    const runs = half.forms.filter((form, i) => form === Form.Pixels && half.forms[i - 1] !== form)
    expect(runs.length).toBeLessThan(4)
    expect(new Set((await epoch(json, 'gpu', device, 1)).forms)).toEqual(new Set([Form.Pixels]))
  })

  test('of files too large for their room go as finished pixels', async () => {
    // One of them has far more bytes than the mean of them all would suggest.
    const folder = temporaryFolder()
    for (let i = 0; i < 12; i++) {
      writeFileSync(join(folder, `${i}.jpg`), i === 5 ? jpeg(i, 400) : jpeg(0, 24))
    }
    const json = feedOf([{ randomResizedCrop: { size: 32 } }], {
      source: { files: join(folder, '*.jpg') },
      fields: {
        image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: { size: 32 } }] },
      },
    })
    const made = await both(json)
    expect(different(made)).toEqual([])
    expect(new Set(made.gpu.forms)).toEqual(new Set([Form.Jpeg, Form.Pixels]))
  })

  test('are mixed as makers would have mixed them: noted in every row, labels mixed already', async () => {
    const json = feedOf(CROP, {
      batch: {
        size: 10,
        apply: [{ mixup: { alpha: 0.4, classes: 5, p: 0.6 } }, { cutmix: { alpha: 1, classes: 5, p: 0.6 } }],
      },
    })
    const device = pictureOf(json)
    expect(device.mixes).toBe(2)
    const { cpu, gpu } = await both(json)
    const kinds = new Set<number>()
    const floats = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.slice().buffer)
    for (let first = 0; first < cpu.rows.length; first += 10) {
      let rows = gpu.rows.slice(first, first + 10).map(floats)
      const [header] = gpu.parameters.slice(first)
      for (let which = 0; which < header[Word.Mixes]; which++) {
        const at = Word.Mix + which * 6
        kinds.add(header[at])
        const share = new Float32Array(header.buffer, (at + 1) * 4, 1)[0]
        const [x, y, width, height] = header.subarray(at + 2, at + 6)
        rows = rows.map((row, i) => {
          const partner = rows[(i + rows.length - 1) % rows.length]
          return row.map((value, k) => {
            const [column, line] = [k % 48, Math.floor(k / 48) % 48]
            const inside = column >= x && column < x + width && line >= y && line < y + height
            if (header[at] === MixKind.Cutmix) return inside ? partner[k] : value
            return value * share + partner[k] * Math.fround(1 - share)
          })
        })
      }
      for (const [i, row] of rows.entries()) {
        const expected = floats(cpu.rows[first + i])
        const worst = row.reduce((most, value, k) => Math.max(most, Math.abs(value - expected[k])), 0)
        expect(worst).toBeLessThan(1e-5)
      }
    }
    expect(kinds).toEqual(new Set([MixKind.Mixup, MixKind.Cutmix]))
  })

  test('go to the decoder that gives the same picture, and what no GPU decodes as pixels', async () => {
    const folder = temporaryFolder()
    const forms: Record<string, number> = {
      '420.jpg': Form.Jpeg,
      '422.jpg': Form.Jpeg,
      '440.jpg': Form.Jpeg,
      '444.jpg': Form.Jpeg,
      'gray.jpg': Form.Jpeg,
      'progressive.jpg': Form.Pixels,
      '411.jpg': Form.Pixels,
      'cmyk.jpg': Form.Pixels,
      'gray-16.png': Form.Pixels,
      'lossless.webp': Form.Pixels,
    }
    for (let i = 1; i <= 8; i++) forms[`exif-${i}.jpg`] = Form.Jpeg
    for (const name of ['exif-8.webp', 'exif-6.png']) forms[name] = Form.Pixels
    // As many of each sampling that none is rare.
    const copies = (name: string): number => (/^(4|gray\.)/.test(name) ? 3 : 1)
    for (const name of Object.keys(forms))
      for (let i = 0; i < copies(name); i++) copyFileSync(join(GOLDEN, name), join(folder, `${i}_${name}`))
    const turned: number[][] = []
    for (const orientation of ['exif', 'stored'] as const) {
      const apply = [{ randomResizedCrop: { size: 32 } }]
      const json = feedOf([], {
        source: { files: join(folder, '*') },
        fields: { image: { from: 'file', as: 'image', apply, orientation } },
      })
      const made = await both(json)
      expect(different(made)).toEqual([])
      const names = made.gpu.ids.map(id => basename(id).slice(2))
      expect(Object.fromEntries(names.map((name, i) => [name, made.gpu.forms[i]]))).toEqual(forms)
      turned.push([...new Set(made.gpu.parameters.map(words => words[Word.Orientation]))].sort())
    }
    expect(turned).toEqual([[1, 2, 3, 4, 5, 6, 7, 8], [1]])
  })

  test('of a rare sampling are decoded by makers, the same ones every time', async () => {
    const folder = temporaryFolder()
    const copies = { '420.jpg': 40, '444.jpg': 2, 'gray.jpg': 10 }
    for (const [name, count] of Object.entries(copies))
      for (let i = 0; i < count; i++) copyFileSync(join(GOLDEN, name), join(folder, `${i}-${name}`))
    const json = feedOf([], {
      source: { files: join(folder, '*') },
      fields: { image: { from: 'file', as: 'image', apply: [{ randomResizedCrop: { size: 32 } }] } },
    })
    const made = await both(json)
    expect(different(made)).toEqual([])
    const wanted = (id: string) => (id.endsWith('444.jpg') ? Form.Pixels : Form.Jpeg)
    expect(made.gpu.forms).toEqual(made.gpu.ids.map(wanted))
  })
})
