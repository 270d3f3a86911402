/**
 * Decodes a JPEG, or a region of it, into a workspace.
 *
 * A region is decoded with a margin, because chroma is smoothed across the pixels' borders, and then shown as a
 * window: its pixels are bit for bit those of decoding everything and cropping afterwards.
 *
 *   +------------------------------+  rows above are skipped, rows below never decoded
 *   |        two rows              |
 *   |  +-- margin -------------+   |
 *   |  | . +-- box ---------+ .|   |  left edge: a multiple of the MCU's width, at least `SMOOTHING` before
 *   |  | . |  the picture   | .|   |  the box; right edge: `SMOOTHING` after it
 *   |  | . +----------------+ .|   |
 *   |  +-----------------------+   |
 *   +------------------------------+
 */
import { DecodeError } from '../../../core/basics/errors.js'
import { decompress } from '../../../core/system/codecs/turbojpeg.js'
import type { TurboRegion } from '../../../core/system/codecs/turbojpeg-library.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import { cmykToRgb } from './cmyk.js'
import type { JpegHeader } from './jpeg-header.js'
import type { Box, Picture } from './picture.js'

/** 1, 2, 4 or 8: the picture is decoded at 1/n of its size. */
export type Reduction = 1 | 2 | 4 | 8

/** Pixels by which the smoothing of chroma reaches over a border of a decoded region, horizontally. */
const SMOOTHING = 2
/** The same vertically, upwards only: rows below the region are read before its last row is finished. */
const ROWS_ABOVE = 2

/**
 * Decodes `box` (in stored pixels; everything when undefined) at 1/`reduction`. With a reduction the box is
 * rounded to whole reduced pixels.
 */
export function decodeJpeg(
  bytes: Uint8Array,
  header: JpegHeader,
  box: Box | undefined,
  reduction: Reduction,
  channels: 1 | 3,
  work: Workspace,
): Picture {
  if (header.precision !== 8) {
    throw new DecodeError(`JPEG has ${header.precision} bits a component: only 8 can be decoded`)
  }
  const reduced = header.lossless ? 1 : reduction // lossless files have no DCT to reduce
  const width = Math.ceil(header.width / reduced)
  const height = Math.ceil(header.height / reduced)
  const wanted = box === undefined ? { x: 0, y: 0, width, height } : reduce(box, reduced, width, height)
  const region = regionFor(wanted, width, height, header.mcuWidth / reduced)

  const cmyk = header.components === 4
  const samples = cmyk ? 4 : channels
  const columns = region?.w ?? width
  const rows = region?.h ?? height
  const pitch = columns * samples
  const base = work.take(pitch * rows)
  const format = cmyk ? 'cmyk' : channels === 1 ? 'gray' : 'rgb'
  decompress(
    bytes,
    header.width,
    header.height,
    work.pointer(base),
    pitch,
    format,
    reduced,
    region,
    work.limit,
  )

  const x = wanted.x - (region?.x ?? 0)
  const y = wanted.y - (region?.y ?? 0)
  const at = base + y * pitch + x * samples
  if (cmyk) return cmykToRgb(at, pitch, wanted.width, wanted.height, work)
  return { at, width: wanted.width, height: wanted.height, channels, stride: pitch }
}

/** A box of the full picture in a reduced one: edges to the nearest pixel, at least one pixel. */
function reduce(box: Box, by: Reduction, width: number, height: number): Box {
  if (by === 1) return box
  const x = Math.min(Math.round(box.x / by), width - 1)
  const y = Math.min(Math.round(box.y / by), height - 1)
  const right = Math.min(Math.max(Math.round((box.x + box.width) / by), x + 1), width)
  const bottom = Math.min(Math.max(Math.round((box.y + box.height) / by), y + 1), height)
  return { x, y, width: right - x, height: bottom - y }
}

/**
 * The region to decode for a box of a picture of this size, or undefined for everything: see the drawing above.
 * `step` is the width of an MCU in the (reduced) picture.
 */
function regionFor(box: Box, width: number, height: number, step: number): TurboRegion | undefined {
  if (step < 1 || (box.width === width && box.height === height)) return undefined
  const x = Math.max(0, Math.floor((box.x - SMOOTHING) / step) * step)
  const y = Math.max(0, box.y - ROWS_ABOVE)
  const right = Math.min(width, box.x + box.width + SMOOTHING)
  return { x, y, w: right - x, h: box.y + box.height - y }
}
