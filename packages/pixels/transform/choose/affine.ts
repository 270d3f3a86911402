/** Turning, shifting, scaling and shearing: each becomes one inverse matrix about the picture's centre. */
import { MillraceError } from '../../../core/basics/errors.js'
import type { Filter, GeometryStep } from '../steps.js'
import { type Chooser, roundEven, type Size } from './chooser.js'

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
): Extract<GeometryStep, { do: 'affine' }> {
  if (filter === 'bicubic')
    throw new MillraceError('rotate and affine know the filters "nearest" and "bilinear", not "bicubic"')
  const { width, height } = size
  return { do: 'affine', matrix: inverseMatrix(parameters), width, height, filter, fill }
}

/** Anticlockwise by `angle` degrees, in the same frame. Multiples of 90° that fit move whole pixels. */
export function rotateSteps(angle: number, size: Size, filter: Filter, fill: number[]): GeometryStep[] {
  const turn = ((angle % 360) + 360) % 360
  if (turn === 0) return []
  if (turn === 180)
    return [
      { do: 'flip', axis: 'horizontal' },
      { do: 'flip', axis: 'vertical' },
    ]
  const step = affineStep({ ...unmoved, angle: -turn }, size, filter, fill)
  if (size.width === size.height && turn % 90 === 0)
    return [{ ...step, matrix: step.matrix.map(Math.round), filter: 'nearest' }]
  return [step]
}

export const rotate: Chooser<'rotate'> = ({ degrees, filter, fill }, size, random) =>
  rotateSteps(random.uniform(degrees[0], degrees[1]), size, filter, fill)

export const affine: Chooser<'affine'> = (params, size, random) => {
  const { degrees, shear, filter, fill } = params
  const angle = random.uniform(degrees[0], degrees[1])
  // The greatest shift, given as a share of the size.
  const [mostX, mostY] = [params.translate[0] * size.width, params.translate[1] * size.height]
  const translate = [
    roundEven(random.uniform(-mostX, mostX)),
    roundEven(random.uniform(-mostY, mostY)),
  ] as const
  const scale = random.uniform(params.scale[0], params.scale[1])
  const slant = [random.uniform(shear[0], shear[1]), random.uniform(shear[2], shear[3])] as const
  return [affineStep({ ...unmoved, angle, translate, scale, shear: slant }, size, filter, fill)]
}
