/** Applies an affine step: rotation, shift, scale and shear in one fetch of pixels. */
import type { Picture } from '../decode/picture.js'
import type { Workspace } from '../system/workspace.js'
import { kernel } from './kernels/load.js'
import type { GeometryStep } from './steps.js'

type Warp = (
  from: number,
  stride: number,
  width: number,
  height: number,
  channels: number,
  to: number,
  outWidth: number,
  outHeight: number,
  map: number,
  fill: number,
  filled: number,
) => void

export interface WarpKernel {
  nearest: Warp
  bilinear: Warp
}

type AffineStep = Extract<GeometryStep, { do: 'affine' }>

export function applyAffine(step: AffineStep, picture: Picture, work: Workspace): Picture {
  const { at, stride, width, height, channels } = picture
  const to = work.take(step.width * step.height * channels + 16)
  const mark = work.mark()
  const map = work.take(24)
  const fill = work.take(16)
  new Float32Array(work.memory.buffer, map, 6).set(gridMap(step.matrix, width, height))
  new Float32Array(work.memory.buffer, fill, 4).set(fillColour(step.fill))
  const run = kernel<WarpKernel>('warp', work.memory)
  const warp = step.filter === 'nearest' ? run.nearest : run.bilinear
  const filled = step.fill.length > 0 ? 1 : 0
  warp(at, stride, width, height, channels, to, step.width, step.height, map, fill, filled)
  work.release(mark)
  return { at: to, width: step.width, height: step.height, channels, stride: step.width * channels }
}

/** The matrix in units of half the picture's size, as torch's sampling grid has it, in float32. */
export function gridMap(matrix: readonly number[], width: number, height: number): Float32Array {
  const half = [Math.fround(0.5 * width), Math.fround(0.5 * height)]
  return Float32Array.from(matrix, (value, i) => Math.fround(value) / half[i < 3 ? 0 : 1])
}

/** A value for each of four lanes: the list's own, or its first for all. */
export function fillColour(fill: readonly number[]): Float32Array {
  return Float32Array.from({ length: 4 }, (_, c) => fill[c] ?? fill[0] ?? 0)
}
