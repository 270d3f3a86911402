/** One rank of a run, as it is compared with the others: the slowest one holds all of them up. */
import { account } from '../../observe/account/account.js'
import type { Evidence, RankTimes } from '../../observe/evidence.js'

export function rankTimes(evidence: Evidence): RankTimes {
  const { steps, makers: shares, stepMs } = account(evidence)
  const own = evidence.steps.filter(step => !step.first)
  const count = own.reduce((sum, step) => sum + step.count, 0)
  const mean = (of: 'supply' | 'compute') =>
    count === 0 ? 0 : own.reduce((sum, step) => sum + step[of], 0) / count
  const busy = 1 - shares.noSlot
  const rows = evidence.makers.reduce((sum, slice) => sum + slice.rows, 0)
  const seconds = (evidence.to - evidence.from) / 1000
  return {
    rank: evidence.facts.rank,
    steps,
    supplyMs: mean('supply'),
    computeMs: mean('compute'),
    // What they made, had they been at work all the time.
    capacity: rows > 0 && busy > 0 && seconds > 0 && stepMs > 0 ? rows / seconds / busy : null,
  }
}
