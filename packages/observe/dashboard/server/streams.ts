/**
 * Streams of events (Server-Sent Events), one for each page that is open. A page that reads slowly gets the newest of each kind
 * when it can take more: what came in between is left out, so that memory here does not grow with its slowness.
 */
import type { ServerResponse } from 'node:http'
import type { Events } from '../view.js'

/** Pages that may be open at once. */
export const MOST_STREAMS = 16
/** A page that takes nothing for so long (ms) is gone. */
const GONE_AFTER_MS = 60_000
/** Bytes that may wait in a stream's buffers: a hello with its history, and some. */
const MOST_WAITING_BYTES = 2 ** 22
/** How often a page is told that its stream is alive (ms): it takes one that is silent for long as broken. */
const BEAT_EVERY_MS = 2000

type Name = keyof Events

class Stream {
  /** What it has not been sent, by name: the newest. */
  private readonly later = new Map<string, string>()
  private blockedSince: number | undefined

  /** `of`: what it tells of; only that is sent to it. */
  constructor(
    private readonly response: ServerResponse,
    readonly of: object,
  ) {
    response.on('drain', () => this.flush())
  }

  /** `key`: what it takes the place of, while it can't be sent. */
  send(key: string, text: string): void {
    if (this.blockedSince === undefined) this.write(text)
    else {
      this.later.delete(key) // so that it is the last
      this.later.set(key, text)
    }
  }

  /** Ends it where its page takes nothing any more. */
  check(now: number): void {
    const { response } = this
    const dead = this.blockedSince !== undefined && now - this.blockedSince > GONE_AFTER_MS
    if (dead || response.writableLength > MOST_WAITING_BYTES) response.destroy()
  }

  end(): void {
    this.response.end()
  }

  private write(text: string): void {
    if (!this.response.write(text)) this.blockedSince = performance.now()
  }

  private flush(): void {
    this.blockedSince = undefined
    for (const [key, text] of this.later) {
      if (this.blockedSince !== undefined) return
      this.later.delete(key)
      this.write(text)
    }
  }
}

export class Streams {
  private readonly open = new Set<Stream>()
  private readonly timer: NodeJS.Timeout

  constructor() {
    this.timer = setInterval(() => this.beat(), BEAT_EVERY_MS).unref()
  }

  get count(): number {
    return this.open.size
  }

  /** Those that tell of this. */
  countOf(of: object): number {
    let count = 0
    for (const stream of this.open) if (stream.of === of) count++
    return count
  }

  /** False: there are too many. `of`: what it tells of; `first`: what it is told at once. */
  add(response: ServerResponse, of: object, first: readonly string[]): boolean {
    if (this.open.size >= MOST_STREAMS) return false
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    })
    response.flushHeaders()
    const stream = new Stream(response, of)
    this.open.add(stream)
    response.on('close', () => this.open.delete(stream))
    response.on('error', () => this.open.delete(stream))
    for (const [i, text] of first.entries()) stream.send(`first ${i}`, text)
    return true
  }

  send<K extends Name>(of: object, name: K, data: Events[K]): void {
    if (this.countOf(of) === 0) return
    const text = eventText(name, data)
    for (const stream of this.open) if (stream.of === of) stream.send(name, text)
  }

  close(): void {
    clearInterval(this.timer)
    for (const stream of this.open) stream.end()
  }

  private beat(): void {
    const now = performance.now()
    const text = eventText('beat', { time: Date.now() })
    for (const stream of this.open) {
      stream.check(now)
      stream.send('beat', text)
    }
  }
}

/** An event as it goes over the wire. JSON has no line breaks. */
export function eventText<K extends Name>(name: K, data: Events[K]): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
