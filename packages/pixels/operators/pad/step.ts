/** Padding: a border of one colour, of the edge's pixels, or of the picture mirrored. */

import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { PAD_CODES } from '../../transform/device/parameter-words.js'
import { copyRows } from '../copy.js'
import { step } from '../step.js'

export interface PadStep {
  do: 'pad'
  left: number
  top: number
  right: number
  bottom: number
  mode: 'constant' | 'edge' | 'reflect' | 'symmetric'
  fill: number[]
}

export const padSteps = step<PadStep>({
  do: 'pad',
  code: 3,
  run: padded,
  args: ({ left, top, right, bottom, mode, fill }) => {
    const colour = [0, 1, 2].map(c => fill[c] ?? fill[0] ?? 0)
    return [left, top, right, bottom, PAD_CODES[mode], ...colour]
  },
  size: ({ left, top, right, bottom }, { width, height }) => ({
    width: width + left + right,
    height: height + top + bottom,
  }),
  motion:
    ({ left, top }) =>
    (x, y) => [x + left, y + top],
})

/** Where the pixel at `i`, which may lie outside 0…n-1, comes from. */
const sources: Record<Exclude<PadStep['mode'], 'constant'>, (i: number, n: number) => number> = {
  edge: (i, n) => Math.min(Math.max(i, 0), n - 1),
  // Mirrored about the edge's pixel, which is not repeated …
  reflect: (i, n) => (n === 1 ? 0 : n - 1 - Math.abs(n - 1 - modulo(i, 2 * n - 2))),
  // … or about the edge itself.
  symmetric: (i, n) => {
    const m = modulo(i, 2 * n)
    return m < n ? m : 2 * n - 1 - m
  },
}

function modulo(i: number, n: number): number {
  return ((i % n) + n) % n
}

function padded(step: PadStep, picture: Picture, work: Workspace): Picture {
  const { left, top, right, bottom, mode } = step
  const { channels } = picture
  const width = picture.width + left + right
  const height = picture.height + top + bottom
  const stride = width * channels
  const at = work.take(stride * height)
  const result: Picture = { at, width, height, channels, stride }
  if (mode === 'constant') paint(step.fill, result, work.u8)
  const inner = { at: at + top * stride + left * channels, stride }
  copyRows(work.memory, picture, inner, picture.width * channels, picture.height)
  if (mode === 'constant') return result
  for (let y = 0; y < picture.height; y++) extend(inner.at + y * stride, step, picture, work.u8)
  // Rows above and below are copies of finished rows.
  for (let y = 0; y < height; y++) {
    if (y >= top && y < top + picture.height) continue
    const from = at + (top + sources[mode](y - top, picture.height)) * stride
    work.u8.copyWithin(at + y * stride, from, from + stride)
  }
  return result
}

/** Fills the sides of a row whose middle is in its place. */
function extend(middle: number, { left, right, mode }: PadStep, picture: Picture, u8: Uint8Array): void {
  if (mode === 'constant') return
  const { width, channels } = picture
  const fetch = (x: number) => {
    const from = middle + sources[mode](x, width) * channels
    for (let c = 0; c < channels; c++) u8[middle + x * channels + c] = u8[from + c]
  }
  for (let x = -left; x < 0; x++) fetch(x)
  for (let x = width; x < width + right; x++) fetch(x)
}

/** One colour everywhere: a value for each channel, or one for all; none is black. */
function paint(fill: readonly number[], { at, channels, stride, height }: Picture, u8: Uint8Array): void {
  const colour = Array.from({ length: channels }, (_, c) => fill[c] ?? fill[0] ?? 0)
  if (colour.every(value => value === colour[0])) {
    u8.fill(colour[0], at, at + stride * height)
    return
  }
  for (let i = 0; i < stride; i++) u8[at + i] = colour[i % channels]
  for (let y = 1; y < height; y++) u8.copyWithin(at + y * stride, at, at + stride)
}
