/**
 * `diagnoseLive`: looks at a trainer that runs in another process. Without control it only reads. With it, workers rest once
 * while a full ring drains, and experiments are made in turns; then all is as it was.
 */
import { MillraceError } from '../../basics/errors.js'
import { account } from '../../observe/account/account.js'
import { collect } from '../../observe/account/collect.js'
import type { Evidence, Probes, RankTimes, StepTimes } from '../../observe/evidence.js'
import { HostSampler } from '../../observe/host/sampler.js'
import { judge } from '../../observe/verdict/judge.js'
import { monotonicMs } from '../../spans/clock.js'
import { applyBest } from '../apply.js'
import { atWork, double, heldSteps, needsDoubling } from '../experiments.js'
import { type Findings, findings } from '../findings.js'
import { Controller } from './controller.js'
import { type FoundRun, findRun, sourceOfRun } from './find-run.js'
import { LiveRun } from './live-run.js'
import { otherRanks } from './other-ranks.js'
import { rankTimes } from './ranks.js'

export interface DiagnoseLiveOptions {
  /** The name or number of the feed, where the process has several. */
  ring?: string
  /** Steps to be looked at, and seconds after which fewer must do. */
  steps: number
  seconds: number
  /** Workers may be held for a moment, and workers and depth be changed for experiments. */
  control: boolean
  /** Applies the best remedy, and measures again. Needs control. */
  apply: boolean
  progress: (what: string, steps: number, of: number) => void
  /** Is given what sets all back as it was: for Ctrl-C. */
  restoring?: (restore: () => void) => void
}

/** Workers rest no longer than this (ms). */
const MOST_REST = 5000
/** How often it is looked whether they have rested enough (ms): what comes after that is waiting for nothing. */
const OFTEN = 20
/** A shorter window is noise, however many steps it has. */
const LEAST_SECONDS = 3

export async function diagnoseLive(pid: number, options: DiagnoseLiveOptions): Promise<Findings> {
  const found = findRun(pid, options.ring)
  let run: LiveRun | undefined
  let kept = false
  try {
    if (found.trainer.ring.level === 'counters')
      throw new MillraceError(
        `process ${pid} counts only: spans are needed here (MILLRACE_SPANS=spans, which is the default)`,
      )
    const controller = options.control ? await takeControl(found) : undefined
    let what = 'measuring'
    run = new LiveRun(found, controller, steps => options.progress(what, steps, options.steps))
    options.restoring?.(() => run?.restoreNow())
    const evidence = await windowOf(run, found, options)
    what = 'experiments'
    try {
      if (controller !== undefined) await experiment(run, controller, evidence)
      const applied = options.apply ? await applyBest(run, judge(evidence)) : undefined
      kept = applied?.kept === true
      return findings(evidence, applied)
    } catch (error) {
      // A trainer that ends meanwhile has been seen all the same.
      if (run.alive) throw error
      return { ...findings(evidence), unfinished: (error as Error).message }
    }
  } finally {
    // Where the engine has ended meanwhile, nothing is left to be set.
    if (!kept) await run?.restore().catch(() => {})
    if (run) run.close()
    else found.close()
  }
}

/** The tuner takes back what it is trying, so that what is set back later is how things stood. */
async function takeControl({ engine }: FoundRun): Promise<Controller> {
  const isOpen = () => engine.spans.rings().some(({ ring, open }) => ring === engine.ring && open)
  const controller = Controller.open(engine.pid, engine.ring, isOpen)
  try {
    await controller.ask({})
    return controller
  } catch (error) {
    controller.close()
    throw error
  }
}

/** What is found is added to the evidence as it comes. */
async function experiment(run: LiveRun, controller: Controller, evidence: Evidence): Promise<void> {
  const held = await holdOnce(run, controller, evidence)
  evidence.probes = { ...evidence.probes, ...held, ...(held.ideal === undefined && { noRest: true }) }
  if (needsDoubling(evidence, account(evidence)))
    evidence.probes = { ...evidence.probes, ...(await double(run)) }
}

async function windowOf(
  run: LiveRun,
  found: Parameters<typeof sourceOfRun>[0],
  { steps, seconds }: DiagnoseLiveOptions,
): Promise<Evidence> {
  const { trainer, engine } = found
  const host = new HostSampler({ engine: engine.pid, trainer: trainer.pid })
  const others = otherRanks(found)
  try {
    const looked = host.look()
    const from = monotonicMs()
    const least = Math.min(LEAST_SECONDS, seconds)
    // The first one may have begun before.
    const { steps: seen } = await run.measure({ steps: steps + 1, seconds: least, most: seconds })
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
    const last = evidence.steps.at(-1)
    if (last) evidence.silentMs = Math.max(0, to - endOf(last))
    if (others.length > 0) evidence.ranks = ranksOf(evidence, others, from, to)
    return evidence
  } finally {
    host.close()
    for (const other of others) other.close()
  }
}

function ranksOf(
  own: Evidence,
  others: readonly Parameters<typeof sourceOfRun>[0][],
  from: number,
  to: number,
): RankTimes[] {
  const all = [own, ...others.map(other => collect(sourceOfRun(other), { from, to }))].map(rankTimes)
  return all.sort((a, b) => a.rank - b.rank)
}

/**
 * Lets workers rest once, while batches that are ready are used up: steps in that time show what one takes without workers. More are
 * ready with twice the depth, where the ring has room for that and is filled: then it has it until the rest is over.
 */
async function holdOnce(run: LiveRun, controller: Controller, evidence: Evidence): Promise<Probes> {
  const { depth, workers } = run.setting()
  const { stepMs } = account(evidence)
  const { atWork: ready } = evidence.probes
  if (workers === 0 || stepMs === 0 || ready === undefined) return {}
  const deeper = await deepen(run, controller, 2 * depth)
  try {
    const held = await rest(run, controller, deeper ? 2 * depth : depth, stepMs)
    // Steps beside workers are never shorter than those without; of a few they may seem so.
    return held ? { ideal: { ...held, ms: Math.min(held.ms, ready.ms), from: 'held' } } : {}
  } finally {
    if (deeper) await controller.ask({ depth })
  }
}

/** Sets the depth, and lets the ring be filled. False: it has no room for that. */
async function deepen(run: LiveRun, controller: Controller, depth: number): Promise<boolean> {
  try {
    await controller.ask({ depth })
  } catch {
    if (run.alive) return false
    throw new MillraceError('the trainer or its engine has ended')
  }
  await run.measure({ steps: 2 * depth, seconds: 0.3, most: 3 })
  return true
}

/** Steps of a rest, while batches that are ready are used up. Undefined: the ring was never full. */
async function rest(
  run: LiveRun,
  controller: Controller,
  depth: number,
  stepMs: number,
): Promise<ReturnType<typeof heldSteps>> {
  const until = monotonicMs() + Math.min(MOST_REST - 100, (depth + 2) * stepMs + 300)
  const { at: from } = await controller.ask({ restUntil: until })
  const drained = Math.min(until, from + depth * stepMs + OFTEN) // by then all that was ready is used up
  await run.measureFrom(from, { steps: depth, seconds: 0, most: (drained - from) / 1000 }, OFTEN)
  const to = Math.min(monotonicMs(), until) // from then on workers are at work again
  await controller.ask({ restUntil: 1 }) // a moment that has passed: they go on
  await run.settled()
  return heldSteps(collect(run.source, { from, to }).steps, depth)
}

function endOf({ asked, supply, handOver, transfer, compute }: StepTimes): number {
  return asked + supply + handOver + transfer + compute
}
