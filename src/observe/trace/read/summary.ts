/** What a trace tells, in figures: who did what for how long, how long the trainer waited, and what workers did meanwhile. */
import { type TraceAccount, TraceAccounts } from './accounts.js'
import type { ReadEvent } from './events.js'
import { type ReadNotes, readTrace } from './file.js'
import { isWait } from './waits.js'

/** So many of the longest waits are looked into. */
const LONGEST = 5

export interface TraceSummary extends ReadNotes {
  seconds: number
  tracks: TrackSummary[]
  /** Steps, and waits of the trainer for a batch (ms). Null: the trace has none. */
  steps: number
  waits: { count: number; totalMs: number; p50: number; p95: number; p99: number; max: number } | null
  longest: LongWait[]
  /** Where the time of steps went, of each loop of a trainer. */
  accounts: TraceAccount[]
  bytesRead: number
  flows: number
}

export interface TrackSummary {
  pid: number
  tid: number
  process: string
  thread: string
  slices: number
  /** ms by `category/name`, the longest first. What lies within another slice counts for both. */
  ms: Record<string, number>
}

export interface LongWait {
  /** ms since the trace's beginning. */
  atMs: number
  ms: number
  batch: number | null
  /** ms of all other tracks in that time, by `category/name`. */
  meanwhile: Record<string, number>
}

interface Wait {
  ts: number
  dur: number
  key: string
  batch: number | null
}

/** Reads the trace twice: the second time for what happened during the longest waits. */
export async function summarise(path: string): Promise<TraceSummary> {
  const first = new FirstLook()
  const accounts = new TraceAccounts()
  const notes = await readTrace(path, event => {
    first.take(event)
    accounts.take(event)
  })
  const { longest } = first
  const meanwhile = longest.map(() => new Map<string, number>())
  if (longest.length > 0) {
    await readTrace(path, event => {
      if (event.type !== 'slice' || isParent(event)) return
      for (const [i, wait] of longest.entries()) {
        const ms = overlap(event, wait)
        if (ms > 0 && wait.key !== `${event.pid}/${event.tid}`) add(meanwhile[i], word(event), ms / 1000)
      }
    })
  }
  return {
    ...notes,
    seconds: Math.max(0, first.to - first.from) / 1e6,
    tracks: first.tracksFound(),
    steps: first.steps,
    waits: figures(first.waits),
    longest: longest.map(({ ts, dur, batch }, i) => ({
      atMs: round((ts - first.from) / 1000),
      ms: round(dur / 1000),
      batch,
      meanwhile: sorted(meanwhile[i]),
    })),
    accounts: accounts.found(),
    bytesRead: first.bytes,
    flows: first.flows,
  }
}

class FirstLook {
  from = Number.POSITIVE_INFINITY
  to = Number.NEGATIVE_INFINITY
  steps = 0
  bytes = 0
  flows = 0
  /** Waits of the trainer (µs), and the longest of them. */
  readonly waits: number[] = []
  readonly longest: Wait[] = []
  private readonly tracks = new Map<
    string,
    { pid: number; tid: number; slices: number; ms: Map<string, number> }
  >()
  private readonly threads = new Map<string, string>()
  private readonly processes = new Map<number, string>()

  readonly take = (event: ReadEvent): void => {
    if (event.type === 'thread') this.threads.set(`${event.pid}/${event.tid}`, event.name)
    if (event.type === 'process') this.processes.set(event.pid, event.name)
    if (event.type === 'flow' && event.phase === 's') this.flows++
    if (event.type !== 'slice') return
    const { pid, tid, ts, dur, args } = event
    this.from = Math.min(this.from, ts)
    this.to = Math.max(this.to, ts + dur)
    const key = `${pid}/${tid}`
    let track = this.tracks.get(key)
    if (track === undefined) {
      track = { pid, tid, slices: 0, ms: new Map() }
      this.tracks.set(key, track)
    }
    track.slices++
    add(track.ms, word(event), dur / 1000)
    if (event.cat === 'compute' && event.name === 'step') this.steps += count(args.joined)
    if (typeof args.bytes === 'number' && event.name === 'io.read') this.bytes += args.bytes
    if (isWait(event)) this.wait({ ts, dur, key, batch: typeof args.batch === 'number' ? args.batch : null })
  }

  tracksFound(): TrackSummary[] {
    return [...this.tracks.values()]
      .map(({ pid, tid, slices, ms }) => ({
        pid,
        tid,
        process: this.processes.get(pid) ?? `process ${pid}`,
        thread: this.threads.get(`${pid}/${tid}`) ?? `thread ${tid}`,
        slices,
        ms: sorted(ms),
      }))
      .sort((a, b) => a.pid - b.pid || a.tid - b.tid)
  }

  private wait(wait: Wait): void {
    this.waits.push(wait.dur)
    if (this.longest.length === LONGEST && wait.dur <= this.longest[LONGEST - 1].dur) return
    this.longest.push(wait)
    this.longest.sort((a, b) => b.dur - a.dur)
    this.longest.length = Math.min(this.longest.length, LONGEST)
  }
}

/** Slices around others. */
function isParent({ cat, name }: { cat: string; name: string }): boolean {
  return (cat === 'data' && name === 'item') || (cat === 'dataloader' && name === 'fetch')
}

function word({ cat, name }: { cat: string; name: string }): string {
  return cat === '' ? name : `${cat}/${name}`
}

function overlap({ ts, dur }: { ts: number; dur: number }, wait: Wait): number {
  return Math.min(ts + dur, wait.ts + wait.dur) - Math.max(ts, wait.ts)
}

function count(joined: unknown): number {
  return typeof joined === 'number' && joined >= 1 ? joined : 1
}

function figures(waits: number[]): TraceSummary['waits'] {
  if (waits.length === 0) return null
  const ms = Float64Array.from(waits, us => us / 1000).sort()
  const at = (share: number) => round(ms[Math.min(ms.length - 1, Math.floor(share * ms.length))])
  const totalMs = round(ms.reduce((a, b) => a + b, 0))
  return { count: ms.length, totalMs, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

function add(sums: Map<string, number>, name: string, ms: number): void {
  sums.set(name, (sums.get(name) ?? 0) + ms)
}

function sorted(sums: Map<string, number>): Record<string, number> {
  return Object.fromEntries([...sums].sort((a, b) => b[1] - a[1]).map(([name, ms]) => [name, round(ms)]))
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
