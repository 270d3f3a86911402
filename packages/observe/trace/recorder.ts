/**
 * Writes the trace of running processes, of this one or of others, which it only reads. It holds the memory of their spans:
 * what a process wrote before it was killed is still written to the trace.
 */
import { type AttachedSpans, attachSpans, spanWriters } from '../../core/spans/attach.js'
import { monotonicMs } from '../../core/spans/clock.js'
import { readNotes } from '../../core/spans/notes.js'
import type { SpanCursor } from '../../core/spans/reader.js'
import { usableCores } from '../../core/system/process/limits.js'
import { usage } from '../../core/system/process/proc.js'
import type { TunerDecision } from '../live/record.js'
import { TraceFile } from './file.js'
import { descendants, enginesOf, isAlive, programOf } from './processes.js'
import { Timeline } from './timeline.js'

/** Of a run that went on before, what lies at most so far back is part of the trace (ms). */
const PAST = 10_000
/** Other processes of the run are looked for this often (ms). */
const LOOK = 2000

export interface RecorderOptions {
  path: string
  /** Bytes of the file at the most. */
  limit?: number
}

interface Source {
  spans: AttachedSpans
  cursor: SpanCursor | undefined
  alive: boolean
  /** When it was last looked at, and its CPU time then. */
  looked: number
  cpuMs: number
  /** The latest note that was read. */
  noted: number
}

export class Recorder {
  private readonly sources = new Map<number, Source>()
  private readonly file: TraceFile
  private readonly timeline: Timeline
  private looked = -Infinity
  private closed = false
  records = 0

  /** Of these processes, and those that belong to them. */
  constructor(
    private readonly pids: ReadonlySet<number>,
    options: RecorderOptions,
  ) {
    const base = Math.floor(monotonicMs() - PAST)
    this.timeline = new Timeline(base, pid => `${programOf(pid)} (${pid})`, usableCores())
    const realtime = Date.now() - (monotonicMs() - base)
    this.file = new TraceFile(options.path, { base, realtime }, options.limit)
  }

  /** The processes whose spans are recorded. */
  get attached(): number[] {
    return [...this.sources.keys()]
  }

  get bytes(): number {
    return this.file.bytes
  }

  /** Records that were written over before they could be read. */
  get lost(): number {
    return this.file.lost
  }

  get full(): boolean {
    return this.file.full
  }

  /** Whether any process that was named is alive. An engine may outlive its trainer, and work for others. */
  get alive(): boolean {
    return [...this.pids].some(isAlive)
  }

  /** Reads what was written since the last call, and writes it to the file. Called at least once a second. */
  look(): void {
    const now = monotonicMs()
    if (now - this.looked >= LOOK) {
      this.looked = now
      this.find()
    }
    for (const [pid, source] of this.sources) this.read(pid, source)
    this.file.write(this.timeline.take(false))
  }

  /** Writes the rest, and ends the file. */
  end(): void {
    if (this.closed) return
    this.closed = true
    try {
      this.find()
      for (const [pid, source] of this.sources) this.read(pid, source)
      this.file.write(this.timeline.take(true))
    } finally {
      this.file.close()
      for (const { spans } of this.sources.values()) spans.close()
    }
  }

  private find(): void {
    for (const pid of [...this.pids, ...descendants(this.pids)]) this.attach(pid)
    // An engine that was named: its trainers are elsewhere.
    const engines = new Set([...this.pids].filter(pid => this.sources.has(pid)))
    if (engines.size > 0) for (const { pid } of spanWriters()) this.attachTrainer(pid, engines)
    for (const [pid, { spans }] of this.sources)
      for (const engine of enginesOf(pid, spans.rings())) this.attach(engine)
  }

  private attach(pid: number): void {
    if (this.sources.has(pid)) return
    try {
      const spans = attachSpans(pid)
      this.sources.set(pid, { spans, cursor: undefined, alive: true, looked: Number.NaN, cpuMs: 0, noted: 0 })
    } catch {
      // It has opened no feed yet, or is not one of ours.
    }
  }

  private attachTrainer(pid: number, engines: ReadonlySet<number>): void {
    if (this.sources.has(pid)) return
    try {
      const spans = attachSpans(pid)
      const belongs = enginesOf(pid, spans.rings()).some(engine => engines.has(engine))
      spans.close()
      if (belongs) this.attach(pid)
    } catch {
      // It has ended meanwhile.
    }
  }

  private read(pid: number, source: Source): void {
    if (!source.alive) return
    source.alive = isAlive(pid) // asked before the last records are read
    const { records, cursor, lost } = source.spans.readSince(source.cursor)
    // What was written over before the recorder came was never its own.
    if (source.cursor !== undefined) this.file.lost += lost
    source.cursor = cursor
    this.records += records.length
    this.timeline.add(pid, records, source.spans.rings())
    this.decisions(pid, source)
    this.usage(pid, source)
  }

  /** What the tuner of the process has decided since the last look. */
  private decisions(pid: number, source: Source): void {
    for (const note of readNotes(pid) ?? []) {
      if (note.number <= source.noted || note.kind !== 'tuner') continue
      source.noted = note.number
      this.timeline.decided(pid, note.decision as TunerDecision)
    }
  }

  private usage(pid: number, source: Source): void {
    const used = usage(pid)
    if (used === undefined) return
    const usedMs = 1000 * used.seconds
    const now = monotonicMs()
    const { looked, cpuMs } = source
    source.looked = now
    source.cpuMs = usedMs
    this.timeline.counter(pid, 'memory', now, { bytes: used.bytes })
    if (now > looked)
      this.timeline.counter(pid, 'cores in use', looked, {
        cores: round((usedMs - cpuMs) / (now - looked)),
      })
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
