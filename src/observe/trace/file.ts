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

/** Quick rather than small. */
const LEVEL = 3

export class TraceFile {
  /** Bytes written so far. */
  bytes = 0
  /** Whether the limit is reached: no more events are taken. */
  full = false
  private readonly encoder: TraceEncoder
  private readonly fd: number
  private readonly packed: boolean

  /** `path` says the format: .pfw is DFTracer's, all else Chrome's; .gz is compressed. */
  constructor(
    readonly path: string,
    clock: ClockPair,
    private readonly limit = Number.POSITIVE_INFINITY,
  ) {
    this.packed = path.endsWith('.gz')
    this.encoder = isDFTracer(path) ? new DFTracerEncoder(hostname()) : new ChromeEncoder()
    this.fd = openSync(path, 'w')
    this.append(this.encoder.begin(clock))
  }

  write(events: readonly TraceEvent[]): void {
    if (this.full || events.length === 0) return
    this.append(this.encoder.events(events))
    this.full = this.bytes >= this.limit
  }

  close(): void {
    try {
      this.append(this.encoder.end())
    } finally {
      closeSync(this.fd)
    }
  }

  private append(text: string): void {
    const plain = Buffer.from(text)
    if (plain.length === 0) return
    const data = this.packed ? gzipSync(plain, { level: LEVEL }) : plain
    try {
      for (let at = 0; at < data.length; ) at += writeSync(this.fd, data, at)
    } catch (error) {
      throw Object.assign(error as Error, { path: this.path })
    }
    this.bytes += data.length
  }
}

export function isDFTracer(path: string): boolean {
  return /\.pfw(\.gz)?$/.test(path)
}
