/**
 * A trace in the line format of DFTracer 1: a bracket, then one JSON object a line without commas. Times are whole µs since
 * 1970. Names of hosts and feeds stand in lines of metadata (HH, FH), and events name them by their hashes.
 */
import { crc32 } from 'node:zlib'
import type { TraceEncoder } from './chrome.js'
import { type ClockPair, TICKS_PER_US, type TraceEvent, type TrackName } from './events.js'
import { MISSING, PROCESS_NAME } from './vocabulary.js'

export class DFTracerEncoder implements TraceEncoder {
  private id = 0
  private base = 0
  private readonly host: number
  private readonly known = new Set<string>()
  /** The slice at level 0 of a track that was written last: those of level 1 lie in it. */
  private readonly parents = new Map<string, number>()

  constructor(private readonly hostName: string) {
    this.host = hash(hostName)
  }

  begin({ realtime }: ClockPair): string {
    this.base = Math.floor(realtime * 1000)
    return '[\n'
  }

  events(events: readonly TraceEvent[]): string {
    let text = ''
    for (const event of events) text += this.event(event)
    return text
  }

  end(): string {
    return ']\n'
  }

  private event(event: TraceEvent): string {
    switch (event.type) {
      case 'slice': {
        const { pid, tid, cat, name, start, end, level } = event
        const { feed, ...args } = event.args
        const parent = level === 0 ? undefined : this.parents.get(`${pid}/${tid}`)
        const before = typeof feed === 'string' ? this.name('FH', feed, pid, tid) : ''
        const ts = this.us(start)
        const more = {
          hhash: this.host,
          ...(typeof feed === 'string' && { fhash: hash(feed) }),
          level: level + 1,
          p_idx: parent ?? -1,
          ...(typeof args.batch === 'number' && { step: args.batch }),
          ...args,
        }
        if (level === 0) this.parents.set(`${pid}/${tid}`, this.id)
        return before + this.line({ name, cat, pid, tid, ts, dur: this.us(end) - ts, ph: 'X', args: more })
      }
      case 'instant': {
        const { pid, tid, cat, name, at, args } = event
        const ts = this.us(at)
        const more = { hhash: this.host, level: 1, p_idx: -1, ...args }
        return this.line({ name, cat, pid, tid, ts, dur: 0, ph: 'X', args: more })
      }
      case 'counter': {
        const { pid, name, at, values } = event
        const args = { hhash: this.host, ...values }
        return this.line({ name, cat: 'sys', pid, tid: pid, ts: this.us(at), ph: 'C', args })
      }
      case 'track':
        return this.track(event.track)
      case 'flow':
        return '' // the format has no arrows
      case 'missing': {
        const args = { hhash: this.host, lost: event.lost, full: event.full ? 1 : 0 }
        return this.line({ name: MISSING, cat: 'dftracer', pid: 0, tid: 0, ph: 'M', args })
      }
    }
  }

  private track({ pid, tid, process, thread }: TrackName): string {
    const about = (name: string, key: string, value: string) =>
      this.line({
        name,
        cat: 'dftracer',
        pid,
        tid,
        ph: 'M',
        args: { hhash: this.host, name: key, value },
      })
    const host = this.name('HH', this.hostName, pid, tid)
    const first = this.known.has(`PR${pid}`) ? '' : about('PR', PROCESS_NAME, process)
    this.known.add(`PR${pid}`)
    return `${host}${first}${about('thread_name', thread, thread)}`
  }

  /** A name, the first time that it is used. */
  private name(kind: 'HH' | 'FH', name: string, pid: number, tid: number): string {
    if (this.known.has(kind + name)) return ''
    this.known.add(kind + name)
    const args = { hhash: this.host, name, value: hash(name) }
    return this.line({ name: kind, cat: 'dftracer', pid, tid, ph: 'M', args })
  }

  private us(ticks: number): number {
    return this.base + Math.floor(ticks / TICKS_PER_US)
  }

  private line(event: object): string {
    return `${JSON.stringify({ id: this.id++, ...event })}\n`
  }
}

function hash(name: string): number {
  return crc32(name)
}
