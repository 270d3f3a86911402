import { withDefault } from '../../../core/basics/shape.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Picture } from '../../decode/picture/picture.js'
import { kernel } from '../../transform/kernels/load.js'
import { operator } from '../operator.js'
import { probability, sometimes, warping } from '../parameters.js'
import { type Filter, type Motion, type Size, step } from '../step.js'
import { fetching, floats, outside, perspectiveMap, type WarpKernel } from '../warp.js'

type Corner = readonly [x: number, y: number]

/** Output pixel → input pixel, x' = (ax + by + c) / (gx + hy + 1), y' = (dx + ey + f) / …, as in torchvision. */
export interface PerspectiveStep {
  do: 'perspective'
  coefficients: readonly number[]
  filter: Filter
  fill: number[]
}

export const perspective = operator({
  says: 'its corners moved inwards at random, with probability p',
  about: 'the corners moved inwards, by up to `distortion` of half the size',
  example: { perspective: { distortion: 0.7, p: 1 } },
  stage: 'pixels',
  moves: true,
  main: 'distortion',
  keys: { distortion: withDefault(probability, 0.5), ...sometimes, ...warping },
  torchvision: { RandomPerspective: undefined },
  steps: [
    step<PerspectiveStep>({
      do: 'perspective',
      code: 19,
      run: warped,
      args(step, { width, height }) {
        const map = perspectiveMap(step.coefficients, width, height).subarray(0, 8)
        return [...Array.from(map, f32 => ({ f32 })), ...fetching(step)]
      },
      motion: ({ coefficients }) => motionOf(coefficients),
    }),
  ],
  /** The picture's corners move inwards, each by whole pixels up to a share of half its size. */
  choose({ distortion, p, filter, fill }, size, random): PerspectiveStep[] {
    if (random.next() >= p) return []
    const { width, height } = size
    const [mostX, mostY] = [
      Math.trunc(distortion * (width >> 1)) + 1,
      Math.trunc(distortion * (height >> 1)) + 1,
    ]
    const near = (most: number) => random.int(most)
    const far = (side: number, most: number) => side - most + random.int(most)
    const corners: Corner[] = [
      [near(mostX), near(mostY)],
      [far(width, mostX), near(mostY)],
      [far(width, mostX), far(height, mostY)],
      [near(mostX), far(height, mostY)],
    ]
    const coefficients = perspectiveTo(corners, size)
    // Corners in one line, as those of a picture one pixel wide, leave nothing to see: the picture stays.
    return coefficients === undefined ? [] : [{ do: 'perspective', coefficients, filter, fill }]
  },
})

function warped(step: PerspectiveStep, picture: Picture, work: Workspace): Picture {
  const { at, stride, width, height, channels } = picture
  const to = work.take(width * height * channels + 16)
  const mark = work.mark()
  const map = floats(perspectiveMap(step.coefficients, width, height), work)
  const { perspective } = kernel<WarpKernel>('warp', work.memory)
  perspective(at, stride, width, height, channels, to, map, ...outside(step, work))
  work.release(mark)
  return { at: to, width, height, channels, stride: width * channels }
}

/** Coefficients lead from output to input: this is the inverse of their matrix. */
function motionOf([a, b, c, d, e, f, g, h]: readonly number[]): Motion {
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

/**
 * The coefficients with which the picture's corners, clockwise from the upper left, come to lie at `corners`, rounded to
 * float32 as torchvision rounds them; undefined where there are none.
 */
export function perspectiveTo(corners: readonly Corner[], { width, height }: Size): number[] | undefined {
  const [right, bottom] = [width - 1, height - 1]
  const before: Corner[] = [
    [0, 0],
    [right, 0],
    [right, bottom],
    [0, bottom],
  ]
  const rows = corners.flatMap(([x, y], i) => {
    const [u, v] = before[i]
    return [
      [x, y, 1, 0, 0, 0, -u * x, -u * y, u],
      [0, 0, 0, x, y, 1, -v * x, -v * y, v],
    ]
  })
  return solved(rows)?.map(Math.fround)
}

/** The solution of linear equations, each a row of factors with its right side at the end; undefined if there is none. */
function solved(rows: number[][]): number[] | undefined {
  const n = rows.length
  for (let i = 0; i < n; i++) {
    let pivot = i
    for (let k = i + 1; k < n; k++) if (Math.abs(rows[k][i]) > Math.abs(rows[pivot][i])) pivot = k
    if (Math.abs(rows[pivot][i]) < 1e-9) return undefined
    ;[rows[i], rows[pivot]] = [rows[pivot], rows[i]]
    for (let k = 0; k < n; k++) {
      if (k === i) continue
      const factor = rows[k][i] / rows[i][i]
      for (let j = i; j <= n; j++) rows[k][j] -= factor * rows[i][j]
    }
  }
  return rows.map((row, i) => row[n] / row[i])
}
