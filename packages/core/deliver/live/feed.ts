/**
 * An open feed that is watched from its engine's process: one timer, a record a second, for the run log (option `log`) and
 * for what else listens. Loaded when one of them is wanted.
 */

import { hostname } from 'node:os'
import { factsOf } from '../../../observe/account/collect.js'
import type { SpanSource, SpansOf } from '../../../observe/account/source.js'
import { GpuSampler } from '../../../observe/host/gpu.js'
import { RunWatcher, type Watched, type WatcherOptions } from '../../../observe/live/watcher.js'
import type { LogHeader } from '../../../observe/log/lines.js'
import { LogWriter } from '../../../observe/log/writer.js'
import { version } from '../../basics/version.js'
import { monotonicMs } from '../../spans/clock.js'
import { SpanFile } from '../../spans/file.js'
import { allowedCores } from '../../system/process/limits.js'
import type { LogOptions, OpenedOptions } from '../options.js'
import { LateSpans } from './late-spans.js'

/** How often it is looked (ms). */
const OFTEN = 1000
/** So many looks a trainer in another process may take to write spans; after that a notice says that its steps are not logged. */
const PATIENCE = 10

export interface LiveOf extends Omit<WatcherOptions, 'engine' | 'idealMs' | 'past'> {
  /** The ring of this process. */
  ring: number
  /** What spans call it. */
  feed: string
  options: OpenedOptions
  hashes: LogHeader['hashes']
  log?: LogOptions
  /** The trainer's spans, in another process. Undefined: they are not there yet, or can't be read. */
  trainerSpans?: () => SpansOf | undefined
  /** Lets go of them. */
  onClose?: () => void
}

/** Told of each second. */
export type Listener = (watched: Watched) => void

export class LiveFeed {
  private watcher: RunWatcher | undefined
  /** The trainer's spans, where it is another process. */
  private readonly late: LateSpans | undefined
  private writer: LogWriter | undefined
  private readonly listeners = new Set<Listener>()
  private readonly timer: NodeJS.Timeout
  private readonly begun = Date.now()
  private looks = 0
  private looked = 0

  /** Throws where the log can't be written. */
  constructor(private readonly of: LiveOf) {
    const { log, options } = of
    if (log !== undefined && SpanFile.shared() === undefined)
      options.notice?.('no run log is written: MILLRACE_SPANS=0 turns spans off, which it is made of')
    else if (log !== undefined)
      this.writer = LogWriter.open(log.folder, this.header(), log.since !== undefined)
    this.timer = setInterval(() => this.tick(), OFTEN)
    this.timer.unref()
    this.late = of.trainerSpans && new LateSpans(of.trainerSpans)
    this.watcher = this.watch()
  }

  /** The file of the run log. */
  get logFile(): string | undefined {
    return this.writer?.path
  }

  /** `idealMs`: how long a step takes with its batch at hand, where that is known. */
  listen(listener: Listener, idealMs?: number): () => void {
    if (idealMs !== undefined && this.watcher) this.watcher.idealMs = idealMs
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** The feed is closed: what happened since the last second is told as well. */
  close(reason: string): void {
    clearInterval(this.timer)
    this.late?.look()
    if (this.watcher !== undefined) this.tell(this.watcher.look())
    this.watcher?.close()
    this.watcher = undefined
    this.write({ end: { time: Date.now(), reason } })
    this.writer?.close()
    this.writer = undefined
    this.of.onClose?.()
  }

  private tick(): void {
    this.looks++
    this.findTrainer()
    // A log of days has longer seconds.
    const now = Date.now()
    const alone = this.listeners.size === 0
    if (alone && this.writer && now - this.looked < OFTEN * (this.writer.seconds(now) - 0.5)) return
    this.looked = now
    if (this.watcher !== undefined) this.tell(this.watcher.look())
  }

  private tell(watched: Watched): void {
    const { record } = watched
    if (record.seconds > 0) this.write(record)
    for (const listener of this.listeners) listener(watched)
  }

  private write(line: Parameters<LogWriter['write']>[0]): void {
    try {
      this.writer?.write(line)
    } catch (error) {
      this.writer = undefined
      this.of.options.notice?.((error as Error).message)
    }
  }

  /** Begins to watch: the trainer's spans are not there yet where it is another process. */
  private watch(): RunWatcher | undefined {
    const reader = SpanFile.shared()?.reader
    if (reader === undefined) return undefined
    const { ring, trainer, gpu, facts, cache, slots, bad } = this.of
    const engine = { reader, ring }
    const source: SpanSource = { trainer: this.late ?? engine, engine }
    return new RunWatcher(source, { trainer, engine: process.pid, gpu, facts, cache, slots, bad })
  }

  private findTrainer(): void {
    if (this.late === undefined || this.watcher === undefined || this.looks > PATIENCE) return
    if (this.late.look() || this.looks < PATIENCE) return
    this.of.options.notice?.(
      `the spans of process ${this.of.trainer} can't be read: its run log has no steps`,
    )
  }

  private header(): LogHeader {
    const { ring, feed, options, hashes, log, trainer } = this.of
    const { rank, world, workers, depth, decode, timeout, cacheBytes, observe } = options
    const reader = SpanFile.shared()?.reader
    const own = reader?.rings().find(one => one.ring === ring)
    const facts = factsOf(reader && { trainer: { reader, ring }, engine: { reader, ring } })
    return {
      version: 1,
      ...{ time: log?.since ?? this.begun, at: monotonicMs(), millrace: version(), node: process.version },
      ...{ host: hostname(), pid: process.pid, trainer, engine: process.pid, ring },
      ...{ feed, rank, world, run: runName(), hashes, rows: facts.rows },
      stepsInEpoch: own?.stepsInEpoch ?? 0,
      options: {
        ...{ workers, depth, decode, timeout },
        ...(cacheBytes !== undefined && { cache: cacheBytes }),
        ...(observe !== undefined && { observe }),
        ...(options.device && { device: 'cuda' }),
      },
      cores: allowedCores(),
      gpu: this.of.gpu === false ? null : gpuName(this.of.gpu),
    }
  }
}

function gpuName(index: number | undefined): string | null {
  const gpu = GpuSampler.open(index)
  const name = gpu?.name ?? null
  gpu?.close()
  return name
}

/** Launchers tell all ranks of a run the same. */
const NAMED_BY = ['TORCHELASTIC_RUN_ID', 'MASTER_ADDR', 'MASTER_PORT', 'SLURM_JOB_ID', 'SLURM_STEP_ID']

function runName(): string | null {
  const reported = NAMED_BY.flatMap(name => (process.env[name] ? [`${name}=${process.env[name]}`] : []))
  return reported.length === 0 ? null : reported.join(' ')
}
