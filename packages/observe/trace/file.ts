/**
 * The file of a trace. It grows while the run goes on: what is written stays readable if the run, or the recorder, is killed.
 * Compressed, each piece is a gzip member of its own; one after the other they are a valid file.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { gzipSync } from 'node:zlib'
import { ChromeEncoder, type TraceEncoder } from './chrome.js'
import { DFTracerEncoder } from './dftracer.js'
import type { ClockPair, TraceEvent } from './events.js'

/** Where the bytes of a trace go. */
export interface TraceSink {
  write(data: Uint8Array): void
  close(): void
}

/** Quick rather than small. */
const LEVEL = 3
/** Events of a piece where the file has a limit: it ends at most about so many before that. */
const PIECE = 100
/** Bytes that are kept free below the limit: for the end, and for what it says of missing records. */
const END = 512

/** Pieces of at least so many events. All parts of an arrow, which follow each other, stay in one piece. */
function* piecesOf(events: readonly TraceEvent[]): Generator<readonly TraceEvent[]> {
  for (let from = 0; from < events.length; ) {
    let to = Math.min(events.length, from + PIECE)
    while (to < events.length && within(events[to])) to++
    yield events.slice(from, to)
    from = to
  }
}

function within(event: TraceEvent): boolean {
  return event.type === 'flow' && event.at !== 'start'
}

export class TraceFile {
  /** Bytes written so far. */
  bytes = 0
  /** Whether what came last went beyond the limit: it is left out, and no more events are taken. */
  full = false
  /** Records that are missing from the trace. Its end says so. */
  lost = 0
  private toldLost = 0
  private readonly encoder: TraceEncoder
  private readonly packed: boolean

  /** `path` says the format: .pfw is DFTracer's, all else Chrome's; .gz is compressed. */
  constructor(
    readonly path: string,
    clock: ClockPair,
    private readonly limit = Number.POSITIVE_INFINITY,
    private readonly sink: TraceSink = growing(path),
  ) {
    this.packed = path.endsWith('.gz')
    this.encoder = isDFTracer(path) ? new DFTracerEncoder(hostname()) : new ChromeEncoder()
    this.append(this.encoder.begin(clock))
  }

  write(events: readonly TraceEvent[]): void {
    if (this.limit === Number.POSITIVE_INFINITY) this.append(this.encoder.events(events))
    else for (const piece of piecesOf(events)) if (!this.full) this.writeWithin(piece)
    // A recorder that is killed later has said by then what it had missed.
    if (this.lost > this.toldLost && !this.full) this.tellLost()
  }

  close(): void {
    try {
      this.append((this.lost > this.toldLost || this.full ? this.missing() : '') + this.encoder.end())
    } finally {
      this.sink.close()
    }
  }

  private tellLost(): void {
    const data = this.pack(this.missing())
    if (this.bytes + data.length + END > this.limit) return // the end says it
    this.put(data)
    this.toldLost = this.lost
  }

  private missing(): string {
    return this.encoder.events([{ type: 'missing', lost: this.lost, full: this.full }])
  }

  /** Writes a piece if the file stays within its limit, its end included. */
  private writeWithin(events: readonly TraceEvent[]): void {
    const data = this.pack(this.encoder.events(events))
    this.full = this.bytes + data.length + END > this.limit
    if (!this.full) this.put(data)
  }

  private append(text: string): void {
    this.put(this.pack(text))
  }

  private pack(text: string): Buffer {
    const plain = Buffer.from(text)
    return this.packed && plain.length > 0 ? gzipSync(plain, { level: LEVEL }) : plain
  }

  private put(data: Buffer): void {
    this.sink.write(data)
    this.bytes += data.length
  }
}

/** A file that has its name from the beginning, and grows. */
function growing(path: string): TraceSink {
  const fd = openSync(path, 'w')
  return {
    write(data) {
      try {
        for (let at = 0; at < data.length; ) at += writeSync(fd, data, at)
      } catch (error) {
        throw Object.assign(error as Error, { path })
      }
    },
    close: () => closeSync(fd),
  }
}

function isDFTracer(path: string): boolean {
  return /\.pfw(\.gz)?$/.test(path)
}
