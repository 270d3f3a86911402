/** Turning, shifting, scaling and shearing: each becomes one inverse matrix about the picture's centre. */
import { MillraceError } from '../../errors.js'
import type { Filter, GeometryStep } from '../steps.js'
import type { Chooser, Size } from './chooser.js'
import { degrees, fill, filter, missing, pair, roundEven } from './params.js'

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
  how: Filter,
  colour: number[],
): GeometryStep {
  if (how === 'bicubic')
    throw new MillraceError('rotate and affine know the filters "nearest" and "bilinear", not "bicubic"')
  return {
    do: 'affine',
    matrix: inverseMatrix(parameters),
    width: size.width,
    height: size.height,
    filter: how,
    fill: colour,
  }
}

/** Anticlockwise by `angle` degrees, in the same frame. Multiples of 90° that fit move whole pixels. */
export function rotateSteps(angle: number, size: Size, how: Filter, colour: number[]): GeometryStep[] {
  const turn = ((angle % 360) + 360) % 360
  if (turn === 0) return []
  if (turn === 180)
    return [
      { do: 'flip', axis: 'horizontal' },
      { do: 'flip', axis: 'vertical' },
    ]
  const step = affineStep({ ...unmoved, angle: -turn }, size, how, colour)
  if (step.do === 'affine' && size.width === size.height && turn % 90 === 0)
    return [{ ...step, matrix: step.matrix.map(Math.round), filter: 'nearest' }]
  return [step]
}

export const rotate: Chooser = (params, size, random) => {
  const [low, high] = degrees(params, 'degrees')
  return rotateSteps(random.uniform(low, high), size, filter(params), fill(params))
}

export const affine: Chooser = (params, size, random) => {
  const [low, high] = degrees(params, 'degrees')
  const angle = random.uniform(low, high)
  let translate: [number, number] = [0, 0]
  if (!missing(params, 'translate')) {
    const [x, y] = pair(params, 'translate') // greatest shift, as a share of the width and of the height
    translate = [
      roundEven(random.uniform(-x * size.width, x * size.width)),
      roundEven(random.uniform(-y * size.height, y * size.height)),
    ]
  }
  const scale = missing(params, 'scale') ? 1 : random.uniform(...pair(params, 'scale'))
  const shear: [number, number] = [0, 0]
  if (!missing(params, 'shear')) {
    const range = degrees(params, 'shear')
    shear[0] = random.uniform(range[0], range[1])
    if (range.length === 4) shear[1] = random.uniform(range[2], range[3])
  }
  return [affineStep({ ...unmoved, angle, translate, scale, shear }, size, filter(params), fill(params))]
}
