/** Traces, to be compared: the steps of the longest loop in each, in blocks. */
import { MillraceError } from '../../basics/errors.js'
import { account } from '../../observe/account/account.js'
import { partsOf, sumSteps, waitsOf } from '../../observe/account/parts.js'
import { supplyShares } from '../../observe/account/supply.js'
import type { Evidence } from '../../observe/evidence.js'
import { type TraceAccount, TraceAccounts } from '../../observe/trace/read/accounts.js'
import { readTrace } from '../../observe/trace/read/file.js'
import { type Block, fewer, partsInMs } from './blocks.js'

const MOST_BLOCKS = 20

export interface TracedRun {
  account: TraceAccount
  workers: number
  depth: number
  blocks: Block[]
}

export async function readTraced(path: string): Promise<TracedRun> {
  const accounts = new TraceAccounts()
  await readTrace(path, accounts.take)
  const [longest] = accounts.loops()
  if (longest === undefined)
    throw new MillraceError(`${path} shows no trainer that takes batches: nothing can be compared`)
  const { evidence } = longest
  const { workers, depth } = evidence.facts
  return { account: longest.account, workers, depth, blocks: blocksOf(evidence) }
}

/** Each step as a block, then joined. The first batch of the run is left out. */
function blocksOf(evidence: Evidence): Block[] {
  const { idealMs } = account(evidence)
  const steps = evidence.steps.filter(step => !step.first).sort((a, b) => a.asked - b.asked)
  const supply = supplyShares(steps, evidence.makers)
  const blocks = steps.map((step, i): Block => {
    const sums = sumSteps([step], [supply[i]])
    const ms = waitsOf(sums) + sums.compute
    return { steps: sums.count, samples: sums.samples, ms, parts: partsInMs(partsOf(sums, idealMs), ms) }
  })
  return fewer(blocks, MOST_BLOCKS)
}
