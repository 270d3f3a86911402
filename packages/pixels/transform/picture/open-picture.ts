/**
 * Opens a picture: reads its header, and decodes nothing yet. Its size is known then, and any box of it can be had as
 * pixels. Encoded formats decode only that box; raw pixels (an npy array of bytes, height × width × channels) copy only
 * its rows.
 */

import { isTiled, type TiledArray } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { decodeNpy, isNpy } from '../../../core/basics/npy/file.js'
import { type PlainArray, plainArray } from '../../../core/basics/plain-array.js'
import type { NormalField } from '../../../core/define/types.js'
import { copyInto } from '../../../core/system/memory/copy.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import { decodeImage, type ImageInfo, imageInfo, MAX_PIXELS } from '../../decode/picture/image.js'
import type { Box, Picture } from '../../decode/picture/picture.js'

export interface OpenedPicture {
  readonly width: number
  readonly height: number
  /** What `scale` may still change: true when `decode` can return fewer pixels than the box has. */
  readonly reducible: boolean
  /** What a GPU can begin with, if anything: a JPEG as it is, or raw pixels. Sizes are those before `orientation`. */
  readonly onDevice?: Uploadable | undefined
  /** The pixels of a box. `target` is the size they will be resized to; undefined when they won't be. */
  decode(box: Box, target: { width: number; height: number } | undefined, work: Workspace): Picture
}

/** Bytes from which a GPU can make the picture. */
export interface Uploadable {
  /** Of a JPEG, how its chroma is sampled (decode/picture/jpeg-header.ts); undefined for raw pixels. */
  sampling: number | undefined
  bytes: Uint8Array
  width: number
  height: number
  orientation: number
}

/** RGB; a mask, which has no colours; or one channel, which is gray as it is stored, and of colours their luma. */
type Wanted = 3 | 1 | 'luma'

/** How a field reads its pictures. */
type Reading = Pick<NormalField, 'scale' | 'orientation'>

export function openPicture(value: Uint8Array | TiledArray, wanted: Wanted, field: Reading): OpenedPicture {
  const picture =
    isTiled(value) || isNpy(value)
      ? rawPicture(isTiled(value) ? plainArray(value) : decodeNpy(value), wanted)
      : encodedPicture(value, wanted, field)
  if (wanted !== 'luma') return picture
  const decode: OpenedPicture['decode'] = (box, target, work) => luma(picture.decode(box, target, work), work)
  return { ...picture, onDevice: undefined, decode }
}

function encodedPicture(bytes: Uint8Array, wanted: Wanted, { scale, orientation }: Reading): OpenedPicture {
  const info = imageInfo(bytes, MAX_PIXELS, orientation === 'stored')
  const channels = wanted !== 'luma' ? wanted : info.jpeg?.components === 1 ? 1 : 3
  if (scale === 'auto' || scale === 1 || info.jpeg === undefined || info.jpeg.lossless) {
    const { width, height } = info
    const reducible = scale === 'auto' && info.jpeg !== undefined
    const decode: OpenedPicture['decode'] = (box, target, work) =>
      decodeImage(bytes, info, { channels, box, scale, target }, work)
    return { width, height, reducible, onDevice: reducible ? undefined : uploadable(bytes, info), decode }
  }
  // A fixed fraction: the picture counts as one of that size.
  const width = Math.ceil(info.width / scale)
  const height = Math.ceil(info.height / scale)
  const decode: OpenedPicture['decode'] = (box, _target, work) => {
    const x = box.x * scale
    const y = box.y * scale
    const full = {
      x,
      y,
      width: Math.min(box.width * scale, info.width - x),
      height: Math.min(box.height * scale, info.height - y),
    }
    // The last, partial pixel is rounded up by the decoder only for the whole picture: ask for that, and cut.
    const cut = full.width < box.width * scale || full.height < box.height * scale
    if (!cut) return decodeImage(bytes, info, { channels, box: full, scale }, work)
    const whole = decodeImage(bytes, info, { channels, scale }, work)
    const at = whole.at + box.y * whole.stride + box.x * channels
    return { ...whole, at, width: box.width, height: box.height }
  }
  return { width, height, reducible: false, decode }
}

function uploadable(bytes: Uint8Array, { jpeg, orientation }: ImageInfo): Uploadable | undefined {
  if (jpeg?.gpu === undefined) return undefined
  const { width, height, gpu } = jpeg
  return { sampling: gpu, bytes, width, height, orientation }
}

function rawPicture({ dtype, shape, data }: PlainArray, wanted: Wanted): OpenedPicture {
  const [height, width, own = 1] = shape
  const fits = shape.length === 3 || shape.length === 2
  if (dtype !== 'u8' || !fits || height === 0 || width === 0 || (own !== 1 && (own !== 3 || wanted === 1))) {
    const right = wanted === 1 ? '(height, width)' : '(height, width, 3)'
    throw new DecodeError(
      `npy array of ${dtype} and shape (${shape.join(', ')}) is no picture: store ${right} of uint8`,
    )
  }
  const channels = own === 3 ? 3 : 1
  const decode: OpenedPicture['decode'] = (box, _target, work) => {
    // Whole rows, in one copy: quicker than picking a box's pixels out of them.
    const stride = width * own
    const rows = data.subarray(box.y * stride, (box.y + box.height) * stride)
    const at = work.take(rows.length)
    copyInto(work, rows, at)
    const picture: Picture = { at: at + box.x * own, width: box.width, height: box.height, channels, stride }
    return wanted === 3 && channels === 1 ? spread(picture, work) : picture
  }
  const onDevice: Uploadable | undefined =
    own === 3 ? { sampling: undefined, bytes: data, width, height, orientation: 1 } : undefined
  return { width, height, reducible: false, onDevice, decode }
}

/** Colours become luma in place, by PIL's whole numbers for ITU-R 601-2: `convert("L")`. Gray is left as it is. */
function luma(picture: Picture, { u8 }: Workspace): Picture {
  const { at, width, height, channels, stride } = picture
  if (channels === 1) return picture
  for (let y = 0, to = at; y < height; y++) {
    const row = at + y * stride
    for (let i = row; i < row + width * 3; i += 3)
      u8[to++] = (u8[i] * 19595 + u8[i + 1] * 38470 + u8[i + 2] * 7471 + 0x8000) >> 16
  }
  return { at, width, height, channels: 1, stride: width }
}

/** Gray as three equal channels. */
function spread({ at, width, height, stride }: Picture, work: Workspace): Picture {
  const to = work.take(width * height * 3)
  const { u8 } = work
  for (let y = 0, out = to; y < height; y++) {
    for (let x = 0; x < width; x++, out += 3) u8.fill(u8[at + y * stride + x], out, out + 3)
  }
  return { at: to, width, height, channels: 3, stride: width * 3 }
}
