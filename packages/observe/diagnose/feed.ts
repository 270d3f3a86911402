/** `diagnoseFeed`: opens a feed, feeds a simulated trainer, makes the experiments that decide, and judges what was seen. */
import { MillraceError } from '../../core/basics/errors.js'
import { normalizeFeed } from '../../core/define/normalize.js'
import type { FeedJson } from '../../core/define/types.js'
import type { Loader } from '../../core/deliver/node/loader.js'
import { open } from '../../core/deliver/node/open.js'
import type { OpenOptions } from '../../core/deliver/options.js'
import { made } from '../../core/source/index/place.js'
import { monotonicMs } from '../../core/spans/clock.js'
import { SpanFile } from '../../core/spans/file.js'
import { account } from '../account/account.js'
import { type CollectOptions, collect } from '../account/collect.js'
import { workOf } from '../account/slices.js'
import { type SpanSource, spansOfLoader } from '../account/source.js'
import type { Evidence } from '../evidence.js'
import { GatheredSpans } from '../gather.js'
import { HostSampler } from '../host/sampler.js'
import { lookForAbsent } from './absent.js'
import { measureCached } from './cached.js'
import { atWork, double, needsDoubling } from './experiments.js'
import { FeedRun, type Length } from './feed-run.js'
import { type Findings, findings } from './findings.js'

export interface DiagnoseFeedOptions {
  /** Length of a simulated training step (ms). 0: what limits the feed itself. */
  stepMs: number
  /** Steps to be looked at, and seconds after which fewer must do. */
  steps: number
  seconds: number
  /** Told what is being done, and how much of it. */
  progress: (what: string, steps: number, of: number) => void
}

/** Batches before these are made by code that is not compiled yet. */
const WARM_UP: Length = { steps: 12, seconds: 0.7, most: 8 }
/** A shorter window is noise, however many steps it has. */
const LEAST_SECONDS = 3
/** Of rows that are in memory it need not be asked what they would gain there. */
const ABSENT_SHARE = 0.05
/** So long the same batches may take to be made twice. */
const CACHED_SECONDS = 20
/** Workers hold small spans back for a moment (ms). */
const HELD_MS = 30

/** The feed, how it is opened, and when that began. */
interface Given {
  json: FeedJson
  opening: OpenOptions
  begun: number
  /** How many had to be made. */
  indexes: number
}

export async function diagnoseFeed(
  json: FeedJson,
  opening: OpenOptions,
  options: DiagnoseFeedOptions,
): Promise<Findings> {
  const begun = monotonicMs()
  const indexesBefore = made
  const loader = open(json, { ...opening, tune: 'off', epochs: 1 }) as unknown as Loader
  try {
    await loader.ready
    return await look(loader, { json, opening, begun, indexes: made - indexesBefore }, options)
  } finally {
    await loader.close()
  }
}

async function look(loader: Loader, of: Given, options: DiagnoseFeedOptions): Promise<Findings> {
  const source = sourceOf()
  let what = 'warming up'
  let before = 0
  const run = new FeedRun(loader, options.stepMs, steps => {
    options.progress(what, steps - before, options.steps)
    ;(source.engine.reader as GatheredSpans).lookNow()
  })
  const stage = (name: string, length: Length) => {
    what = name
    return run.measure(length).then(made => {
      before += made
    })
  }
  const { steps, seconds } = options
  await stage('warming up', WARM_UP)
  const ideal = run.ideal()
  await run.measure({ steps: 2, seconds: 0, most: 2 })
  const host = new HostSampler()
  const looked = host.look()
  const from = monotonicMs()
  // A step is over when the next one begins: of the last one that is not seen.
  await stage('measuring', { steps: steps + 1, seconds: Math.min(LEAST_SECONDS, seconds), most: seconds })
  const to = monotonicMs()
  const signals = host.between(looked, host.look())
  host.close()
  await new Promise(resolve => setTimeout(resolve, HELD_MS))
  const evidence = windowOf(source, { from, to, host: signals, probes: { ideal } })
  noteStart(evidence, source, of)
  what = 'experiments'
  if (needsDoubling(evidence, account(evidence))) await experiment(evidence, source, run, loader, of)
  await run.end()
  return findings(evidence)
}

/** What was seen in a window; the run's first batch is kept with it, for what it took to start. */
function windowOf(source: SpanSource, window: CollectOptions): Evidence {
  const evidence = collect(source, window)
  const first = collect(source, { from: 0, to: window.from }).steps.find(step => step.first)
  if (first) evidence.steps.unshift(first)
  const work = atWork(evidence)
  if (work) evidence.probes.atWork = work
  return evidence
}

/**
 * What the start took of the data. The ring is there only when the sources are open: what that took belongs to the first
 * batch, and so does what makers worked on until it was there.
 */
function noteStart(evidence: Evidence, source: SpanSource, { begun, indexes }: Given): void {
  const { facts, steps } = evidence
  const first = steps.find(step => step.first)
  const opening = Math.max(0, (facts.begun ?? begun) - begun)
  facts.begun = begun
  if (first === undefined) return
  const work = new Map<number, number>()
  const to = first.asked + first.supply
  for (const slice of collect(source, { from: 0, to }).makers)
    work.set(slice.maker, (work.get(slice.maker) ?? 0) + workOf(slice.work))
  facts.start = { opening, making: Math.max(0, ...work.values()), indexes }
}

/** Workers are blocked: is it that they wait for too few reads, or for data that are not in memory? */
async function experiment(
  evidence: Evidence,
  source: SpanSource,
  run: FeedRun,
  loader: Loader,
  of: Given,
): Promise<void> {
  const { json, opening } = of
  const state = loader.state()
  const { root = process.cwd(), plugins, workers, affinity, depth, rank, world, cache, timeout } = opening
  try {
    const feed = normalizeFeed(json, root, (plugins ?? []).map(String))
    const { probes, facts } = await lookForAbsent(feed, opening, state)
    Object.assign(evidence.probes, probes)
    Object.assign(evidence.facts, facts)
  } catch {
    // What can't be looked at is unknown, and is said to be.
  }
  Object.assign(evidence.probes, await double(run, source, evidence))
  const { absent } = evidence.probes
  if (absent === undefined || absent.share < ABSENT_SHARE) return
  const options = { root, plugins, workers, affinity, depth, rank, world, cache, timeout }
  const cached = await measureCached({ json, options, state }, CACHED_SECONDS)
  if (cached) evidence.probes.cached = cached
}

/** The spans of the feed that was opened last in this process. */
function sourceOf(): SpanSource {
  const reader = SpanFile.shared()?.reader
  if (reader === undefined)
    throw new MillraceError(
      'nothing can be said of a run without spans: they are turned off (MILLRACE_SPANS=0), or there was no memory for them',
    )
  const ring = reader.rings().findLast(({ open }) => open)
  if (ring === undefined) throw new MillraceError('the feed is not open')
  return spansOfLoader(new GatheredSpans(reader), ring.ring)
}
