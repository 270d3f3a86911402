/**
 * What a trace of another program tells of where its time went: DFTracer's of any loader, or torch.profiler's. It has no CPU
 * times and does not say when a batch was complete, so supply is divided by what workers did, and hand-over is part of it.
 */
import type { Evidence, MakerSlice, MakerWork, StepTimes } from '../../evidence.js'
import type { ReadEvent } from './events.js'
import { isWait } from './waits.js'

/** So many slices are kept at the most. */
const MOST = 1_000_000
/** The work of a thread is summed for so long (ms), or longer where a trace is: into so many sums at the most. */
const BIN = 100
const MOST_BINS = 20_000

type Slice = Extract<ReadEvent, { type: 'slice' }>

/** From start to end (ms). */
interface Part {
  start: number
  end: number
}

interface Track {
  pid: number
  tid: number
  waits: Part[]
  transfers: Part[]
  work: (Part & { kind: keyof MakerWork })[]
}

/** A thread that waited for batches, and what was seen of it. */
export interface WaitingThread {
  pid: number
  tid: number
  evidence: Evidence
  /** Whether any work for batches was seen. */
  makers: boolean
}

export class OtherTrace {
  full = false
  private readonly tracks = new Map<string, Track>()
  private readonly epochs: number[] = []
  private kept = 0

  readonly take = (event: ReadEvent): void => {
    if ((event.type === 'slice' || event.type === 'instant') && event.name === 'epoch')
      this.epochs.push(event.ts / 1000)
    if (event.type !== 'slice') return
    const list = listOf(event)
    const kind = list === 'work' ? workOf(event) : undefined
    if (list === undefined || (list === 'work' && kind === undefined)) return
    if (this.kept === MOST) {
      this.full = true
      return
    }
    this.kept++
    const part = { start: event.ts / 1000, end: (event.ts + event.dur) / 1000 }
    const track = this.track(event.pid, event.tid)
    if (kind !== undefined) track.work.push({ ...part, kind })
    else track[list as 'waits' | 'transfers'].push(part)
  }

  waiting(): WaitingThread[] {
    const all = [...this.tracks.values()]
    const makers = all.filter(({ work }) => work.length > 0)
    const epochs = this.epochs.sort((a, b) => a - b)
    const loops = all
      .map(track => ({ track, steps: stepsOf(track, epochs) }))
      .filter(({ steps }) => steps.length > 0)
    const bins = new Bins(loops.map(({ steps }) => windowOf(steps)))
    const slices = makers.flatMap((track, number) => slicesOf(track, number, bins))
    return loops.map(({ track, steps }) => {
      const others = makers.filter(maker => maker !== track).length
      const { pid, tid } = track
      return { pid, tid, evidence: evidenceOf(steps, slices, others), makers: slices.length > 0 }
    })
  }

  private track(pid: number, tid: number): Track {
    const key = `${pid}/${tid}`
    let track = this.tracks.get(key)
    if (track === undefined) {
      track = { pid, tid, waits: [], transfers: [], work: [] }
      this.tracks.set(key, track)
    }
    return track
  }
}

function listOf(slice: Slice): 'waits' | 'transfers' | 'work' | undefined {
  if (isWait(slice)) return 'waits'
  if (slice.cat === 'device') return slice.name.startsWith('transfer') ? 'transfers' : undefined
  return 'work'
}

/** By DFTracer's words: its vocabulary for AI, and the calls of files that it sees. */
function workOf({ cat, name }: Slice): keyof MakerWork | undefined {
  const called = name.toLowerCase()
  if (cat === 'data') {
    if (called.startsWith('io.')) return called === 'io.read' ? 'read' : 'open'
    if (called.startsWith('preprocess')) return 'transform'
    return called.startsWith('item') ? 'map' : undefined
  }
  if (!/^(posix|stdio)$/i.test(cat)) return undefined
  if (/read|seek|mmap/.test(called) && !called.includes('dir')) return 'read'
  return /open|stat|access|dir|close/.test(called) ? 'open' : undefined
}

/** From one wait to the next. What the last one led to is not known. */
function stepsOf({ waits, transfers }: Track, epochs: readonly number[]): StepTimes[] {
  const sorted = waits.sort((a, b) => a.start - b.start)
  const apart = sorted.filter((wait, i) => i === 0 || wait.start >= sorted[i - 1].end)
  const copies = transfers.sort((a, b) => a.start - b.start)
  let [copy, epoch] = [0, 0]
  return apart.slice(0, -1).map(({ start, end }, i) => {
    const next = apart[i + 1].start
    let transfer = 0
    for (; copy < copies.length && copies[copy].start < next; copy++)
      transfer += overlap(copies[copy], { start: end, end: next })
    const before = epoch
    while (epoch < epochs.length && epochs[epoch] <= start) epoch++
    transfer = Math.min(transfer, next - end)
    return {
      ...{ asked: start, supply: end - start, handOver: 0, transfer, compute: next - end - transfer },
      ...{ samples: 1, count: 1, ...(i === 0 ? { first: true } : epoch > before && { epochStart: true }) },
    }
  })
}

function windowOf(steps: readonly StepTimes[]): Part {
  const last = steps[steps.length - 1]
  return { start: steps[0].asked, end: last.asked + last.supply + last.transfer + last.compute }
}

/** Pieces of the time in which loops ran. */
class Bins {
  readonly from: number
  readonly length: number
  readonly count: number

  constructor(windows: readonly Part[]) {
    this.from = windows.reduce((least, { start }) => Math.min(least, start), Number.POSITIVE_INFINITY)
    const to = windows.reduce((most, { end }) => Math.max(most, end), Number.NEGATIVE_INFINITY)
    const all = to > this.from ? to - this.from : 0
    this.length = Math.max(BIN, all / MOST_BINS)
    this.count = Math.ceil(all / this.length)
  }

  /** Calls `found` with each bin that a part of the time lies in, and how much of it does. */
  each({ start, end }: Part, found: (bin: number, ms: number) => void): void {
    const first = Math.max(0, Math.floor((start - this.from) / this.length))
    for (let bin = first; bin < this.count; bin++) {
      const from = this.from + bin * this.length
      if (from >= end) break
      found(bin, overlap({ start, end }, { start: from, end: from + this.length }))
    }
  }
}

/** What a thread did, in bins. Work within other work counts for itself alone. */
function slicesOf({ work }: Track, maker: number, bins: Bins): MakerSlice[] {
  const slices = new Map<number, MakerSlice>()
  const open: Track['work'] = []
  let at = Number.NEGATIVE_INFINITY
  const book = (kind: keyof MakerWork, end: number) => {
    bins.each({ start: at, end }, (bin, ms) => {
      if (!slices.has(bin)) slices.set(bin, emptyBin(maker, bins.from + bin * bins.length, bins.length))
      slices.get(bin)!.work[kind] += ms
    })
    at = Math.max(at, end)
  }
  const closeUpTo = (time: number) => {
    for (let top = open.at(-1); top !== undefined && top.end <= time; top = open.at(-1)) {
      book(top.kind, top.end)
      open.pop()
    }
  }
  for (const part of work.sort((a, b) => a.start - b.start || b.end - a.end)) {
    closeUpTo(part.start)
    const around = open.at(-1)
    if (around !== undefined) book(around.kind, part.start)
    at = Math.max(at, part.start)
    open.push(part)
  }
  closeUpTo(Number.POSITIVE_INFINITY)
  const found = [...slices.values()]
  for (const slice of found) slice.idle = Math.max(0, bins.length - sumOf(slice.work))
  return found
}

function emptyBin(maker: number, from: number, length: number): MakerSlice {
  return {
    ...{ maker, from, to: from + length },
    work: { open: 0, read: 0, decode: 0, transform: 0, map: 0, close: 0 },
    ...{ wait: 0, idle: 0, cpu: null, delay: null, gc: 0 },
    ...{ bytes: 0, rows: 0, claims: 0, reads: 0, opens: 0 },
  }
}

function evidenceOf(steps: StepTimes[], makers: MakerSlice[], workers: number): Evidence {
  const { start: from, end: to } = windowOf(steps)
  const facts = { workers, depth: 1, claims: 1, rows: 1, slotBytes: 0, rank: 0, world: 1 }
  return {
    ...{ version: 1, from, to, steps, makers, host: null, probes: {}, lost: 0 },
    facts: { ...facts, cores: Math.max(1, workers), foreign: 'a traced loader' },
  }
}

function overlap(a: Part, b: Part): number {
  return Math.max(0, Math.min(a.end, b.end) - Math.max(a.start, b.start))
}

function sumOf(work: MakerWork): number {
  return Object.values(work).reduce((sum, ms) => sum + ms, 0)
}
