/**
 * `millrace bench FEED`: measures configurations of a feed, each run in a fresh process. The first round finds out which are worth
 * it (grid.ts); the further rounds go through all of them in turn, so that what drifts meanwhile falls on all alike.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../core/basics/errors.js'
import { MAX_DEPTH, MAX_MAKERS } from '../../core/batch/ring.js'
import { normalizeFeed } from '../../core/define/normalize.js'
import type { FeedJson } from '../../core/define/types.js'
import type { OpenOptions } from '../../core/deliver/options.js'
import { DEPTH } from '../../core/deliver/protocol-facts.js'
import { writeWhole } from '../../core/system/files/draft.js'
import { makeFolder } from '../../core/system/files/folder.js'
import { canBind } from '../../core/system/process/affinity.js'
import { autoWorkers, usableCores } from '../../core/system/process/limits.js'
import { writeReport } from '../../observe/report.js'
import { type Configuration, gridHash } from './grid/configuration.js'
import { type Asked, Grid, type Machine } from './grid/grid.js'
import { RunFailed, startRun } from './measure/child.js'
import { steadySeconds } from './measure/stages.js'
import type { Length, RunAnswer, RunTask, RunTimes } from './measure/task.js'
import { reportOf } from './report.js'
import { choose } from './result/choose.js'
import { BENCH_FILE, type BenchFile, type Header, writeBench } from './result/file.js'
import { stampOf } from './result/stamp.js'
import { stepEvents, stepLog } from './result/step-log.js'
import { summarize } from './result/summary.js'

/** A process takes so long to start, open a feed and end (s), about; and a warm-up. */
const START = 1.5
const WARM_UP = 0.8

export interface BenchOptions {
  /** What the feed is called in command lines. */
  feed: string
  /** Length of a step (ms). */
  stepMs: number
  asked: Asked
  rounds: number
  length: Length
  /** The folder for bench.jsonl, steps/ and report.html. */
  out: string
  /** These configurations and no others: those of an earlier file. */
  only?: readonly Configuration[]
  /** Called before the first run: may refuse to go on by throwing. */
  begins: (header: Header, about: { configurations: number; seconds: number }) => void
  /** Called with the number of runs that are done, with the share of the present one, and of all. */
  progress: (done: number, of: number) => void
  /** Called with a sentence about a configuration that could not run. */
  notice: (text: string) => void
  /** Gets a function that ends the present run at once, for Ctrl-C. */
  running: (kill: () => void) => void
}

export async function benchFeed(
  json: FeedJson,
  opening: Pick<OpenOptions, 'root' | 'plugins' | 'timeout' | 'rank' | 'world'>,
  options: BenchOptions,
): Promise<BenchFile & { report: string }> {
  const feed = normalizeFeed(json, opening.root ?? process.cwd(), (opening.plugins ?? []).map(String))
  const header: Header = {
    type: 'bench',
    version: 1,
    time: Date.now(),
    feed: options.feed,
    parameters: parametersOf(options),
    grid: '',
    ...(await stampOf(feed, opening)),
  }
  makeFolder(join(options.out, 'steps'))
  return new Bench({ json, opening, options, header }).go()
}

/** What is needed for a run. */
interface Given {
  json: FeedJson
  opening: RunTask['options']
  options: BenchOptions
  header: Header
}

class Bench {
  private readonly file: BenchFile
  private readonly grid: Grid
  private readonly configurations: Configuration[] = []
  private readonly times = new Map<string, RunTimes>()
  private done = 0
  private readonly path: string

  constructor(private readonly given: Given) {
    const { options, header } = given
    this.file = { header, runs: [], failed: [] }
    this.grid = new Grid(options.asked, thisMachine())
    this.path = join(options.out, BENCH_FILE)
  }

  async go(): Promise<BenchFile & { report: string }> {
    const { options, header } = this.given
    const { only, rounds, begins, out } = options
    const expected = only?.length ?? this.grid.estimate()
    begins(header, { configurations: expected, seconds: expected * rounds * secondsOf(options) })
    sweep(join(out, 'steps'))
    if (only !== undefined) for (const one of only) await this.first(one)
    else for (let next = this.grid.next(); next.length > 0; next = this.grid.next()) await this.look(next)
    for (let round = 2; round <= rounds; round++)
      for (const one of this.configurations) await this.measure(one, round)
    header.grid = gridHash(this.configurations)
    const summaries = summarize(this.file.runs)
    const choice =
      choose(summaries, this.file.runs, { feed: options.feed, stepMs: header.parameters.stepMs }) ?? null
    this.file.summary = { configurations: summaries, choice }
    writeBench(this.path, this.file)
    const report = join(out, 'report.html')
    writeReport(report, reportOf(this.file, this.times))
    return { ...this.file, report }
  }

  /** The first round of some configurations. */
  private async look(list: readonly Configuration[]): Promise<void> {
    for (const one of list) await this.first(one)
  }

  private async first(configuration: Configuration): Promise<void> {
    const answer = await this.measure(configuration, 1)
    if (answer === undefined) {
      // Without these two nothing can be compared.
      if (configuration.role !== 'variation')
        throw new MillraceError(
          `the ${configuration.role} could not run: ${this.file.failed.at(-1)?.message}`,
        )
      return this.grid.note(configuration, null)
    }
    this.configurations.push(configuration)
    const { samplesPerSecond, lost, makers, cacheBytes, au } = answer.figures
    this.grid.note(configuration, {
      samplesPerSecond,
      lost: au === null ? null : lost,
      blocked: makers.blocked,
      cache: cacheBytes,
    })
  }

  private async measure(configuration: Configuration, round: number): Promise<RunAnswer | undefined> {
    const { json, opening, options } = this.given
    const { name } = configuration
    const task: RunTask = {
      json,
      options: opening,
      setting: configuration,
      length: options.length,
      stepMs: options.stepMs,
    }
    const all =
      options.rounds * Math.max(this.configurations.length, options.only?.length ?? this.grid.estimate())
    const child = startRun(task, share => options.progress(this.done + share, all))
    options.running(child.kill)
    try {
      const answer = await child.answer
      this.file.runs.push({ configuration, round, figures: answer.figures })
      this.times.set(name, answer.times)
      this.keep(configuration, round, answer)
      return answer
    } catch (error) {
      if (!(error instanceof RunFailed)) throw error
      this.file.failed.push({ configuration, round, message: error.message })
      options.notice(`${name} could not run: ${error.message}`)
      return undefined
    } finally {
      this.done++
      if (this.done < all) options.progress(this.done, all)
      options.running(() => {})
    }
  }

  /** What is there so far is on the disk: a bench that is ended early has not been for nothing. */
  private keep({ name, ...setting }: Configuration, round: number, { times }: RunAnswer): void {
    const { header, options } = this.given
    const locals = { configuration: name, ...setting, round, ...header.parameters }
    const log = stepLog(stepEvents(times, options.feed, locals))
    writeWhole(join(options.out, 'steps', `${name}.log`), log, false)
    if (this.file.runs.length > 0) writeBench(this.path, this.file)
  }
}

function parametersOf({ stepMs, rounds, length }: BenchOptions): Header['parameters'] {
  const { seconds, steps = null, epochs = null, skipEpoch } = length
  return {
    stepMs,
    rounds,
    seconds,
    steps,
    epochs,
    warmUp: skipEpoch ? 'epoch' : 'steps',
  }
}

/** How long one run takes, about; of given steps at least that of the trainer. */
function secondsOf({ length, stepMs }: BenchOptions): number {
  const { seconds, steps, epochs } = length
  if (steps !== undefined) return START + WARM_UP + (steps * stepMs) / 1000
  return epochs === undefined ? START + WARM_UP + steadySeconds(seconds, stepMs) : Number.NaN
}

/** Takes the logs of an earlier bench away: they would look like this one's. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder))
    if (/^w\d+-d\d+[\w.-]*\.log$/.test(name)) rmSync(join(folder, name), { force: true })
}

function thisMachine(): Machine {
  return {
    cores: usableCores(),
    autoWorkers: autoWorkers(),
    depth: DEPTH,
    mostDepth: MAX_DEPTH,
    mostWorkers: MAX_MAKERS,
    canBind,
  }
}
