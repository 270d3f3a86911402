/** Steps that look at a pixel's neighbourhood: sharpness and Gaussian blur. The result is a new picture. */

import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { kernel } from '../kernels/load.js'
import type { ColorStep } from '../steps.js'
import { copyRows } from './copy.js'
import { floats } from './warp.js'

export interface FilterKernel {
  sharpness(
    from: number,
    fromStride: number,
    to: number,
    toStride: number,
    width: number,
    height: number,
    channels: number,
    rest: number,
  ): void
  blur(
    from: number,
    stride: number,
    width: number,
    height: number,
    channels: number,
    to: number,
    weightsX: number,
    radiusX: number,
    weightsY: number,
    radiusY: number,
    rows: number,
    line: number,
  ): void
}

/** Blends each pixel with the mean around it: factor 0 is blurred, 1 unchanged, 2 sharpened. The rim stays. */
export function applySharpness(factor: number, picture: Picture, work: Workspace): Picture {
  const { at, stride, width, height, channels } = picture
  if (width <= 2 || height <= 2) return picture
  const result = copied(picture, work)
  kernel<FilterKernel>('filter', work.memory).sharpness(
    ...([at, stride, result.at, result.stride, width, height, channels, 1 - factor] as const),
  )
  return result
}

export function applyBlur(
  { kernelX, kernelY, sigmaX, sigmaY }: Extract<ColorStep, { do: 'blur' }>,
  picture: Picture,
  work: Workspace,
): Picture {
  const { at, stride, width, height, channels } = picture
  const rowBytes = width * channels
  const to = work.take(rowBytes * height + 16)
  const mark = work.mark()
  const weights = { x: gaussian(kernelX, sigmaX), y: gaussian(kernelY, sigmaY) }
  kernel<FilterKernel>('filter', work.memory).blur(
    ...([at, stride, width, height, channels, to] as const),
    ...blurArguments(weights, width, channels, work),
  )
  work.release(mark)
  return { at: to, width, height, channels, stride: rowBytes }
}

/** Halves of the Gaussians along x and along y, the middle first. */
export interface BlurWeights {
  x: Float32Array
  y: Float32Array
}

/**
 * What both blur kernels need beside the picture, in the order of their arguments: the weights and how far they reach, along
 * x and along y; room for pointers to rows; room for one line, filled up at both ends.
 */
export function blurArguments(
  { x, y }: BlurWeights,
  width: number,
  channels: number,
  work: Workspace,
): [weightsX: number, radiusX: number, weightsY: number, radiusY: number, rows: number, line: number] {
  const [radiusX, radiusY] = [x.length - 1, y.length - 1]
  const rows = work.take(8 * y.length)
  const line = work.take(4 * ((width + 2 * radiusX + 1) * channels + 16))
  return [floats(x, work), radiusX, floats(y, work), radiusY, rows, line]
}

/** Half of a Gaussian of `size` taps whose sum is 1, the middle first. */
export function gaussian(size: number, sigma: number): Float32Array {
  const half = Array.from({ length: (size >> 1) + 1 }, (_, i) => Math.exp(-((i / sigma) ** 2) / 2))
  const sum = half.reduce((total, weight) => total + 2 * weight, -half[0])
  return Float32Array.from(half, weight => weight / sum)
}

/** Mirrors an index into 0…n-1 without repeating the edge. */
export function fold(i: number, n: number): number {
  while (i < 0 || i >= n) {
    if (n === 1) return 0
    i = i < 0 ? -i : 2 * (n - 1) - i
  }
  return i
}

function copied(picture: Picture, work: Workspace): Picture {
  const rowBytes = picture.width * picture.channels
  const copy = { ...picture, at: work.take(rowBytes * picture.height), stride: rowBytes }
  copyRows(work.memory, picture, copy, rowBytes, picture.height)
  return copy
}
