/** Turning, shifting, scaling and shearing: each becomes one inverse matrix about the picture's centre. */
import { MillraceError } from '../../../core/basics/errors.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { kernel } from '../../transform/kernels/load.js'
import { type Filter, type Motion, type Size, step } from '../step.js'
import { fetching, floats, gridMap, outside, type WarpKernel } from '../warp.js'

/**
 * Inverse affine map about the centre, output pixel → input pixel: [a b c d e f], as in torchvision's
 * `_get_inverse_affine_matrix`. An empty `fill` is torchvision's None: zeros, blended by the filter alone.
 */
export interface AffineStep {
  do: 'affine'
  matrix: readonly number[]
  width: number
  height: number
  filter: Filter
  fill: number[]
}

export const affineSteps = step<AffineStep>({
  do: 'affine',
  code: 4,
  run: warped,
  args(step, { width, height }) {
    const map = Array.from(gridMap(step.matrix, width, height), f32 => ({ f32 }))
    return [...map, step.width, step.height, ...fetching(step)]
  },
  size: ({ width, height }) => ({ width, height }),
  motion: (step, size) => motionOf(step.matrix, size, step),
})

function warped(step: AffineStep, picture: Picture, work: Workspace): Picture {
  const { at, stride, width, height, channels } = picture
  const to = work.take(step.width * step.height * channels + 16)
  const mark = work.mark()
  const map = floats(gridMap(step.matrix, width, height), work)
  const source = [at, stride, width, height, channels] as const
  const { affine } = kernel<WarpKernel>('warp', work.memory)
  affine(...source, to, step.width, step.height, map, ...outside(step, work))
  work.release(mark)
  return { at: to, width: step.width, height: step.height, channels, stride: step.width * channels }
}

/** A step's matrix leads from output to input, each relative to its centre; this is the way back, from the corners. */
function motionOf([a, b, c, d, e, f]: readonly number[], from: Size, to: Size): Motion {
  const det = a * e - b * d
  const [ia, ib, id, ie] = [e / det, -b / det, -d / det, a / det]
  const [middleX, middleY] = [from.width / 2 + c, from.height / 2 + f] // what comes to lie in the middle
  const [left, top] = [
    to.width / 2 - ia * middleX - ib * middleY,
    to.height / 2 - id * middleX - ie * middleY,
  ]
  return (x, y) => [ia * x + ib * y + left, id * x + ie * y + top]
}

const DEGREE = Math.PI / 180

export interface AffineParameters {
  /** Degrees, clockwise. */
  angle: number
  /** Pixels, after everything else. */
  translate: readonly [number, number]
  scale: number
  /** Degrees, parallel to x and to y. */
  shear: readonly [number, number]
  /** The point that stays, relative to the picture's centre. */
  centre: readonly [number, number]
}

export const unmoved: AffineParameters = {
  angle: 0,
  translate: [0, 0],
  scale: 1,
  shear: [0, 0],
  centre: [0, 0],
}

/**
 * The map from output to input coordinates, both relative to the centre: [a b c d e f], x' = ax + by + c,
 * y' = dx + ey + f. The inverse of T·C·R(angle)·S(scale)·SHy·SHx·C⁻¹, whose determinant is scale².
 */
export function inverseMatrix({ angle, translate, scale, shear, centre }: AffineParameters): number[] {
  const [rotation, shearX, shearY] = [angle * DEGREE, shear[0] * DEGREE, shear[1] * DEGREE]
  const a = Math.cos(rotation - shearY) / Math.cos(shearY)
  const c = Math.sin(rotation - shearY) / Math.cos(shearY)
  const b = -(a * Math.tan(shearX) + Math.sin(rotation))
  const d = Math.cos(rotation) - c * Math.tan(shearX)
  const matrix = [d / scale, -b / scale, 0, -c / scale, a / scale, 0]
  const [fromX, fromY] = [centre[0] + translate[0], centre[1] + translate[1]]
  matrix[2] = centre[0] - matrix[0] * fromX - matrix[1] * fromY
  matrix[5] = centre[1] - matrix[3] * fromX - matrix[4] * fromY
  return matrix
}

export function affineStep(
  parameters: AffineParameters,
  size: Size,
  filter: Filter,
  fill: number[],
): AffineStep {
  if (filter === 'bicubic')
    throw new MillraceError('rotate and affine know the filters "nearest" and "bilinear", not "bicubic"')
  const { width, height } = size
  return { do: 'affine', matrix: inverseMatrix(parameters), width, height, filter, fill }
}
