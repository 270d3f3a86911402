/**
 * From the elements of a batch back to pixels that people can look at: normalisation is undone, channels are brought into one
 * order, and the picture is made small by averaging. Masks get a colour for each number; boxes are drawn as frames.
 */
import type { FieldPlace } from '../../../core/batch/layout.js'
import { Elements } from './elements.js'
import type { Rgb } from './png.js'

/** Pixels of the longer side at most. */
const MOST_SIDE = 160

/** Of values scaled to 0…1, as `normalize` has them: one number, or one for each channel. */
export interface Normalize {
  mean: readonly number[]
  std: readonly number[]
}

/** How floats become bytes: integers are bytes already. */
const FLOATS = new Set(['f16', 'bf16', 'f32', 'f64'])

/** An image of a batch. */
export function imageOf(
  row: Uint8Array,
  { dtype, shape, layout = 'chw' }: FieldPlace,
  normalize?: Normalize,
): Rgb {
  const [channels, height, width] = layout === 'chw' ? shape : [shape[2], shape[0], shape[1]]
  const elements = new Elements(row, dtype)
  const isFloat = FLOATS.has(dtype)
  const of = (list: readonly number[] | undefined, c: number, usual: number) =>
    list === undefined ? usual : (list[c % list.length] ?? usual)
  const scale = [0, 1, 2].map(c => (isFloat ? 255 * of(normalize?.std, c, 1) : 1))
  const shift = [0, 1, 2].map(c => (isFloat ? 255 * of(normalize?.mean, c, 0) : 0))
  const plane = height * width
  return shrink(width, height, (x, y, c) => {
    const channel = Math.min(c, channels - 1)
    const at = layout === 'chw' ? channel * plane + y * width + x : (y * width + x) * channels + channel
    return elements.at(at) * scale[c] + shift[c]
  })
}

/** A mask: each number has a colour of its own, 0 is black. */
export function maskOf(row: Uint8Array, { dtype, shape: [height, width] }: FieldPlace): Rgb {
  const elements = new Elements(row, dtype)
  const [w, h, step] = sizeOf(width, height)
  const bytes = new Uint8Array(3 * w * h)
  for (let y = 0; y < h; y++)
    for (let x = 0; x < w; x++) {
      // Numbers of classes have no mean: the one in the middle stands for all.
      const at = Math.floor((y + 0.5) * step) * width + Math.floor((x + 0.5) * step)
      bytes.set(colourOf(elements.at(at)), 3 * (y * w + x))
    }
  return { width: w, height: h, bytes }
}

/** Frames of boxes [x1, y1, x2, y2, label?] in pixels of a picture `full` pixels wide. Draws into the small picture. */
export function drawBoxes(
  { width, height, bytes }: Rgb,
  boxes: readonly (readonly number[])[],
  full: number,
): void {
  const scale = width / full
  const put = (x: number, y: number, colour: readonly number[]) => {
    if (x >= 0 && y >= 0 && x < width && y < height) bytes.set(colour, 3 * (y * width + x))
  }
  for (const [x1, y1, x2, y2, label = 0] of boxes) {
    const colour = colourOf(label + 1)
    const [left, top] = [Math.floor(x1 * scale), Math.floor(y1 * scale)]
    const [right, bottom] = [Math.ceil(x2 * scale) - 1, Math.ceil(y2 * scale) - 1]
    if (![left, top, right, bottom].every(side => Math.abs(side) < 1e6)) continue
    for (let x = Math.max(0, left); x <= Math.min(width - 1, right); x++) {
      put(x, top, colour)
      put(x, bottom, colour)
    }
    for (let y = Math.max(0, top); y <= Math.min(height - 1, bottom); y++) {
      put(left, y, colour)
      put(right, y, colour)
    }
  }
}

/** Size of the small picture, and how many pixels become one along a side. */
function sizeOf(width: number, height: number): [width: number, height: number, step: number] {
  const step = Math.max(1, Math.max(width, height) / MOST_SIDE)
  return [Math.max(1, Math.floor(width / step)), Math.max(1, Math.floor(height / step)), step]
}

/** Averages the pixels that become one. */
function shrink(width: number, height: number, at: (x: number, y: number, c: number) => number): Rgb {
  const [w, h, step] = sizeOf(width, height)
  const bytes = new Uint8Array(3 * w * h)
  for (let y = 0; y < h; y++) {
    const [top, bottom] = [
      Math.floor(y * step),
      Math.max(Math.floor(y * step) + 1, Math.floor((y + 1) * step)),
    ]
    for (let x = 0; x < w; x++) {
      const [left, right] = [
        Math.floor(x * step),
        Math.max(Math.floor(x * step) + 1, Math.floor((x + 1) * step)),
      ]
      for (let c = 0; c < 3; c++) {
        let sum = 0
        for (let v = top; v < bottom; v++) for (let u = left; u < right; u++) sum += at(u, v, c)
        const mean = sum / ((bottom - top) * (right - left))
        bytes[3 * (y * w + x) + c] = Number.isNaN(mean) ? 0 : Math.max(0, Math.min(255, Math.round(mean)))
      }
    }
  }
  return { width: w, height: h, bytes }
}

/** Colours that neighbours in number have far apart: steps of the golden angle around the circle of hues. */
function colourOf(number: number): [number, number, number] {
  if (number === 0 || !Number.isFinite(number)) return [0, 0, 0]
  const hue = ((number * 137.508) % 360) / 60
  const part = (n: number) => {
    const k = (n + hue) % 6
    return Math.round(255 * (0.95 - 0.7 * Math.max(0, Math.min(k, 4 - k, 1))))
  }
  return [part(5), part(3), part(1)]
}
