/** From one format of traces to another: the formats are told by the names of the files. */
import { existsSync, realpathSync } from 'node:fs'
import { Draft } from '../../../system/files/draft.js'
import { TICKS_PER_US, type TraceArgs, type TraceEvent } from '../events.js'
import { isDFTracer, TraceFile } from '../file.js'
import type { ReadEvent } from './events.js'
import { type ReadNotes, readTrace } from './file.js'

/** So many events are written at once. */
const AT_ONCE = 20_000
/** Times from here on (µs, 2001) are since 1970: others count from a beginning of their own. */
const SINCE_1970 = 1e15

/** Reads `from`, and gives `to` its name when it is whole: until then, what has that name stays. */
export async function convertTrace(from: string, to: string): Promise<ReadNotes & { bytes: number }> {
  // First the beginning of the trace, and its clocks.
  let begin = Number.POSITIVE_INFINITY
  let clock: { monotonicMs: number; realtimeMs: number } | undefined
  const names = new Map<string, string>()
  await readTrace(from, event => {
    if ('ts' in event && Math.abs(event.ts) < Number.MAX_SAFE_INTEGER) begin = Math.min(begin, event.ts)
    if (event.type === 'clock') clock ??= event
    if (event.type === 'thread' || event.type === 'process')
      names.set(`${event.type}/${event.pid}/${event.type === 'thread' ? event.tid : ''}`, event.name)
  })
  // With clocks, times count from them: the trace stays where it was. Those of DFTracer are µs since 1970.
  const base =
    clock === undefined ? (Number.isFinite(begin) ? Math.floor(begin) : 0) : Math.min(0, Math.floor(begin))
  const absolute = isDFTracer(from) || base >= SINCE_1970
  const realtime =
    clock === undefined ? (absolute ? base / 1000 : Date.now()) : clock.realtimeMs + base / 1000
  const monotonic = clock === undefined ? 0 : clock.monotonicMs + base / 1000
  const draft = Draft.open(existsSync(to) ? realpathSync(to) : to)
  const sink = { write: (data: Uint8Array) => draft.write(data), close: () => {} }
  const file = new TraceFile(to, { base: monotonic, realtime }, undefined, sink)
  const rewriter = new Rewriter(base, names)
  let events: TraceEvent[] = []
  try {
    const notes = await readTrace(from, event => {
      rewriter.event(event, events)
      if (events.length < AT_ONCE) return
      file.write(events)
      events = []
    })
    file.write(events)
    file.close()
    draft.commit()
    return { ...notes, bad: notes.bad + rewriter.bad, bytes: file.bytes }
  } catch (error) {
    draft.discard()
    throw error
  }
}

class Rewriter {
  /** Events whose times are beyond all measure. */
  bad = 0
  private readonly tracks = new Set<string>()
  /** The outermost slice of each track that was read last. */
  private readonly outer = new Map<string, { start: number; end: number }>()
  private readonly flows = new Map<string, number>()

  constructor(
    private readonly base: number,
    private readonly names: ReadonlyMap<string, string>,
  ) {}

  event(event: ReadEvent, out: TraceEvent[]): void {
    if ('ts' in event && !this.measurable(event)) {
      this.bad++
      return
    }
    switch (event.type) {
      case 'slice': {
        const { pid, tid, cat, name, args } = event
        const start = this.ticks(event.ts)
        const end = this.ticks(event.ts + event.dur)
        const key = this.track(pid, tid, out)
        const outer = this.outer.get(key)
        const inside = outer !== undefined && start >= outer.start && end <= outer.end
        if (!inside) this.outer.set(key, { start, end })
        out.push({ type: 'slice', pid, tid, cat, name, start, end, level: inside ? 1 : 0, args: plain(args) })
        return
      }
      case 'instant': {
        const { pid, tid, cat, name, args } = event
        this.track(pid, tid, out)
        out.push({ type: 'instant', pid, tid, cat, name, at: this.ticks(event.ts), args: plain(args) })
        return
      }
      case 'counter':
        out.push({
          type: 'counter',
          pid: event.pid,
          name: event.name,
          at: this.ticks(event.ts),
          values: event.values,
        })
        return
      case 'flow': {
        const { pid, tid, id } = event
        const at = { s: 'start', t: 'step', f: 'end' } as const
        if (!this.flows.has(id)) this.flows.set(id, this.flows.size + 1)
        const number = this.flows.get(id) as number
        if (event.phase === 'f') this.flows.set(id, number) // ids may be used again by other programs
        out.push({ type: 'flow', at: at[event.phase], id: number, pid, tid, ts: this.ticks(event.ts) })
        return
      }
      case 'missing':
        out.push({ type: 'missing', lost: event.lost, full: event.full })
        return
      default: // names and clocks were read before
    }
  }

  private track(pid: number, tid: number, out: TraceEvent[]): string {
    const key = `${pid}/${tid}`
    if (this.tracks.has(key)) return key
    this.tracks.add(key)
    const process = this.names.get(`process/${pid}/`) ?? `process ${pid}`
    const thread = this.names.get(`thread/${key}`) ?? `thread ${tid}`
    out.push({ type: 'track', track: { pid, tid, process, thread, order: this.tracks.size } })
    return key
  }

  /** Whether the times of an event can be written as numbers. */
  private measurable(event: { ts: number; dur?: number }): boolean {
    return Number.isFinite(this.ticks(event.ts)) && Number.isFinite(this.ticks(event.ts + (event.dur ?? 0)))
  }

  private ticks(us: number): number {
    return Math.round((us - this.base) * TICKS_PER_US)
  }
}

/** Arguments that are numbers or texts; what DFTracer adds is left out, and added again where it belongs. */
function plain(args: Record<string, unknown>): TraceArgs {
  const kept: TraceArgs = {}
  for (const [name, value] of Object.entries(args)) {
    if (name === 'hhash' || name === 'fhash' || name === 'level' || name === 'p_idx') continue
    if (typeof value === 'number' || typeof value === 'string') kept[name] = value
  }
  return kept
}
