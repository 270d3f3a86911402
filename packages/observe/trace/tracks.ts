/**
 * The tracks of a trace: one for each thread. Slices of a track nest, or lie one after the other. Where a worker had several
 * claims in hand at once, their slices overlap: those get a track more, beside the first.
 */
import type { LaneInfo } from '../../core/spans/reader.js'
import type { TraceEvent } from './events.js'

/** Overlaps up to this (ticks, 50 µs) come from joining and from readings of two clocks: the later slice is cut. */
const CUT = 400
/** Tracks of one thread at the most. What fits in none is left out. */
const MOST = 16

/** Where each kind of thread stands among the others of its process. */
const ORDER = { consumer: 0, device: 1000, reader: 2000, worker: 3000 } as const

/** A place on a track: what is drawn there begins at `start`. */
export interface Placed {
  tid: number
  start: number
}

export class Tracks {
  private readonly threads = new Map<string, { tids: number[]; ends: number[] }>()
  private readonly others = new Map<string, number>()
  private last = 0

  constructor(
    private readonly out: (event: TraceEvent) => void,
    /** What a process is called. */
    private readonly processName: (pid: number) => string,
  ) {}

  /** A place for a slice of a thread. Undefined: nothing is left of it, or there are too many at once. */
  place(pid: number, lane: LaneInfo, start: number, end: number, beside = ''): Placed | undefined {
    const key = `${pid}/${lane.lane}${beside}`
    let thread = this.threads.get(key)
    if (thread === undefined) {
      thread = { tids: [], ends: [] }
      this.threads.set(key, thread)
    }
    const { tids, ends } = thread
    for (let i = 0; i < MOST; i++) {
      if (i === tids.length) {
        tids.push(this.open(pid, lane, i, beside))
        ends.push(0)
      }
      if (start < ends[i] - CUT) continue
      const from = Math.max(start, ends[i])
      if (from >= end) return undefined
      ends[i] = end
      return { tid: tids[i], start: from }
    }
    return undefined
  }

  /** The track of a process that belongs to none of its threads: it stands above them. */
  beside(pid: number, name: string): number {
    const known = this.others.get(`${pid}/${name}`)
    if (known !== undefined) return known
    const tid = ++this.last
    this.others.set(`${pid}/${name}`, tid)
    this.out({
      type: 'track',
      track: { pid, tid, process: this.processName(pid), thread: name, order: -1 },
    })
    return tid
  }

  private open(pid: number, lane: LaneInfo, place: number, beside: string): number {
    const tid = ++this.last
    this.out({
      type: 'track',
      track: {
        pid,
        tid,
        process: this.processName(pid),
        thread: `${lane.name}${beside}${place === 0 ? '' : ` (${place + 1})`}`,
        order: ORDER[lane.kind] + lane.number,
      },
    })
    return tid
  }
}
