/** How many accelerators are sustained: 1, 2, 4, … until one is not fed well enough, then the half between. */
import { BudgetError } from '../../../build/core/basics/errors.js'

/** More of them are not tried on one host. */
const MOST = 256
/** `possible`: the most for which the data have enough steps. */
export async function mostAccelerators(possible, measure) {
  const tried = []
  const attempt = async count => {
    const measured = await measure(count)
    tried.push(measured)
    return measured.sustained
  }
  const limit = Math.min(MOST, possible)
  let good = 0
  let bad = limit + 1
  let stopped = `${limit} accelerators are the most that this much data are enough for: more with --files or --size`
  for (let count = 1; count <= limit; count = Math.min(2 * count, Math.max(limit, count + 1))) {
    try {
      if (!(await attempt(count))) {
        bad = count
        break
      }
      good = count
    } catch (error) {
      if (!(error instanceof BudgetError) || good === 0) throw error
      bad = count
      stopped = `${count} accelerators don't fit into memory: ${error.message}`
      break
    }
    if (count === limit) break
  }
  while (bad - good > 1 && bad <= limit) {
    const middle = Math.floor((good + bad) / 2)
    try {
      if (await attempt(middle)) good = middle
      else bad = middle
    } catch (error) {
      if (!(error instanceof BudgetError)) throw error
      bad = middle
    }
  }
  const limited = good === limit || !tried.some(({ accelerators }) => accelerators === bad)
  return { accelerators: good, tried, ...(limited && { stopped }) }
}
