/** Whether the units that a source tells of are what an order can be made from. */
import { SourceError } from '../basics/errors.js'
import type { OrderSource } from './single.js'

/**
 * Throws where the units of a source don't begin at row 0, don't ascend, or reach over the border of a run. Looks at the
 * leaves of a source that is made of others. `name` is what a definition calls the source: its author has to mend it.
 */
export function checkUnits(
  name: string,
  source: OrderSource & { readonly leaves?: readonly OrderSource[] },
): void {
  for (const leaf of source.leaves ?? [source]) checkLeaf(name, leaf)
}

function checkLeaf(name: string, { count, runs, unitStarts }: OrderSource): void {
  if (unitStarts === undefined || count === 0) return
  const wrong = (problem: string) =>
    new SourceError(`the source "${name}" tells wrong units: ${problem}. Its \`unitStarts\` must be mended`)
  if (unitStarts[0] !== 0) throw wrong(`the first begins at row ${unitStarts[0]}, not at 0`)
  for (let unit = 1; unit < unitStarts.length; unit++)
    if (!(unitStarts[unit] >= unitStarts[unit - 1] && unitStarts[unit] <= count))
      throw wrong(
        `unit ${unit} begins at row ${unitStarts[unit]}, after ${unitStarts[unit - 1]}, of ${count} rows`,
      )
  let unit = 0
  for (const border of runs) {
    if (border >= count) break
    while (unitStarts[unit + 1] <= border) unit++
    if (unitStarts[unit] !== border)
      throw wrong(
        `unit ${unit} has rows ${unitStarts[unit]} to ${(unitStarts[unit + 1] ?? count) - 1}, ` +
          `but a run begins at row ${border}, and no unit may reach over that`,
      )
  }
}
