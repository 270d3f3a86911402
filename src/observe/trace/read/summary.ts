/** What a trace tells, in figures: who did what for how long, how long the trainer waited, and what workers did meanwhile. */
import { type TraceAccount, TraceAccounts } from './accounts.js'
import type { ReadEvent } from './events.js'
import { type ReadNotes, readTrace } from './file.js'
import { type WaitFigures, Waits } from './waits.js'

/** So many of the longest waits are looked into. */
const LONGEST = 5

export interface TraceSummary extends ReadNotes {
  seconds: number
  tracks: TrackSummary[]
  /** Steps, and waits of the trainer for a batch (ms). Null: the trace has none. */
  steps: number
  waits: WaitFigures | null
  longest: LongWait[]
  /** Records that the recorder missed, and whether it ended at its limit, before the run did. */
  lost: number
  full: boolean
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
  /** Of waits that were joined: their mean. */
  ms: number
  /** So many waits were joined. */
  joined: number
  batch: number | null
  /** ms of all other tracks in that time, by `category/name`. */
  meanwhile: Record<string, number>
}

/** Reads the trace twice: the second time for what happened during the longest waits. */
export async function summarise(path: string): Promise<TraceSummary> {
  const first = new FirstLook()
  const accounts = new TraceAccounts()
  const notes = await readTrace(path, event => {
    first.take(event)
    accounts.take(event)
  })
  const longest = first.waits.longest(LONGEST)
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
    waits: first.waits.figures(),
    ...{ lost: first.lost, full: first.full },
    longest: longest.map(({ ts, dur, batch, count }, i) => ({
      atMs: round((ts - first.from) / 1000),
      ms: round(dur / 1000 / Math.max(1, count)),
      ...{ joined: Math.max(1, count), batch },
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
  lost = 0
  full = false
  readonly waits = new Waits()
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
    if (event.type === 'missing') this.missing(event)
    this.waits.take(event)
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

  /** Each one tells of all before it. */
  private missing({ lost, full }: { lost: number; full: boolean }): void {
    this.lost = Math.max(this.lost, lost)
    this.full ||= full
  }
}

/** Slices around others. */
function isParent({ cat, name }: { cat: string; name: string }): boolean {
  return (cat === 'data' && name === 'item') || (cat === 'dataloader' && name === 'fetch')
}

function word({ cat, name }: { cat: string; name: string }): string {
  return cat === '' ? name : `${cat}/${name}`
}

type Times = { ts: number; dur: number }

function overlap({ ts, dur }: Times, wait: Times): number {
  return Math.min(ts + dur, wait.ts + wait.dur) - Math.max(ts, wait.ts)
}

function count(joined: unknown): number {
  return typeof joined === 'number' && joined >= 1 ? joined : 1
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
