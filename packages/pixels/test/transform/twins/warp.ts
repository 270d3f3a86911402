/** The warps, plainly: each gives the result's pixels, without gaps. */
import type { Picture } from '../../../decode/picture/picture.js'
import type { AffineStep } from '../../../operators/affine/step.js'
import type { ElasticStep } from '../../../operators/elastic/step.js'
import type { PerspectiveStep } from '../../../operators/perspective/operator.js'
import type { Filter } from '../../../operators/step.js'
import { fillColour, gridMap, perspectiveMap } from '../../../operators/warp.js'
import { elasticGrid } from './elastic.js'
import { roundEven } from './filter.js'

const f32 = Math.fround

type Size = Pick<Picture, 'width' | 'height'>

/** What lies outside, and how pixels are fetched. */
export interface Fetch {
  filter: Filter
  /** A colour for each channel. */
  fill: Float32Array
  filled: boolean
}

const fetchOf = ({ filter, fill }: { filter: Filter; fill: number[] }): Fetch => ({
  filter,
  fill: fillColour(fill),
  filled: fill.length > 0,
})

/** Where a pixel of the result comes from, from -1 to 1 along both axes. */
export type Grid = (x: number, y: number) => [number, number]

/** The grid of a step's matrix, in units of half the input's size. */
export function affineGrid(map: Float32Array, { width, height }: Size): Grid {
  return (x, y) => {
    const [u, v] = [f32(x + (1 - width) * 0.5), f32(y + (1 - height) * 0.5)]
    return [sum(map, 0, u, v), sum(map, 3, u, v)]
  }
}

export function perspectiveGrid(map: Float32Array): Grid {
  return (x, y) => {
    const [u, v] = [x + 0.5, y + 0.5]
    const divisor = sum(map, 6, u, v)
    return [f32(f32(sum(map, 0, u, v) / divisor) - 1), f32(f32(sum(map, 3, u, v) / divisor) - 1)]
  }
}

function sum(map: Float32Array, at: number, u: number, v: number): number {
  return f32(f32(f32(u * map[at]) + f32(v * map[at + 1])) + map[at + 2])
}

export function warp(step: AffineStep, picture: Picture, u8: Uint8Array): Uint8Array {
  const map = gridMap(step.matrix, picture.width, picture.height)
  return fetched(affineGrid(map, step), step, fetchOf(step), picture, u8)
}

export function perspective(step: PerspectiveStep, picture: Picture, u8: Uint8Array): Uint8Array {
  const map = perspectiveMap(step.coefficients, picture.width, picture.height)
  return fetched(perspectiveGrid(map), picture, fetchOf(step), picture, u8)
}

export function elastic(step: ElasticStep, picture: Picture, u8: Uint8Array): Uint8Array {
  return fetched(elasticGrid(step, picture), picture, fetchOf(step), picture, u8)
}

/** A picture of size `to`, each of its pixels from where the grid says. */
export function fetched(
  grid: Grid,
  to: Size,
  { filter, fill, filled }: Fetch,
  { at, width, height, channels, stride }: Picture,
  u8: Uint8Array,
): Uint8Array {
  const out = new Uint8Array(to.width * to.height * channels)

  /** The value of a pixel, or undefined outside. */
  const pixel = (x: number, y: number, c: number): number | undefined =>
    x >= 0 && y >= 0 && x < width && y < height ? u8[at + y * stride + x * channels + c] : undefined
  const nearest = (x: number, y: number, c: number) =>
    pixel(roundEven(x), roundEven(y), c) ?? (filled ? roundEven(fill[c]) : 0)
  const bilinear = (x: number, y: number, c: number) => {
    const [left, top] = [Math.floor(x), Math.floor(y)]
    const [right, down] = [f32(x - left), f32(y - top)]
    let [sum, share] = [0, 0]
    let whole = true
    for (let corner = 0; corner < 4; corner++) {
      const [dx, dy] = [corner & 1, corner >> 1]
      const value = pixel(left + dx, top + dy, c)
      const weight = f32((dx === 1 ? right : f32(1 - right)) * (dy === 1 ? down : f32(1 - down)))
      if (value === undefined) whole = false
      else [sum, share] = [f32(sum + f32(value * weight)), f32(share + weight)]
    }
    if (filled && !whole) sum = f32(f32(f32(sum - fill[c]) * share) + fill[c])
    return roundEven(sum)
  }

  const sample = filter === 'nearest' ? nearest : bilinear
  const pixels = (g: number, size: number) => f32(f32(f32(g + 1) * f32(size / 2)) - 0.5)
  for (let y = 0; y < to.height; y++)
    for (let x = 0; x < to.width; x++) {
      const [u, v] = grid(x, y)
      const [px, py] = [pixels(u, width), pixels(v, height)]
      for (let c = 0; c < channels; c++) out[(y * to.width + x) * channels + c] = sample(px, py, c)
    }
  return out
}
