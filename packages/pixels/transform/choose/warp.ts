/** Perspective and elastic transforms. */
import type { Chooser, Size } from './chooser.js'

type Corner = readonly [x: number, y: number]

/** The picture's corners move inwards, each by whole pixels up to a share of half its size. */
export const perspective: Chooser<'perspective'> = ({ distortion, p, filter, fill }, size, random) => {
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

export const elastic: Chooser<'elastic'> = ({ alpha, sigma, filter, fill }, _, random) => [
  { do: 'elastic', seed: random.bits(), alpha, sigma, filter, fill },
]
