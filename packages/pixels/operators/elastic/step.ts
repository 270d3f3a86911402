/**
 * Elastic transforms: every pixel is fetched from its own place and a displacement. Displacements are noise, blurred
 * by Gaussians. The noise at a place depends on the step's seed and the place alone, so that a GPU, a mask that
 * follows and a single box find the same.
 */

import { mix32 } from '../../../core/basics/random.js'
import { WEYL } from '../../../core/basics/random-words.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { kernel } from '../../transform/kernels/load.js'
import { type BlurWeights, blurArguments, fold, gaussian } from '../gaussianBlur/blur.js'
import { type Filter, type Motion, type Size, step, type Thing } from '../step.js'
import { fetching, floats, outside, type WarpKernel } from '../warp.js'

/** Displacements by blurred noise, along x and y: their strength, and the sigmas of the blur. */
export interface ElasticStep {
  do: 'elastic'
  seed: number
  alpha: readonly [number, number]
  sigma: readonly [number, number]
  filter: Filter
  fill: number[]
}

export const elasticSteps = step<ElasticStep>({
  do: 'elastic',
  code: 20,
  run: displaced,
  args: step => {
    const [strength, blur] = [step.alpha.map(f32 => ({ f32 })), step.sigma.map(f64 => ({ f64 }))]
    return [step.seed, ...strength, ...blur, ...fetching(step)]
  },
  /** Two float32 a pixel. */
  tableBytes: ({ width, height }) => 2 * 4 * width * height,
  motion: motionOf,
})

interface ElasticKernel {
  noise(to: number, count: number, key: number): void
  blur(
    from: number,
    width: number,
    height: number,
    to: number,
    weightsX: number,
    radiusX: number,
    weightsY: number,
    radiusY: number,
    rows: number,
    line: number,
    factor: number,
    divisor: number,
  ): void
}

const f32 = Math.fround

/** Along which axis pixels are displaced. */
export type Axis = 'x' | 'y'

/** Halves of the Gaussians that blur the displacements along an axis, the middle first. */
function weightsOf({ sigma }: Pick<ElasticStep, 'sigma'>, axis: Axis): BlurWeights {
  // Where there is no blur, one tap of any sigma: the noise itself.
  const taps = tapsOf(sigma[axis === 'x' ? 0 : 1])
  return { x: gaussian(taps, sigma[0] || 1), y: gaussian(taps, sigma[1] || 1) }
}

/** Taps of a Gaussian, four sigmas to each side, odd. */
function tapsOf(sigma: number): number {
  return Math.trunc(8 * sigma + 1) | 1
}

/** The key of the noise along an axis. */
export function noiseKey(seed: number, axis: Axis): number {
  return mix32((seed + (axis === 'x' ? 0 : WEYL)) >>> 0)
}

/** Uniform in [-1, 1), 24 bits; `place` counts pixels from the upper left. */
export function noiseAt(key: number, place: number): number {
  return (mix32((Math.imul(place, WEYL) + key) >>> 0) >>> 8) / 8388608 - 1
}

/** Where pixels lie, from -1 to 1, as torch.linspace has it. */
export function places(size: number): Float32Array {
  const [from, to] = [f32((1 - size) / size), f32((size - 1) / size)]
  const step = size > 1 ? f32((to - from) / (size - 1)) : 0
  return Float32Array.from({ length: size }, (_, i) =>
    i < size >> 1 ? from + step * i : to - step * (size - 1 - i),
  )
}

type Noise = Pick<ElasticStep, 'seed' | 'alpha' | 'sigma'>

/** How far the pixel (x, y) of a picture of this size is displaced along an axis, in units of half its size. */
export function displacementAt(
  step: Noise,
  axis: Axis,
  { width, height }: Size,
): (x: number, y: number) => number {
  const key = noiseKey(step.seed, axis)
  const weights = weightsOf(step, axis)
  const columns = new Map<number, number>() // blurred along y, by place: neighbours share them
  const column = (x: number, y: number): number => {
    const place = y * width + x
    let value = columns.get(place)
    if (value === undefined) {
      value = blurred(dy => noiseAt(key, fold(y + dy, height) * width + x), weights.y)
      columns.set(place, value)
    }
    return value
  }
  const [alpha, size] = axis === 'x' ? [step.alpha[0], width] : [step.alpha[1], height]
  return (x, y) => f32(f32(blurred(dx => column(fold(x + dx, width), y), weights.x) * f32(alpha)) / size)
}

function blurred(value: (offset: number) => number, weights: Float32Array): number {
  let sum = f32(value(0) * weights[0])
  for (let k = 1; k < weights.length; k++) sum = f32(sum + f32(f32(value(-k) + value(k)) * weights[k]))
  return sum
}

function displaced(step: ElasticStep, picture: Picture, work: Workspace): Picture {
  const { at, stride, width, height, channels } = picture
  const to = work.take(width * height * channels + 16)
  const mark = work.mark()
  const shiftX = displacements(step, 'x', width, height, work)
  const shiftY = displacements(step, 'y', width, height, work)
  const [gridX, gridY] = [floats(places(width), work), floats(places(height), work)]
  const source = [at, stride, width, height, channels] as const
  const { displaced } = kernel<WarpKernel>('warp', work.memory)
  displaced(...source, to, gridX, gridY, shiftX, shiftY, ...outside(step, work))
  work.release(mark)
  return { at: to, width, height, channels, stride: width * channels }
}

/** The displacements along an axis: f32[height][width] in the workspace, and 16 bytes to spare. */
function displacements(
  step: ElasticStep,
  axis: Axis,
  width: number,
  height: number,
  work: Workspace,
): number {
  const bytes = width * height * 4 + 16
  const to = work.take(bytes)
  const mark = work.mark()
  const run = kernel<ElasticKernel>('elastic', work.memory)
  const noise = work.take(bytes)
  run.noise(noise, width * height, noiseKey(step.seed, axis) | 0)
  const blur = blurArguments(weightsOf(step, axis), width, 1, work)
  const [alpha, size] = axis === 'x' ? [step.alpha[0], width] : [step.alpha[1], height]
  run.blur(noise, width, height, to, ...blur, alpha, size)
  work.release(mark)
  return to
}

/** Back by the displacement of the pixel there: not the exact inverse, but near it where displacements are smooth. */
function motionOf(step: ElasticStep, size: Size, thing: Thing): Motion {
  const [shiftX, shiftY] = [displacementAt(step, 'x', size), displacementAt(step, 'y', size)]
  const pixel = (at: number, side: number): number =>
    Math.min(Math.max(thing === 'box' ? Math.ceil(at) : Math.trunc(at), 0), side - 1)
  return (x, y) => {
    const [column, row] = [pixel(x, size.width), pixel(y, size.height)]
    return [column - (shiftX(column, row) * size.width) / 2, row - (shiftY(column, row) * size.height) / 2]
  }
}
