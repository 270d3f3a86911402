/**
 * Pictures of any format to 8-bit RGB (or a mask of one channel) in a workspace.
 *
 * What comes out of every format:
 * - gray becomes RGB with three equal channels; a palette becomes its colours;
 * - alpha is dropped, not blended, as PIL's `convert("RGB")` and torchvision do;
 * - 16 bits become 8 by keeping the upper byte;
 * - CMYK and YCCK become RGB by ink × black, without ICC profiles, as in PIL and torchvision;
 * - EXIF orientation is applied, unless the stored picture is asked for; sizes and boxes are those of what comes out;
 * - of several frames the first one is taken.
 */
import { BudgetError, DecodeError, MillraceError } from '../../../core/basics/errors.js'
import { decodeWithVips, readVipsHeader, type VipsHeader } from '../../../core/system/codecs/vips.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import { type Avif, readAvif } from './avif.js'
import { type BmpHeader, decodeBmp, readBmpHeader } from './bmp.js'
import { cmykToRgb } from './cmyk.js'
import { type Orientation, storedBox, swapsAxes, upright } from './exif.js'
import { type ImageFormat, imageFormat } from './format.js'
import { decodeGif, type GifHeader, readGifHeader } from './gif.js'
import { decodeJpeg, type Reduction } from './jpeg.js'
import { type JpegHeader, readJpegHeader } from './jpeg-header.js'
import type { Box, Picture } from './picture.js'
import { decodePngMask, type PngHeader, readPngHeader } from './png.js'
import { readTiff, type Tiff } from './tiff.js'
import { ycbcrToRgb } from './ycbcr.js'

/** What is known of a picture before it is decoded. */
export interface ImageInfo {
  format: ImageFormat
  /** Size of the upright picture, or of the stored one where that is asked for. */
  width: number
  height: number
  /** How the stored picture is turned, already taken account of in `width` and `height`. */
  orientation: Orientation
  jpeg?: JpegHeader
  png?: PngHeader
  gif?: GifHeader
  bmp?: BmpHeader
  tiff?: Tiff
  avif?: Avif
}

export interface DecodeImageOptions {
  /** 3: RGB. 1: a mask; a picture with colours is refused. */
  channels: 1 | 3
  /** The part that is wanted, in upright pixels; everything by default. It must lie inside. */
  box?: Box | undefined
  /**
   * Decode a JPEG at 1/n of its size (other formats ignore it). "auto" takes the greatest n that leaves the box
   * no smaller than `target`. The box is then rounded to whole reduced pixels.
   */
  scale?: 'auto' | Reduction
  /** Size to which the box will be resized, for `scale: "auto"`. */
  target?: { width: number; height: number } | undefined
}

/** Pixels that a picture may have: four times the largest cameras, a seventh of a 30,000 × 30,000 bomb. */
export const MAX_PIXELS = 2 ** 27

/**
 * Recognises a picture and reads its header. Refuses what is not a picture, and what claims to have more than
 * `maxPixels`, before anything is allocated for it. `asStored`: not to be turned, as PIL and torchvision leave it; a TIFF is
 * turned nevertheless, as they turn it.
 */
export function imageInfo(bytes: Uint8Array, maxPixels = MAX_PIXELS, asStored = false): ImageInfo {
  const format = imageFormat(bytes)
  const jpeg = format === 'jpeg' ? readJpegHeader(bytes) : undefined
  const png = format === 'png' ? readPngHeader(bytes) : undefined
  const gif = format === 'gif' ? readGifHeader(bytes) : undefined
  const bmp = format === 'bmp' ? readBmpHeader(bytes) : undefined
  const tiff = format === 'tiff' ? readTiff(bytes) : undefined
  const avif = format === 'avif' ? readAvif(bytes) : undefined
  const stored = jpeg ?? png ?? gif ?? bmp ?? vipsHeader((tiff ?? avif)?.bytes ?? bytes, format)
  const found = avif?.orientation ?? (stored.orientation as Orientation)
  const orientation = asStored && tiff === undefined ? 1 : found
  const swap = swapsAxes(orientation)
  const width = swap ? stored.height : stored.width
  const height = swap ? stored.width : stored.height
  if (!(width > 0 && height > 0)) throw new DecodeError(`${format} of ${width}×${height} has no pixels`)
  if (width * height > maxPixels) {
    throw new DecodeError(
      `${format} of ${width}×${height} has ${width * height} pixels, more than the limit of ${maxPixels}: ` +
        'drop it (onError), or store it smaller',
    )
  }
  const pictures = { ...(jpeg && { jpeg }), ...(png && { png }), ...(gif && { gif }), ...(bmp && { bmp }) }
  return { format, width, height, orientation, ...pictures, ...(tiff && { tiff }), ...(avif && { avif }) }
}

/** Decodes a picture, or the box of it that is wanted, into the workspace. */
export function decodeImage(
  bytes: Uint8Array,
  info: ImageInfo,
  options: DecodeImageOptions,
  work: Workspace,
): Picture {
  const { box, channels } = options
  if (box !== undefined) checkBox(box, info)
  const { orientation } = info
  const stored = box && storedBox(box, orientation, info.width, info.height)
  return upright(decodeStored(bytes, info, stored, options, channels, work), orientation, work)
}

function decodeStored(
  bytes: Uint8Array,
  info: ImageInfo,
  box: Box | undefined,
  options: DecodeImageOptions,
  channels: 1 | 3,
  work: Workspace,
): Picture {
  if (info.jpeg !== undefined) {
    if (channels === 1 && info.jpeg.components !== 1) throw colouredMask('JPEG')
    return decodeJpeg(bytes, info.jpeg, box, reduction(info, options), channels, work)
  }
  if (info.png !== undefined && channels === 1) return window(decodePngMask(bytes, info.png, work), box)
  if (info.gif !== undefined) return window(decodeGif(bytes, info.gif, channels, work), box)
  if (info.bmp !== undefined) return decodeBmp(bytes, info.bmp, box, channels, work)
  return decodeOther((info.tiff ?? info.avif)?.bytes ?? bytes, info, box, channels, work)
}

/** The reduction that the options ask for. */
function reduction(info: ImageInfo, { scale = 1, target, box }: DecodeImageOptions): Reduction {
  if (scale !== 'auto') return scale
  if (target === undefined) return 1
  const { width, height } = box ?? info
  for (const by of [8, 4, 2] as const) {
    if (width / by >= target.width && height / by >= target.height) return by
  }
  return 1
}

/** Decodes through libvips, and brings bands and bits to what is wanted. */
function decodeOther(
  bytes: Uint8Array,
  info: ImageInfo,
  box: Box | undefined,
  channels: 1 | 3,
  work: Workspace,
): Picture {
  checkWhole(info, work.limit)
  let at = 0
  let header: VipsHeader | undefined
  const place = (found: VipsHeader) => {
    header = found
    check(found, info.format, channels)
    at = work.take(found.width * found.height * found.bands * found.sampleBytes)
    return work.pointer(at)
  }
  named(info.format, () => decodeWithVips(bytes, box, place))
  const { width, height, colour } = header as VipsHeader
  if (colour === 'cmyk') {
    const inks = packed(at, header as VipsHeader, 4, work)
    return cmykToRgb(inks, width * 4, width, height, work, false)
  }
  const out = packed(at, header as VipsHeader, channels, work)
  if (info.tiff?.ycbcr !== undefined) ycbcrToRgb(work.u8, out, width * height, info.tiff.ycbcr)
  if (info.tiff?.bilevel && channels === 1) {
    for (let i = out; i < out + width * height; i++) work.u8[i] &= 1 // class numbers 0 and 1
  }
  return { at: out, width, height, channels, stride: width * channels }
}

/** libvips decodes the whole of such a picture for any part of it, in memory of its own, which has the same limit. */
function checkWhole({ format, png, width, height }: ImageInfo, limit: number): void {
  const whole = format === 'webp' || format === 'avif' || png?.interlaced === true
  const bytes = width * height * 4
  if (!whole || bytes <= limit) return
  throw new BudgetError(
    `${format} of ${width}×${height} takes ${Math.ceil(bytes / 2 ** 20)} MiB to decode, more than the limit of ` +
      `${Math.floor(limit / 2 ** 20)} MiB: store it smaller, or raise the option "scratch"`,
  )
}

/** Where the first `channels` bands lie by themselves, a byte each: as they are, or in a copy. */
function packed(at: number, header: VipsHeader, channels: 1 | 3 | 4, work: Workspace): number {
  const { width, height, bands, sampleBytes } = header
  if (bands === channels && sampleBytes === 1) return at
  const out = work.take(width * height * channels)
  const { u8 } = work
  const pixel = bands * sampleBytes
  const next = bands >= 3 ? sampleBytes : 0 // gray gives all three channels
  let from = at + sampleBytes - 1 // the upper byte: samples are little-endian
  for (let to = out; to < out + width * height * channels; from += pixel) {
    for (let c = 0; c < channels; c++) u8[to++] = u8[from + c * next]
  }
  return out
}

/** Refuses what has no plain meaning as gray or RGB of 8 bits. */
function check(header: VipsHeader, format: ImageFormat, channels: 1 | 3): void {
  const inks = header.colour === 'cmyk' && header.bands < 4
  if (header.sampleBytes === 0 || header.colour === 'other' || inks) {
    throw new DecodeError(
      `${format} has neither gray nor RGB nor CMYK pixels of 8 or 16 bits: convert it, or store it as npy`,
    )
  }
  if (channels === 3) return
  if (header.bands > 2) throw colouredMask(format)
  if (header.sampleBytes !== 1) {
    throw new DecodeError('mask has 16 bits a pixel: only masks of up to 8 bits can be decoded')
  }
}

function colouredMask(format: string): DecodeError {
  return new DecodeError(`mask has colours (${format}): store class numbers as a gray or palette PNG`)
}

function vipsHeader(bytes: Uint8Array, format: ImageFormat): VipsHeader {
  return named(format, () => readVipsHeader(bytes))
}

/** Runs a call to libvips; its messages don't say what was being decoded. */
function named<T>(format: ImageFormat, run: () => T): T {
  try {
    return run()
  } catch (error) {
    const bare = error instanceof DecodeError && !error.message.startsWith(`${format} `)
    throw bare ? new DecodeError(`${format}: ${error.message}`, { cause: error.cause }) : error
  }
}

function window(picture: Picture, box: Box | undefined): Picture {
  if (box === undefined) return picture
  const at = picture.at + box.y * picture.stride + box.x * picture.channels
  return { ...picture, at, width: box.width, height: box.height }
}

function checkBox(box: Box, { width, height }: ImageInfo): void {
  const whole = [box.x, box.y, box.width, box.height].every(Number.isInteger)
  const inside = box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height
  if (whole && inside && box.width > 0 && box.height > 0) return
  throw new MillraceError(
    `box ${box.width}×${box.height} at (${box.x}, ${box.y}) is not inside the picture of ${width}×${height}`,
  )
}
