/** The affine warp, plainly: gives the result's pixels, without gaps. */
import type { Picture } from '../../decode/picture.js'
import type { GeometryStep } from '../steps.js'
import { fillColour, gridMap } from '../warp.js'
import { roundEven } from './filter.js'

const f32 = Math.fround

type AffineStep = Extract<GeometryStep, { do: 'affine' }>

/** What the kernel is given: the step's matrix as a map of torch's grid, and a colour for each channel. */
export interface Warp extends Pick<AffineStep, 'width' | 'height' | 'filter'> {
  map: Float32Array
  fill: Float32Array
  filled: boolean
}

export function warp(step: AffineStep, picture: Picture, u8: Uint8Array): Uint8Array {
  const map = gridMap(step.matrix, picture.width, picture.height)
  return warped({ ...step, map, fill: fillColour(step.fill), filled: step.fill.length > 0 }, picture, u8)
}

export function warped(
  { map, fill, filled, ...to }: Warp,
  { at, width, height, channels, stride }: Picture,
  u8: Uint8Array,
): Uint8Array {
  const out = new Uint8Array(to.width * to.height * channels)

  /** The value of a pixel, or undefined outside. */
  const pixel = (x: number, y: number, c: number): number | undefined =>
    x >= 0 && y >= 0 && x < width && y < height ? u8[at + y * stride + x * channels + c] : undefined
  const coordinate = (u: number, v: number, row: number, size: number) => {
    const sum = f32(f32(f32(u * map[row]) + f32(v * map[row + 1])) + map[row + 2])
    return f32(f32(f32(sum + 1) * f32(size / 2)) - 0.5)
  }
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

  const sample = to.filter === 'nearest' ? nearest : bilinear
  for (let y = 0; y < to.height; y++)
    for (let x = 0; x < to.width; x++) {
      const [u, v] = [f32(x + (1 - to.width) * 0.5), f32(y + (1 - to.height) * 0.5)]
      const [px, py] = [coordinate(u, v, 0, width), coordinate(u, v, 3, height)]
      for (let c = 0; c < channels; c++) out[(y * to.width + x) * channels + c] = sample(px, py, c)
    }
  return out
}
