/**
 * Mosaic: each picture of a batch becomes a piece of a canvas on which four pictures meet in a point. The row's own lies
 * to the upper left of the point, those of the three rows before it to the upper right, the lower left and the lower
 * right; each touches the point with a corner, in its own scale. The first rows of a batch go on with its last.
 *
 *      own  │ 1 before
 *     ──────┼──────────    the frame is as large as one picture, the point lies anywhere in its middle part
 *   2 before│ 3 before
 *
 * Whether a row is made so, and where its point lies, depends on a seed of the batch and the row's number in it.
 */
import { mix32, type Random } from '../../../core/basics/random.js'
import { WEYL } from '../../../core/basics/random-words.js'
import type { NormalOp } from '../../../core/define/types.js'
import { copyRows } from '../copy.js'
import type { Size } from '../step.js'

/** How the rows of a batch are put together. */
export interface Mosaic {
  seed: number
  /** Of 2³²: rows whose bits are below it are made of four; all of them if it is the greatest number. */
  threshold: number
  /** Where points lie, in pixels: first and last. */
  x: readonly [first: number, last: number]
  y: readonly [first: number, last: number]
}

/** A part of a row, and where it comes from. */
export interface Part extends Size {
  /** As many rows before. */
  back: number
  from: { x: number; y: number }
  to: { x: number; y: number }
}

export const MOSAIC_ROWS = 4
const ALWAYS = 0xffffffff

/** Chooses a seed from `random`, keyed by the batch. Undefined: no row is made of four. */
export function chooseMosaic(op: NormalOp, { width, height }: Size, random: Random): Mosaic | undefined {
  const { p, center } = op.params as { p: number; center: readonly [number, number] }
  if (p === 0) return undefined
  const [low, high] = center
  const along = (size: number) => [Math.round(low * size), Math.round(high * size)] as const
  const threshold = p === 1 ? ALWAYS : Math.floor(p * 2 ** 32)
  return { seed: random.bits(), threshold, x: along(width), y: along(height) }
}

/** The parts of a row; undefined where it stays as it is. */
export function partsOf(mosaic: Mosaic, row: number, { width, height }: Size): Part[] | undefined {
  const bits = (which: number): number => mix32((mosaic.seed + Math.imul(row * 3 + which, WEYL)) >>> 0)
  if (mosaic.threshold !== ALWAYS && bits(0) >= mosaic.threshold) return undefined
  const within = ([first, last]: readonly [number, number], of: number): number =>
    first + Math.floor((of * (last - first + 1)) / 2 ** 32)
  const [x, y] = [within(mosaic.x, bits(1)), within(mosaic.y, bits(2))]
  const [right, below] = [width - x, height - y]
  return [
    { back: 0, from: { x: right, y: below }, to: { x: 0, y: 0 }, width: x, height: y },
    { back: 1, from: { x: 0, y: below }, to: { x, y: 0 }, width: right, height: y },
    { back: 2, from: { x: right, y: 0 }, to: { x: 0, y }, width: x, height: below },
    { back: 3, from: { x: 0, y: 0 }, to: { x, y }, width: right, height: below },
  ]
}

/** The row that is `back` rows before, the last one coming before the first. */
export function rowBefore(row: number, back: number, count: number): number {
  return (((row - back) % count) + count) % count
}

/** Rows of pictures, as byte offsets into the memory. */
export interface PictureRows extends Size {
  memory: WebAssembly.Memory
  count: number
  at: number
  rowBytes: number
  /** Planes of a picture, and bytes of a pixel in each. */
  planes: number
  pixelBytes: number
  /** Room for three rows. */
  spareAt: number
}

/**
 * Puts all rows together, in place. Going from the last row to the first, the rows before are still untouched; the last
 * three, which come before the first ones, are kept aside.
 */
export function mosaicRows(mosaic: Mosaic, rows: PictureRows): void {
  const { memory, count, at, rowBytes, spareAt } = rows
  const whole = (from: number, to: number): void =>
    copyRows(memory, { at: from, stride: 0 }, { at: to, stride: 0 }, rowBytes, 1)
  const kept = Math.min(count, MOSAIC_ROWS - 1)
  for (let i = 0; i < kept; i++) whole(at + (count - 1 - i) * rowBytes, spareAt + i * rowBytes)
  for (let row = count - 1; row >= 0; row--) {
    // The row's own part comes first: it lies below and right of its place, and the others may overwrite it.
    for (const part of partsOf(mosaic, row, rows) ?? []) {
      const other = rowBefore(row, part.back, count)
      const isOwn = part.back === 0
      const from = isOwn || other < row ? at + other * rowBytes : spareAt + (count - 1 - other) * rowBytes
      paste(part, from, at + row * rowBytes, rows)
    }
  }
}

function paste(
  { from, to, width, height }: Part,
  source: number,
  target: number,
  { memory, planes, pixelBytes, ...size }: PictureRows,
): void {
  const stride = size.width * pixelBytes
  const start = (plane: number, { x, y }: Part['from']): number =>
    (plane * size.height + y) * stride + x * pixelBytes
  for (let plane = 0; plane < planes; plane++) {
    const [first, place] = [source + start(plane, from), target + start(plane, to)]
    copyRows(memory, { at: first, stride }, { at: place, stride }, width * pixelBytes, height)
  }
}

/** Moves a box with its part; false if too little of it is left. */
export function boxInPart(
  box: Float64Array | Float32Array | Int32Array,
  part: Part,
  minArea: number,
): boolean {
  const { from, to, width, height } = part
  const move = (value: number, by: number, low: number, size: number): number =>
    Math.min(Math.max(value + by, low), low + size)
  for (const i of [0, 2]) {
    box[i] = move(box[i], to.x - from.x, to.x, width)
    box[i + 1] = move(box[i + 1], to.y - from.y, to.y, height)
  }
  const [x1, y1, x2, y2] = box
  return x2 > x1 && y2 > y1 && (x2 - x1) * (y2 - y1) >= minArea
}

/** Moves a point with its part; false if the nearest pixel is none of the part. */
export function pointInPart(point: Float64Array | Float32Array | Int32Array, part: Part): boolean {
  const { from, to, width, height } = part
  point[0] += to.x - from.x
  point[1] += to.y - from.y
  const [x, y] = [point[0] - to.x, point[1] - to.y]
  return x >= -0.5 && x < width - 0.5 && y >= -0.5 && y < height - 0.5
}
