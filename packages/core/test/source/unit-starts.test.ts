/** Units that a source tells wrongly are found before an order is made from them. */
import { expect, test } from 'vitest'
import { unitsProblem } from '../../source/plugin-source.js'

const runs = Float64Array.of(0, 100, 100, 250, 300)
const problem = (...rows: number[]) => unitsProblem({ count: 300, runs, unitStarts: Float64Array.from(rows) })

test('units within runs are right, also some that share their rows and some without rows', () => {
  expect(problem(0, 40, 100, 101, 250)).toBeUndefined()
  expect(problem(0, 0, 100, 250, 250, 300, 300)).toBeUndefined()
  expect(unitsProblem({ count: 300, runs })).toBeUndefined()
  expect(
    unitsProblem({ count: 0, runs: new Float64Array(0), unitStarts: new Float64Array(0) }),
  ).toBeUndefined()
})

test('others are named', () => {
  expect(problem(0, 100)).toMatch(/unit 1 of rows 100 to 299, but a run begins at row 250/)
  expect(problem(0, 50, 150, 250)).toMatch(/unit 1 of rows 50 to 149, but a run begins at row 100/)
  expect(problem(5, 100, 250)).toMatch(/begin with 5, not with row 0/)
  expect(problem()).toMatch(/begin with undefined/)
  expect(problem(0, 250, 100)).toMatch(/unit 2 that begins at row 100, after 250/)
  expect(problem(0, 100, 250, 301)).toMatch(/unit 3 that begins at row 301.* 300 rows/)
  expect(problem(0, 0.5)).toMatch(/begins at row 0.5/)
  expect(problem(0, NaN)).toMatch(/begins at row NaN/)
  expect(unitsProblem({ count: 9, runs, unitStarts: [0] as unknown as Float64Array })).toMatch(
    /no Float64Array/,
  )
})
