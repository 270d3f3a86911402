/** `diagnoseLive`: looks at a trainer that runs in another process. It only reads. */
import { MillraceError } from '../../basics/errors.js'
import { collect } from '../../observe/account/collect.js'
import type { Evidence, RankTimes, StepTimes } from '../../observe/evidence.js'
import { HostSampler } from '../../observe/host/sampler.js'
import { monotonicMs } from '../../spans/clock.js'
import { atWork } from '../experiments.js'
import { type Findings, findings } from '../findings.js'
import { type FoundRun, findRun, sourceOfRun } from './find-run.js'
import { LiveRun } from './live-run.js'
import { otherRanks } from './other-ranks.js'
import { rankTimes } from './ranks.js'

export interface DiagnoseLiveOptions {
  /** The name or number of the feed, where the process has several. */
  ring?: string
  /** How long a step of the trainer takes without workers beside it (ms), where that is known. */
  stepMs?: number
  /** Steps to be looked at, and seconds after which fewer must do. */
  steps: number
  seconds: number
  /** Told what is being done, and how much of it. */
  progress: (what: string, steps: number, of: number) => void
}

/** A shorter window is noise, however many steps it has. */
const LEAST_SECONDS = 3

export async function diagnoseLive(pid: number, options: DiagnoseLiveOptions): Promise<Findings> {
  const found = findRun(pid, options.ring)
  try {
    if (found.trainer.ring.level === 'counters')
      throw new MillraceError(
        `process ${pid} counts only: spans are needed here (MILLRACE_SPANS=spans, which is the default)`,
      )
    return findings(await windowOf(found, options))
  } finally {
    found.close()
  }
}

async function windowOf(
  found: FoundRun,
  { steps, seconds, stepMs, progress }: DiagnoseLiveOptions,
): Promise<Evidence> {
  const { trainer, engine } = found
  const run = new LiveRun(found, done => progress('measuring', done, steps))
  const host = new HostSampler({ engine: engine.pid, trainer: trainer.pid })
  const others = otherRanks(found)
  try {
    const looked = host.look()
    const from = monotonicMs()
    const least = Math.min(LEAST_SECONDS, seconds)
    // The first one may have begun before.
    const seen = await run.measure({ steps: steps + 1, seconds: least, most: seconds })
    const to = monotonicMs()
    const signals = host.between(looked, host.look())
    await run.settled()
    if (seen === 0)
      throw new MillraceError(
        `process ${trainer.pid} took no batch of "${trainer.ring.name}" within ${seconds} s: is it training? ` +
          'Where a step takes longer, give --seconds',
      )
    const facts = { cores: signals.allowed }
    const evidence = collect(run.source, { from, to, host: signals, facts })
    const work = atWork(evidence)
    if (work) evidence.probes.atWork = work
    if (stepMs !== undefined) evidence.probes.ideal = { ms: stepMs, from: 'given', steps: seen }
    const last = evidence.steps.at(-1)
    if (last) evidence.silentMs = Math.max(0, to - endOf(last))
    if (others.length > 0) evidence.ranks = ranksOf(evidence, others, from, to)
    return evidence
  } finally {
    host.close()
    for (const other of others) other.close()
  }
}

function ranksOf(own: Evidence, others: readonly FoundRun[], from: number, to: number): RankTimes[] {
  const all = [own, ...others.map(other => collect(sourceOfRun(other), { from, to }))].map(rankTimes)
  return all.sort((a, b) => a.rank - b.rank)
}

function endOf({ asked, supply, handOver, transfer, compute }: StepTimes): number {
  return asked + supply + handOver + transfer + compute
}
