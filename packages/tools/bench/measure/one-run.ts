/**
 * One run of one configuration: opens the feed, feeds a simulated trainer, leaves the warm-up out, and accounts for the rest.
 * Loops are a `for` an epoch, as a program has them: the first batches of the next epoch are made early.
 */
import { MillraceError } from '../../../core/basics/errors.js'
import type { Loader } from '../../../core/deliver/node/loader.js'
import { open } from '../../../core/deliver/node/open.js'
import type { OpenOptions } from '../../../core/deliver/options.js'
import { monotonicMs, onThisClock } from '../../../core/spans/clock.js'
import { SpanFile } from '../../../core/spans/file.js'
import type { SpanRecord } from '../../../core/spans/reader.js'
import { FIRST_OTHER_LANE } from '../../../core/spans/span-words.js'
import { account } from '../../../observe/account/account.js'
import { collect } from '../../../observe/account/collect.js'
import { isWork } from '../../../observe/account/slices.js'
import { spansOfLoader } from '../../../observe/account/source.js'
import type { Accounting, Evidence } from '../../../observe/evidence.js'
import { GatheredSpans } from '../../../observe/gather.js'
import type { HostLook } from '../../../observe/host/look.js'
import { HostSampler } from '../../../observe/host/sampler.js'
import { conclude } from '../../../observe/verdict/judge.js'
import { sentence } from '../../../observe/verdict/words.js'
import type { Setting } from '../grid/configuration.js'
import { memoryOfProcess } from './memory.js'
import { oversleep, sleep } from './sleep.js'
import { Stages } from './stages.js'
import type { RunAnswer, RunTask, RunTimes } from './task.js'

/** Workers hold small spans back for a moment (ms). */
const HELD = 30
/** Records at most: of a longer run the account is that of its last part, and the timeline that of its first. */
const MOST_RECORDS = 150_000
/** Steps whose times are kept, for per-step records. */
const MOST_STEPS = 20_000

/** Pauses that are shorter don't divide a worker's work on a batch. */
const PAUSE_MS = 1

/** What is kept when the steady state begins. */
interface Mark {
  at: number
  look: HostLook
  bytes: number
  samples: number
  step: number
}

export async function runOnce(task: RunTask, progress: (share: number) => void): Promise<RunAnswer> {
  const over = oversleep(task.stepMs)
  const begun = performance.now()
  const loader = open(task.json, openingOf(task)) as unknown as Loader
  try {
    await loader.ready
    return await new Run(task, loader, begun, over, progress).go()
  } finally {
    await loader.close()
  }
}

/** Options as `open` takes them. Binding is named only where it is wanted: this Millrace may not have it. */
function openingOf({ options, setting }: RunTask): OpenOptions {
  const { workers, depth, cache } = setting
  return {
    ...options,
    workers,
    depth,
    tune: 'off',
    allowCode: true,
    notice: () => {}, // the verb has refused what may not run, and has given notices
    ...(cache !== null && { cache }),
    ...bindingOf(setting),
  }
}

function bindingOf({ affinity }: Setting): object {
  return affinity === 'off' ? {} : { affinity }
}

class Run {
  private readonly gathered: GatheredSpans
  private readonly ring: number
  private readonly host = new HostSampler({ gpu: false }) // the trainer is simulated
  private readonly stages: Stages
  private readonly ready = performance.now()
  private readonly times: Pick<RunTimes, 'epochs' | 'steps'> = { epochs: [], steps: [] }
  private readonly waits: number[] = []
  private made: RunTimes['batches'] | undefined
  private step = 0
  private samples = 0
  private computed = 0
  private nominal = 0
  private mark: Mark | undefined

  constructor(
    private readonly task: RunTask,
    private readonly loader: Loader,
    private readonly begun: number,
    private readonly over: number,
    private readonly progress: (share: number) => void,
  ) {
    const reader = SpanFile.shared()?.reader
    const ring = reader?.rings().findLast(one => one.open)
    if (reader === undefined || ring === undefined)
      throw new MillraceError(
        'nothing can be said of a run without spans: they are turned off (MILLRACE_SPANS=0), or there was no memory for them',
      )
    this.gathered = new GatheredSpans(reader)
    this.ring = ring.ring
    this.stages = new Stages(task.length, loader.length)
  }

  async go(): Promise<RunAnswer> {
    let ended = false
    for (let epoch = 0; !ended; epoch++) ended = await this.epoch(epoch)
    const to = monotonicMs()
    const memory = memoryOfProcess()
    const mark = this.mark
    const look = this.host.look()
    this.host.close()
    if (mark === undefined || this.step - mark.step < 1)
      throw new MillraceError(
        'the run ended before its warm-up did: give more --steps, --epochs or --seconds, or less --warm-up',
      )
    const stats = this.loader.stats()
    await new Promise(resolve => setTimeout(resolve, HELD))
    const evidence = this.evidenceOf(mark, to, look)
    const accounting = account(evidence)
    const seconds = (to - mark.at) / 1000
    const samples = this.samples - mark.samples
    const cpuMs = look.engineMs + look.trainerMs - mark.look.engineMs - mark.look.trainerMs
    const diagnosis = conclude(evidence, accounting)
    const trains = this.nominal > 0
    return {
      figures: {
        ...pick(accounting),
        steps: this.step - mark.step,
        samples,
        seconds,
        samplesPerSecond: samples / seconds,
        bytesPerSecond: (stats.bytesRead - mark.bytes) / seconds,
        stepMs: (1000 * seconds) / (this.step - mark.step),
        waits: histogram(this.waits),
        au: trains
          ? { dlio: this.computed / 1000 / seconds, nominal: Math.min(1, this.nominal / 1000 / seconds) }
          : null,
        cpuSecondsPer1000: samples > 0 && cpuMs > 0 ? cpuMs / samples : null,
        memory,
        firstBatchMs: stats.firstBatchMs,
        openMs: stats.openMs,
        warmUp: { steps: mark.step, seconds: (mark.at - monotonicMs(this.begun)) / 1000 },
        epochs: this.times.epochs.length,
        verdict: diagnosis.verdict,
        second: diagnosis.second,
        sentence: sentence(diagnosis),
        slotBytes: stats.slotBytes,
        cacheBytes: stats.cache?.capacity ?? null,
        otherCores: evidence.host?.otherCores ?? null,
        bad: stats.bad.count,
        decoders: stats.decoders,
        hashes: this.loader.hashes,
      },
      times: this.timesOf(mark),
    }
  }

  /** One epoch, or what is left to do of it. Returns whether the run is over. */
  private async epoch(epoch: number): Promise<boolean> {
    const { loader, task, stages } = this
    const start = performance.now()
    this.times.epochs.push({ epoch, start: start - this.begun, end: Number.NaN })
    let asked = start
    let taken = 0
    for await (const batch of loader) {
      const got = performance.now()
      sleep(task.stepMs)
      const done = performance.now()
      this.note(asked, got, done, (batch as { samples: number }).samples)
      taken++
      asked = performance.now()
      stages.stepped(asked)
      if (stages.steady && this.mark === undefined) this.begin()
      if (stages.over) break
    }
    const last = this.times.epochs[epoch]
    last.end = performance.now() - this.begun
    if (taken === 0)
      throw new MillraceError('the feed has no batches: its data are less than a batch, and last is "drop"')
    stages.epochEnded(performance.now())
    if (stages.steady && this.mark === undefined) this.begin()
    return stages.over
  }

  private note(asked: number, got: number, done: number, samples: number): void {
    this.step++
    this.samples += samples
    if (this.times.steps.length < MOST_STEPS)
      this.times.steps.push([asked - this.begun, got - this.begun, done - this.begun])
    if (this.mark !== undefined) {
      this.waits.push(got - asked)
      this.computed += done - got
      this.nominal += this.task.stepMs
    }
    this.gathered.lookNow()
    this.progress(this.stages.share)
  }

  /** The steady state begins. */
  private begin(): void {
    const { step, samples } = this
    const bytes = this.loader.stats().bytesRead
    this.mark = { at: monotonicMs(), look: this.host.look(), bytes, samples, step }
  }

  private evidenceOf(mark: Mark, to: number, look: HostLook): Evidence {
    const { records } = this.gathered.readSince()
    this.made = madeBatches(records.slice(0, MOST_RECORDS), this.ring, this.begun)
    // The latest records tell of the steady state as well as all of them.
    if (records.length > MOST_RECORDS) {
      const starts = records.map(({ start }) => start).sort((a, b) => a - b)
      this.gathered.forget(starts[starts.length - MOST_RECORDS])
    }
    const source = spansOfLoader(this.gathered, this.ring)
    const steps = this.step - mark.step
    const idealMs = this.nominal > 0 ? this.nominal / steps + this.over : 0
    const evidence = collect(source, {
      from: mark.at,
      to,
      host: this.host.between(mark.look, look),
      probes: { ideal: { ms: idealMs, from: 'given', steps } },
      facts: { begun: monotonicMs(this.begun) },
    })
    evidence.waits = this.waits.map(ms => [ms, 1])
    return evidence
  }

  private timesOf({ step }: Mark): RunTimes {
    const { begun } = this
    return {
      pid: process.pid,
      begun: performance.timeOrigin + begun,
      end: performance.now() - begun,
      setup: [0, this.ready - begun],
      ...this.times,
      batches: this.made ?? [],
      steady: step,
    }
  }
}

function pick({ idealMs, lost, parts, intervals, wait, epochGapMs, makers }: Accounting) {
  const { running, queued, blocked, noSlot } = makers
  return { idealMs, lost, parts, intervals, wait, epochGapMs, makers: { running, queued, blocked, noSlot } }
}

/** Waits by two digits that count: some hundred pairs, however many steps there were. */
function histogram(waits: readonly number[]): [number, number][] {
  const found = new Map<number, number>()
  for (const wait of waits) {
    const rounded = Number(Math.max(0.001, wait).toPrecision(2))
    found.set(rounded, (found.get(rounded) ?? 0) + 1)
  }
  return [...found].sort(([a], [b]) => a - b)
}

/** Which worker worked on which batch, and when. `begun` is the beginning of the run, as `performance.now()` has it. */
function madeBatches(records: readonly SpanRecord[], ring: number, begun: number): RunTimes['batches'] {
  const open = new Map<number, RunTimes['batches'][0]>()
  const found: RunTimes['batches'] = []
  const work = records.filter(one => one.lane.kind === 'worker' && one.ring === ring && isWork(one.kind))
  for (const { lane, batch, start, duration } of work.sort((a, b) => a.start - b.start)) {
    const from = onThisClock(start) - begun
    const to = from + duration
    const last = open.get(lane.lane)
    if (last !== undefined && last.batch === batch && from <= last.end + PAUSE_MS) {
      last.end = Math.max(last.end, to)
      continue
    }
    const worker = lane.lane < FIRST_OTHER_LANE ? lane.number : 0
    const made = { batch, worker, start: from, end: to }
    open.set(lane.lane, made)
    found.push(made)
  }
  return found
}
