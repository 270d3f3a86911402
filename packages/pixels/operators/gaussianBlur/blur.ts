/** Gaussians, by which pictures and the noise of elastic transforms are blurred. */
import type { Workspace } from '../../../core/system/memory/workspace.js'
import { floats } from '../warp.js'

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
