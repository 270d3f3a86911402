/** `diagnoseLive`: looks at a trainer that runs in another process. It only reads. */
import { MillraceError } from '../../../core/basics/errors.js'
import { monotonicMs } from '../../../core/spans/clock.js'
import { account } from '../../account/account.js'
import { collect } from '../../account/collect.js'
import { endOf } from '../../account/steps.js'
import type { Evidence, RankTimes } from '../../evidence.js'
import { GatheredSpans } from '../../gather.js'
import { HostSampler } from '../../host/sampler.js'
import { atWork } from '../experiments.js'
import { type Findings, findings } from '../findings.js'
import { checkAlive, type FoundRun, findRun, sourceOfRun } from './find-run.js'
import { otherRanks } from './other-ranks.js'

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
/** The run is looked at so often (ms), and records may be held back so long before they can be read. */
const LOOK_EVERY_MS = 200
const HELD_MS = 60

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

async function windowOf(found: FoundRun, options: DiagnoseLiveOptions): Promise<Evidence> {
  const { trainer, engine } = found
  const { seconds, stepMs } = options
  const host = new HostSampler({ engine: engine.pid, trainer: trainer.pid })
  const others = otherRanks(found)
  try {
    const looked = host.look()
    const from = monotonicMs()
    const { source, seen, to, settle } = await watch(found, from, options)
    const signals = host.between(looked, host.look())
    await settle()
    if (seen === 0)
      throw new MillraceError(
        `process ${trainer.pid} took no batch of "${trainer.ring.name}" within ${seconds} s: is it training? ` +
          'Where a step takes longer, look for more seconds',
      )
    const facts = { cores: signals.allowed }
    const evidence = collect(source, { from, to, host: signals, facts })
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

/** Gathers the run's spans until enough steps were seen. `settle`: waits until what was done by then can be read. */
async function watch(found: FoundRun, from: number, { steps, seconds, progress }: DiagnoseLiveOptions) {
  const { trainer, engine } = sourceOfRun(found)
  const made = new GatheredSpans(engine.reader)
  const taken = trainer.reader === engine.reader ? made : new GatheredSpans(trainer.reader)
  const source = { trainer: { ...trainer, reader: taken }, engine: { ...engine, reader: made } }
  const newSteps = (): number => {
    if (made !== taken) made.look()
    const own = taken.look().filter(({ ring, lane }) => ring === trainer.ring && lane.kind === 'consumer')
    const begun = own.filter(({ kind, start }) => kind === 'step' && start >= from)
    return begun.reduce((sum, { joined }) => sum + Math.max(1, joined), 0)
  }
  const settle = async (): Promise<void> => {
    await sleep(HELD_MS)
    newSteps()
  }
  for (let seen = 0; ; ) {
    seen += newSteps()
    progress('measuring', seen, steps)
    const passed = (monotonicMs() - from) / 1000
    // The first one may have begun before.
    if (passed >= seconds || (seen > steps && passed >= LEAST_SECONDS))
      return { source, seen, to: monotonicMs(), settle }
    checkAlive(found.engine.pid, 'the engine')
    checkAlive(found.trainer.pid, 'the trainer')
    await sleep(LOOK_EVERY_MS)
  }
}

function ranksOf(own: Evidence, others: readonly FoundRun[], from: number, to: number): RankTimes[] {
  const all = [own, ...others.map(other => collect(sourceOfRun(other), { from, to }))].map(rankTimes)
  return all.sort((a, b) => a.rank - b.rank)
}

/** One rank, as it is compared with the others: the slowest one holds all of them up. */
function rankTimes(evidence: Evidence): RankTimes {
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

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
