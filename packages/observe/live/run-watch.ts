/**
 * A run that is watched from its engine's process: one timer, a record a second, for the run log (option `log`) and for what
 * else listens.
 */

import { hostname } from 'node:os'
import { version } from '../../core/basics/version.js'
import type { RunWatch, WatchedRun } from '../../core/deliver/observer.js'
import { monotonicMs } from '../../core/spans/clock.js'
import { SpanFile } from '../../core/spans/file.js'
import type { SpanRead } from '../../core/spans/reader.js'
import { allowedCores } from '../../core/system/process/limits.js'
import { factsOf } from '../account/collect.js'
import {
  SpanFinder,
  type SpanReading,
  type SpanSource,
  type SpansOf,
  spansOfLoader,
} from '../account/source.js'
import { GpuSampler } from '../host/gpu.js'
import type { LogHeader } from '../log/lines.js'
import { LogWriter } from '../log/writer.js'
import { RunWatcher, type Watched } from './watcher.js'

/** A record is made so often. */
const RECORD_EVERY_MS = 1000
/** So many looks a trainer in another process may take to write spans; after that a notice says that its steps are not logged. */
const MOST_LOOKS = 10

export type Listener = (watched: Watched) => void

export class RecordedRun implements RunWatch {
  private watcher: RunWatcher | undefined
  /** The trainer's spans, where it is another process. */
  private readonly late: LateSpans | undefined
  private writer: LogWriter | undefined
  private readonly listeners = new Set<Listener>()
  private readonly timer: NodeJS.Timeout
  private readonly begun = Date.now()
  /** The ring that it began with. */
  private readonly ring: number
  private looks = 0
  private looked = 0

  /** Throws where the log can't be written. */
  constructor(private readonly of: WatchedRun) {
    const { options, trainer, feeding } = of
    const { log } = options
    this.ring = feeding().id
    if (log !== undefined && SpanFile.shared() === undefined)
      options.notice?.('no run log is written: MILLRACE_SPANS=0 turns spans off, which it is made of')
    else if (log !== undefined)
      this.writer = LogWriter.open(log.folder, this.header(), log.since !== undefined)
    this.timer = setInterval(() => this.tick(), RECORD_EVERY_MS)
    this.timer.unref()
    if (trainer !== process.pid) this.late = new LateSpans(trainer, this.ring)
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
    this.late?.close()
  }

  private tick(): void {
    this.looks++
    this.findTrainer()
    // A log of days has longer seconds.
    const now = Date.now()
    const alone = this.listeners.size === 0
    if (alone && this.writer && now - this.looked < RECORD_EVERY_MS * (this.writer.seconds(now) - 0.5)) return
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

  /** Undefined: there are no spans. */
  private watch(): RunWatcher | undefined {
    const reader = SpanFile.shared()?.reader
    if (reader === undefined) return undefined
    const { feeding, trainer, gpu, handed, bad } = this.of
    const { engine } = spansOfLoader(reader, this.ring)
    const source: SpanSource = { trainer: this.late ?? engine, engine }
    return new RunWatcher(source, {
      trainer,
      engine: process.pid,
      ...(!gpu && { gpu }),
      cache: () => feeding().cacheStats,
      ...(handed && { slots: () => feeding().ring.slotsInUse(handed()) }),
      ...(bad && { bad }),
    })
  }

  private findTrainer(): void {
    if (this.late === undefined || this.watcher === undefined || this.looks > MOST_LOOKS) return
    if (this.late.look() || this.looks < MOST_LOOKS) return
    this.of.options.notice?.(
      `the spans of process ${this.of.trainer} can't be read: its run log has no steps`,
    )
  }

  private header(): LogHeader {
    const { feeding, options, hashes, trainer, gpu } = this.of
    const { ring } = this
    const { rank, world, workers, depth, decode, timeout, cacheBytes, observe, log } = options
    const reader = SpanFile.shared()?.reader
    const own = reader?.rings().find(one => one.ring === ring)
    const facts = factsOf(reader && spansOfLoader(reader, ring))
    return {
      version: 1,
      time: log?.since ?? this.begun,
      at: monotonicMs(),
      millrace: version(),
      node: process.version,
      host: hostname(),
      pid: process.pid,
      trainer,
      engine: process.pid,
      ring,
      feed: feeding().name,
      rank,
      world,
      run: runName(),
      hashes,
      rows: facts.rows,
      stepsInEpoch: own?.stepsInEpoch ?? 0,
      options: {
        workers,
        depth,
        decode,
        timeout,
        ...(cacheBytes !== undefined && { cache: cacheBytes }),
        ...(observe !== undefined && { observe }),
        ...(options.device && { device: 'cuda' }),
      },
      cores: allowedCores(),
      gpu: gpu ? gpuName() : null,
    }
  }
}

function gpuName(): string | null {
  const gpu = GpuSampler.open()
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

/**
 * The spans of a trainer in another process. It begins to write them some time after its run is watched: until they are
 * found, nothing is in them; then all that was written for the ring is new, its first step as well.
 */
class LateSpans implements SpansOf {
  ring = 0
  readonly reader: SpanReading = {
    readSince: (cursor, ring) => this.readSince(cursor, ring),
    rings: () => this.found?.rings() ?? [],
    counters: ring => this.found?.counters(ring) ?? [],
  }
  private readonly finder: SpanFinder
  private found: SpanReading | undefined
  private read = false

  constructor(
    trainer: number,
    private readonly engineRing: number,
  ) {
    this.finder = new SpanFinder(trainer)
  }

  /** Looks for them. Returns whether they are there. */
  look(): boolean {
    if (this.found !== undefined) return true
    const found = this.finder.find(this.engineRing)
    if ('unknown' in found) return false
    this.found = found.trainer.reader
    this.ring = found.trainer.ring
    return true
  }

  close(): void {
    this.finder.close()
  }

  private readSince(cursor: number[] | undefined, ring: number | undefined): SpanRead {
    if (this.found === undefined) return { records: [], cursor: [], lost: 0 }
    // The cursor of no spans is that of no lane: from there on, what other feeds had written over would count as lost.
    const from = this.read ? cursor : undefined
    this.read = true
    return this.found.readSince(from, ring)
  }
}
