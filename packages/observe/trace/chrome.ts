/**
 * A trace in Chrome's JSON: an array of events, which Perfetto opens as it is. The comma stands before an event, so that what
 * is written so far lacks nothing but the bracket at the end.
 */
import { type ClockPair, TICKS_PER_US, type TraceEvent, type TrackName } from './events.js'
import { FLOW, MISSING } from './vocabulary.js'

/** Writes events as text, piece by piece. */
export interface TraceEncoder {
  begin(clock: ClockPair): string
  events(events: readonly TraceEvent[]): string
  end(): string
}

const PHASES = { start: 's', step: 't', end: 'f' } as const

export class ChromeEncoder implements TraceEncoder {
  private readonly processes = new Set<number>()

  begin({ base, realtime }: ClockPair): string {
    const args = { monotonicMs: base, realtimeMs: realtime, program: 'millrace' }
    return `[\n${JSON.stringify({ ph: 'M', pid: 0, tid: 0, name: 'clock_sync', args })}`
  }

  events(events: readonly TraceEvent[]): string {
    let text = ''
    for (const event of events) text += this.event(event)
    return text
  }

  end(): string {
    return '\n]\n'
  }

  private event(event: TraceEvent): string {
    switch (event.type) {
      case 'slice': {
        const { pid, tid, cat, name, start, end } = event
        const times = `"ts":${start / TICKS_PER_US},"dur":${(end - start) / TICKS_PER_US}`
        const words = `"cat":${JSON.stringify(cat)},"name":${JSON.stringify(name)}`
        const args = JSON.stringify(event.args)
        return `,\n{"ph":"X","pid":${pid},"tid":${tid},${words},${times},"args":${args}}`
      }
      case 'flow': {
        const { at, id, pid, tid, ts } = event
        const bind = at === 'end' ? ',"bp":"e"' : ''
        const where = `"pid":${pid},"tid":${tid},"ts":${ts / TICKS_PER_US}`
        return `,\n{"ph":"${PHASES[at]}"${bind},"id":${id},"cat":"${FLOW.cat}","name":"${FLOW.name}",${where}}`
      }
      case 'counter': {
        const { pid, name, at, values } = event
        return line({ ph: 'C', pid, tid: 0, name, ts: at / TICKS_PER_US, args: values })
      }
      case 'instant': {
        const { pid, tid, cat, name, at, args } = event
        return line({ ph: 'i', s: 'p', pid, tid, cat, name, ts: at / TICKS_PER_US, args })
      }
      case 'track':
        return this.track(event.track)
      case 'missing': {
        const args = { lost: event.lost, full: event.full ? 1 : 0 }
        return line({ ph: 'M', pid: 0, tid: 0, name: MISSING, args })
      }
    }
  }

  private track({ pid, tid, process, thread, order }: TrackName): string {
    const of = (name: string, args: object) => line({ ph: 'M', pid, tid, name, args })
    const threads = of('thread_name', { name: thread }) + of('thread_sort_index', { sort_index: order })
    if (this.processes.has(pid)) return threads
    this.processes.add(pid)
    const sort = of('process_sort_index', { sort_index: this.processes.size })
    return of('process_name', { name: process }) + sort + threads
  }
}

function line(event: object): string {
  return `,\n${JSON.stringify(event)}`
}
