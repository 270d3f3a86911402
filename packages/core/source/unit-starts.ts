/** Whether the units that a source tells of are what an order can be made from. */

/** What a source says of its rows. */
interface Rows {
  readonly count: number
  readonly runs: Float64Array
  /** First row of each unit, ascending from 0. Equal starts: units that share their rows. */
  readonly unitStarts?: Float64Array
}

/** What is wrong with the units of a source: they must begin at row 0, ascend, and lie within runs. Undefined: nothing. */
export function unitsProblem({ count, runs, unitStarts }: Rows): string | undefined {
  if (unitStarts === undefined) return undefined
  if (!(unitStarts instanceof Float64Array)) return 'has unitStarts that are no Float64Array'
  if (count === 0) return undefined
  if (unitStarts[0] !== 0) return `has unitStarts that begin with ${unitStarts[0]}, not with row 0`
  for (let unit = 1; unit < unitStarts.length; unit++) {
    const start = unitStarts[unit]
    if (!(start >= unitStarts[unit - 1] && start <= count && Number.isInteger(start)))
      return `has a unit ${unit} that begins at row ${start}, after ${unitStarts[unit - 1]}, of ${count} rows`
  }
  let unit = 0
  for (const border of runs) {
    if (border >= count) break
    while (unitStarts[unit + 1] <= border) unit++
    if (unitStarts[unit] === border) continue
    const last = (unitStarts[unit + 1] ?? count) - 1
    return `has a unit ${unit} of rows ${unitStarts[unit]} to ${last}, but a run begins at row ${border}: no unit may reach over that`
  }
  return undefined
}
