/** Warps: each pixel of the result is fetched from where a map says. */

import type { Workspace } from '../../core/system/memory/workspace.js'
import { FILTER_CODES } from '../transform/device/parameter-words.js'
import type { Arg, Filter } from './step.js'

type Source = readonly [from: number, stride: number, width: number, height: number, channels: number]
type Outside = readonly [fill: number, filled: number, filter: number]

export interface WarpKernel {
  affine(...args: [...Source, to: number, outWidth: number, outHeight: number, map: number, ...Outside]): void
  perspective(...args: [...Source, to: number, map: number, ...Outside]): void
  displaced(
    ...args: [...Source, to: number, gridX: number, gridY: number, shiftX: number, shiftY: number, ...Outside]
  ): void
}

/** The kernels' arguments about what lies outside, and how pixels are fetched. */
export function outside({ filter, fill }: { filter: Filter; fill: number[] }, work: Workspace): Outside {
  return [floats(fillColour(fill), work), fill.length > 0 ? 1 : 0, filter === 'nearest' ? 0 : 1]
}

/** Puts numbers into the workspace, with 16 bytes to spare. */
export function floats(values: Float32Array, work: Workspace): number {
  const at = work.take(values.byteLength + 16)
  new Float32Array(work.memory.buffer, at, values.length).set(values)
  return at
}

/** The matrix in units of half the picture's size, as torch's sampling grid has it, in float32. */
export function gridMap(matrix: readonly number[], width: number, height: number): Float32Array {
  const half = [Math.fround(0.5 * width), Math.fround(0.5 * height)]
  return Float32Array.from(matrix, (value, i) => Math.fround(value) / half[i < 3 ? 0 : 1])
}

/** Coefficients in the same units: two sums of three, and what both are divided by. */
export function perspectiveMap(coefficients: readonly number[], width: number, height: number): Float32Array {
  return Float32Array.of(...gridMap(coefficients.slice(0, 6), width, height), ...coefficients.slice(6), 1)
}

/** A value for each of four lanes: the list's own, or its first for all. */
export function fillColour(fill: readonly number[]): Float32Array {
  return Float32Array.from({ length: 4 }, (_, c) => fill[c] ?? fill[0] ?? 0)
}

/** The words of a GPU's op about how pixels are fetched: the filter, whether there is a fill, and its colour. */
export function fetching({ filter, fill }: { filter: Filter; fill: number[] }): Arg[] {
  const colour = Array.from(fillColour(fill).subarray(0, 3), f32 => ({ f32 }))
  return [FILTER_CODES[filter], fill.length > 0 ? 1 : 0, ...colour]
}
