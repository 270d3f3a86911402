import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Random } from '../../../core/basics/random.js'
import type { NormalField } from '../../../core/define/types.js'
import type { Placed, RowContext } from '../../../core/engine/make/program.js'
import { Workspace } from '../../../core/system/memory/workspace.js'
import type { Rows } from '../../decode/array/rows.js'
import { inverseMatrix } from '../../operators/affine/step.js'
import type { Chosen, Step } from '../../operators/steps.js'
import { compileBoxes, compilePoints, followBoxes, followPoints } from '../../transform/plain/follow.js'

const golden = JSON.parse(
  readFileSync(new URL('../../../../test/golden/transforms/follow.json', import.meta.url), 'utf8'),
) as {
  width: number
  height: number
  boxes: number[][]
  points: number[][]
  cases: { step: Record<string, unknown>; boxes: number[][]; points: number[][] }[]
}

const rowsOf = (lists: number[][]): Rows => ({
  count: lists.length,
  columns: lists[0].length,
  values: Float64Array.from(lists.flat()),
})
const listsOf = ({ count, columns, values }: Rows): number[][] =>
  Array.from({ length: count }, (_, i) => Array.from(values.subarray(i * columns, (i + 1) * columns)))

function stepOf(given: Record<string, unknown>): Step {
  if (given.do !== 'affine') return { mode: 'constant', fill: [0], ...given } as unknown as Step
  const { width, height } = golden
  const parameters = { ...(given as object), centre: [0, 0] } as unknown as Parameters<
    typeof inverseMatrix
  >[0]
  return { do: 'affine', matrix: inverseMatrix(parameters), width, height, filter: 'nearest', fill: [] }
}

function canvas(step: Step): [number, number] {
  if (step.do === 'crop' || step.do === 'resize') return [step.width, step.height]
  if (step.do === 'pad')
    return [golden.width + step.left + step.right, golden.height + step.top + step.bottom]
  return [golden.width, golden.height]
}

function expectClose(actual: number[][], expected: number[][]) {
  expect(actual.length).toBe(expected.length)
  for (const [i, row] of actual.entries())
    for (const [j, value] of row.entries()) expect(value).toBeCloseTo(expected[i][j], 3)
}

describe('boxes and points move as torchvision moves them', () => {
  const { width, height, boxes, points } = golden
  it.each(golden.cases.map((it, i) => [`${i}: ${it.step.do}`, it] as const))('%s', (_, it) => {
    const step = stepOf(it.step)
    const chosen: Chosen = { width, height, steps: [step] }
    const [w, h] = canvas(step)
    const left = it.boxes.filter(([x1, y1, x2, y2]) => x2 > x1 && y2 > y1)
    expectClose(listsOf(followBoxes(rowsOf(boxes), chosen, 0)), left)
    const inside = it.points.filter(([x, y]) => x >= -0.5 && x < w - 0.5 && y >= -0.5 && y < h - 0.5)
    expectClose(listsOf(followPoints(rowsOf(points), chosen)), inside)
  })
})

describe('what is left', () => {
  it('drops boxes below minArea with their labels, and keeps the others in order', () => {
    const boxes = rowsOf([
      [0, 0, 10, 10, 7],
      [8, 8, 12, 12, 8],
      [40, 40, 50, 50, 9],
      [5, 0, 20, 9, 3],
    ])
    const crop: Step = { do: 'crop', x: 0, y: 0, width: 10, height: 10 }
    const chosen = { width: 60, height: 60, steps: [crop] }
    expect(listsOf(followBoxes(boxes, chosen, 5))).toEqual([
      [0, 0, 10, 10, 7],
      [5, 0, 10, 9, 3],
    ])
    expect(followBoxes(boxes, chosen, 0).count).toBe(3)
  })

  it('does not bring back what a crop cut off', () => {
    const steps: Step[] = [
      { do: 'crop', x: 10, y: 0, width: 10, height: 20 },
      { do: 'pad', left: 10, top: 0, right: 0, bottom: 0, mode: 'constant', fill: [0] },
    ]
    const chosen = { width: 20, height: 20, steps }
    expect(listsOf(followBoxes(rowsOf([[2, 2, 15, 9]]), chosen, 0))).toEqual([[10, 2, 15, 9]])
    expect(followPoints(rowsOf([[2, 2]]), chosen).count).toBe(0)
  })

  it('is the same after two flips, and always on the canvas', () => {
    const size = fc.integer({ min: 1, max: 50 })
    const coordinate = fc.integer({ min: -80, max: 480 }).map(n => n / 8) // exact in any order of sums
    fc.assert(
      fc.property(size, size, coordinate, coordinate, coordinate, coordinate, (width, height, a, b, c, d) => {
        const [x1, x2] = [Math.min(a, c), Math.max(a, c)]
        const [y1, y2] = [Math.min(b, d), Math.max(b, d)]
        const flip: Step = { do: 'flip', axis: 'horizontal' }
        const boxes = rowsOf([[x1, y1, x2, y2]])
        const none = listsOf(followBoxes(boxes, { width, height, steps: [] }, 0))
        const twice = listsOf(followBoxes(boxes, { width, height, steps: [flip, flip] }, 0))
        expectClose(twice, none)
        for (const [l, t, r, e] of none) {
          expect(Math.min(l, t)).toBeGreaterThanOrEqual(0)
          expect(r <= width && e <= height && r > l && e > t).toBe(true)
        }
      }),
    )
  })
})

describe('the programs', () => {
  const field = (as: 'boxes' | 'points', columns: number): NormalField => ({
    name: as,
    from: [as],
    as,
    apply: [],
    follow: 'image',
    scale: 1,
    minArea: 1,
    layout: { name: as, dtype: 'f32', shape: [columns], form: 'ragged', max: 10, total: 100 },
  })
  const context = (): RowContext => ({
    work: Workspace.alone(),
    random: () => new Random(),
    position: 0,
    chosen: new Map([
      ['image', { width: 20, height: 10, steps: [{ do: 'resize', width: 40, height: 20 } as Step] }],
    ]),
  })
  const read = ({ at, length }: Placed, columns: number, { work }: RowContext) =>
    Array.from(new Float32Array(work.memory.buffer, at, length * columns))

  it('write rows in the dtype of the field', () => {
    const row = context()
    const placed = compileBoxes(field('boxes', 5)).run('[[1, 2, 3, 4, 5], [50, 50, 60, 60, 1]]', row)
    expect(read(placed as Placed, 5, row)).toEqual([2, 4, 6, 8, 5])
    const points = compilePoints(field('points', 2)).run('[[1, 2], [3, 4.5]]', row)
    expect(read(points as Placed, 2, row)).toEqual([2, 4, 6, 9])
  })

  it('leave out labels that the field does not have, and miss those it has', () => {
    const row = context()
    const placed = compileBoxes(field('boxes', 4)).run('[[1, 2, 3, 4, 5]]', row)
    expect(read(placed as Placed, 4, row)).toEqual([2, 4, 6, 8])
    expect(() => compileBoxes(field('boxes', 5)).run('[[1, 2, 3, 4]]', row)).toThrow(/5 numbers a row/)
  })

  it('accept a row without any', () => {
    expect(compileBoxes(field('boxes', 5)).run('[]', context())).toMatchObject({ length: 0 })
  })
})
