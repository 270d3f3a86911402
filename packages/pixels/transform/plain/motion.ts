/** How coordinates move when a step moves the pixels, as in torchvision. */
import { displacementAt, type ElasticStep } from '../picture/elastic.js'
import { type Size, type Step, sizeAfter } from '../steps.js'

export type Motion = (x: number, y: number) => readonly [x: number, y: number]

/** Corners of boxes lie between pixels, points at their middles. */
export type Thing = 'box' | 'point'

/** Undefined where coordinates stay. */
export function motionOf(step: Step, size: Size, thing: Thing): Motion | undefined {
  switch (step.do) {
    case 'crop':
      return (x, y) => [x - step.x, y - step.y]
    case 'pad':
      return (x, y) => [x + step.left, y + step.top]
    case 'resize': {
      const [byX, byY] = [step.width / size.width, step.height / size.height]
      return (x, y) => [x * byX, y * byY]
    }
    case 'flip': {
      // The coordinate that mirrors 0.
      const far = (step.axis === 'horizontal' ? size.width : size.height) - (thing === 'box' ? 0 : 1)
      return step.axis === 'horizontal' ? (x, y) => [far - x, y] : (x, y) => [x, far - y]
    }
    case 'affine':
      return affineMotion(step.matrix, size, sizeAfter(step, size))
    case 'perspective':
      return perspectiveMotion(step.coefficients)
    case 'elastic':
      return elasticMotion(step, size, thing)
    default:
      return undefined
  }
}

/** A step's matrix leads from output to input, each relative to its centre; this is the way back, from the corners. */
function affineMotion([a, b, c, d, e, f]: readonly number[], from: Size, to: Size): Motion {
  const det = a * e - b * d
  const [ia, ib, id, ie] = [e / det, -b / det, -d / det, a / det]
  const [middleX, middleY] = [from.width / 2 + c, from.height / 2 + f] // what comes to lie in the middle
  const [left, top] = [
    to.width / 2 - ia * middleX - ib * middleY,
    to.height / 2 - id * middleX - ie * middleY,
  ]
  return (x, y) => [ia * x + ib * y + left, id * x + ie * y + top]
}

/** Coefficients lead from output to input: this is the inverse of their matrix. */
function perspectiveMotion([a, b, c, d, e, f, g, h]: readonly number[]): Motion {
  const inverse = [
    [e - f * h, c * h - b, b * f - c * e],
    [f * g - d, a - c * g, c * d - a * f],
    [d * h - e * g, b * g - a * h, a * e - b * d],
  ]
  return (x, y) => {
    const [u, v, w] = inverse.map(row => row[0] * x + row[1] * y + row[2])
    return [u / w, v / w]
  }
}

/** Back by the displacement of the pixel there: not the exact inverse, but near it where displacements are smooth. */
function elasticMotion(step: ElasticStep, size: Size, thing: Thing): Motion {
  const [shiftX, shiftY] = [displacementAt(step, 'x', size), displacementAt(step, 'y', size)]
  const pixel = (at: number, side: number): number =>
    Math.min(Math.max(thing === 'box' ? Math.ceil(at) : Math.trunc(at), 0), side - 1)
  return (x, y) => {
    const [column, row] = [pixel(x, size.width), pixel(y, size.height)]
    return [column - (shiftX(column, row) * size.width) / 2, row - (shiftY(column, row) * size.height) / 2]
  }
}
