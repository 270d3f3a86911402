/** Feeds that between them use every operator, element type and kind of picture, and the pictures that they are over. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FeedJson, SourceJson } from '../../packages/core/define/types.js'
import { jpeg } from '../support/pictures.js'
import { tarFile } from '../support/tar.js'

const golden = join(import.meta.dirname, '../golden/images')
/** Pictures, labels and texts in other formats than tar (make.py there). */
const formats = join(import.meta.dirname, '../golden/feeds')

const CROP = [{ randomResizedCrop: { size: 20 } }, { flip: { p: 0.5 } }]
const NORMAL = [...CROP, { normalize: 'imagenet' }]
const EVERYTHING = [
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
const PLACED = [
  { resize: { size: 32 } },
  { randomCrop: { size: 28, padding: 4, mode: 'reflect' } },
  { affine: { degrees: 10, translate: [0.1, 0.1], scale: [0.8, 1.2], shear: 5 } },
  { pad: { padding: 2, mode: 'edge' } },
  { centerCrop: { size: 26 } },
  { perspective: { p: 0.5, fill: [3, 100, 200] } },
  { elastic: { alpha: 20, sigma: 2 } },
  { trivialAugment: {} },
  { autoAugment: { policy: 'cifar10' } },
  { photometricDistort: { p: 0.5 } },
  { normalize: 'imagenet' },
  { randomErasing: { p: 0.5, value: [0.5, 0.2, 0.1] } },
]
const MIXES = [{ mixup: { classes: 10, p: 0.7 } }, { cutmix: { classes: 10, p: 0.7 } }]

export interface Case {
  name: string
  definition: FeedJson
  /** Of the images, those that makers decode although the device could. */
  share: number
  /** The devices make images with their channels last, as the definition with that layout has them on the CPU. */
  channelsLast: boolean
  /** Bytes of decoded pictures that a device has room for; 0: as usual. */
  scratch: number
  /** How many JPEGs a device decodes, at least and at most, where these are not the usual pictures. */
  onDevice?: [number, number]
}

interface Change extends Partial<Omit<Case, 'name' | 'definition'>> {
  source?: string
  image?: Record<string, unknown>
  apply?: readonly unknown[]
  onError?: 'drop' | 'mask'
}

/** The cases, over the pictures in a folder. */
export function casesIn(folder: string): Case[] {
  const feedOf = (
    name: string,
    { source = 'plain', image = {}, apply = [], onError, ...rest }: Change,
  ): Case => {
    const definition = {
      source: { tar: join(folder, `${source}.tar`) },
      order: { shuffle: 'global', seed: 7 },
      fields: {
        image: { from: 'jpg|png|npy', as: 'image', apply: NORMAL, ...image },
        label: { from: 'cls', as: 'int' },
        text: { from: 'txt', as: 'text', ragged: { max: 64 } },
        bytes: { from: 'raw', as: 'bytes', ragged: { max: 64 } },
      },
      batch: { size: 7, last: 'keep', apply },
      ...(onError && { onError: { policy: onError, budget: 100 } }),
    } as unknown as FeedJson
    return { name, definition, share: 0, channelsLast: false, scratch: 0, ...rest }
  }
  return [
    feedOf('crop, flip, normalise', {}),
    feedOf('everything, with noise', { image: { apply: EVERYTHING } }),
    feedOf('placed, turned, trivially augmented', { image: { apply: PLACED } }),
    feedOf('u8, hwc', { image: { apply: CROP, dtype: 'u8', layout: 'hwc' } }),
    feedOf('bf16', { image: { dtype: 'bf16' } }),
    feedOf('f16, placed, hwc', { image: { apply: PLACED, dtype: 'f16', layout: 'hwc' } }),
    feedOf('mixup and cutmix', { apply: MIXES }),
    feedOf('mosaic, then mixup', { apply: [{ mosaic: { p: 0.8 } }, MIXES[0]] }),
    feedOf('mosaic of bytes, hwc', {
      image: { apply: CROP, dtype: 'u8', layout: 'hwc' },
      apply: [{ mosaic: {} }],
    }),
    feedOf('bytes by cutmix', { image: { apply: CROP, dtype: 'u8' }, apply: MIXES.slice(1) }),
    feedOf('mixed bf16, hwc', { image: { dtype: 'bf16', layout: 'hwc' }, apply: [...MIXES].reverse() }),
    feedOf('odd pictures', { source: 'odd', onError: 'drop' }),
    feedOf('odd pictures, everything', { source: 'odd', image: { apply: EVERYTHING }, onError: 'drop' }),
    feedOf('odd pictures, as stored', { source: 'odd', image: { orientation: 'stored' }, onError: 'drop' }),
    feedOf('odd pictures, bad ones masked', { source: 'odd', onError: 'mask' }),
    feedOf('odd pictures, mixed', { source: 'odd', apply: MIXES, onError: 'mask' }),
    feedOf('odd pictures, mixed, bad ones dropped', { source: 'odd', apply: MIXES, onError: 'drop' }),
    feedOf('half of them decoded by the CPU', { share: 0.5, image: { apply: EVERYTHING } }),
    feedOf('little room, so in several parts', { scratch: 65536, image: { apply: PLACED }, apply: MIXES }),
    feedOf('channels last', { channelsLast: true, apply: MIXES }),
    ...formatsIn(folder),
  ]
}

/** The same pictures as bytes (JPEG) or pixels in other formats; rows are selected by a column that only the data have. */
function formatsIn(folder: string): Case[] {
  const caseOf = (name: string, source: SourceJson, onDevice: [number, number], text = true): Case => {
    const definition: FeedJson = {
      source: { subset: { source, where: { label: { '!=': 3 } } } },
      order: { shuffle: { window: 6 }, seed: 7 },
      fields: {
        image: { from: 'image', as: 'image', apply: NORMAL as never },
        label: { from: 'label', as: 'int' },
        ...(text && { text: { from: 'text', as: 'text' as const, ragged: { max: 64 } } }),
      },
      batch: { size: 3, last: 'keep' },
    }
    return { name, definition, share: 0, channelsLast: false, scratch: 0, onDevice }
  }
  const at = (name: string): string => join(folder, 'formats', name)
  return [
    caseOf('parquet', { parquet: at('pictures.parquet') }, [4, 11]),
    caseOf('tfrecord', { tfrecord: at('pictures.tfrecord') }, [4, 11]),
    caseOf('hdf5, pixels', { hdf5: at('pictures.h5') }, [0, 0]),
    caseOf('npz, pixels', { npz: { path: at('pictures.npz'), rows: 'axis' } }, [0, 0], false),
  ]
}

// ------------------------------------------------------------------ pictures

/** What goes with each picture. */
const sample = (i: number, extension: string, data: Uint8Array) => {
  const key = `s${String(i).padStart(3, '0')}`
  return [
    { name: `${key}.${extension}`, data },
    { name: `${key}.cls`, data: String(i % 10) },
    { name: `${key}.txt`, data: `text of ${i}` },
    { name: `${key}.raw`, data: new Uint8Array(i % 9).fill(i) },
  ]
}

/** A picture as raw pixels. */
function npy(width: number, height: number): Uint8Array {
  const head = `{'descr': '|u1', 'fortran_order': False, 'shape': (${height}, ${width}, 3), }`.padEnd(117)
  const pixels = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 7 + (i >> 4)) & 255)
  return Buffer.concat([Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'), Buffer.from(`${head}\n`), pixels])
}

/** Progressive, grey, CMYK, turned by EXIF, PNG of all kinds, raw; and some that end too early. */
function oddPictures(): [string, Uint8Array][] {
  const files = readdirSync(golden).filter(name => /\.(jpg|png)$/.test(name))
  const pictures = files.map<[string, Uint8Array]>(name => [name.slice(-3), readFileSync(join(golden, name))])
  const torn = [1, 2, 3].map<[string, Uint8Array]>(i => ['jpg', jpeg(i, 40).slice(0, 700)])
  return [...pictures, ['npy', npy(31, 22)], ['npy', npy(20, 20)], ...torn]
}

/** Writes them as tar files, and the files of other formats beside them. */
export function writePictures(folder: string): void {
  cpSync(formats, join(folder, 'formats'), { recursive: true })
  const plain = Array.from({ length: 24 }, (_, i) => jpeg(i, 24 + 3 * i, 66 - i))
  const tar = (name: string, pictures: [string, Uint8Array][]) =>
    writeFileSync(
      join(folder, `${name}.tar`),
      tarFile(pictures.flatMap(([extension, data], i) => sample(i, extension, data))),
    )
  tar(
    'plain',
    plain.map(data => ['jpg', data]),
  )
  tar('odd', oddPictures())
}
