/** `millrace bench --workload`: how busy are simulated accelerators? */
import { WORKLOAD_OPTIONS, type WorkloadOptions } from '../../../bench/workloads/options.js'
import { type Outcome, UsageError, workersOf } from '../../command.js'
import { notice, Progress } from '../../progress.js'
import { numbersOf } from './numbers.js'

/** Options of a FEED's bench that a workload takes as well. */
const BOTH = ['epochs', 'steps', 'workers', 'depth']

/** What both forms take: one number each, where a workload is measured. */
interface WorkloadValues extends Omit<WorkloadOptions, 'workload' | 'workers' | 'depth'> {
  workload?: string
  workers?: string
  depth?: string
}

export async function workload(
  feed: string | undefined,
  values: WorkloadValues,
  given: ReadonlySet<string>,
): Promise<Outcome> {
  if (feed !== undefined) throw new UsageError('--workload has a feed of its own: leave FEED out')
  const foreign = [...given].find(name => !Object.hasOwn(WORKLOAD_OPTIONS, name) && !BOTH.includes(name))
  if (foreign !== undefined) throw new UsageError(`--${foreign} is for a FEED: --workload does not take it`)
  const { workload = '', workers, depth, ...others } = values
  const { benchWorkload } = await import('../../../bench/workloads/run.js')
  const progress = new Progress('opening', { unit: 'steps' })
  const only = depth === undefined ? [] : numbersOf('depth', depth, 1)
  if (only.length > 1) throw new UsageError('--workload measures one configuration: give one --depth')
  try {
    return await benchWorkload({
      ...{ ...others, workload, depth: only[0], workers: workersOf(workers ?? 'auto'), onNotice: notice },
      onProgress: (done, total, what, unit) => progress.set(done, total, what, unit),
    })
  } finally {
    progress.end()
  }
}
