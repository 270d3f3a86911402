/**
 * What makers did with their time: each slice of a maker is divided into running, queued (waiting for a core), blocked
 * (waiting for anything else) and without a slot.
 */
import type { MakerSlice, MakerWork } from '../evidence.js'
import { amount, overlap } from './numbers.js'

/** ms, or shares of them. */
export interface MakerTime {
  running: number
  queued: number
  blocked: number
  noSlot: number
}

export const MAKER_TIMES = ['running', 'queued', 'blocked', 'noSlot'] as const
export const WORK_KINDS = ['open', 'read', 'decode', 'transform', 'map', 'close'] as const

/** Whether a span is work, not waiting. */
export function isWork(kind: string): kind is keyof MakerWork {
  return (WORK_KINDS as readonly string[]).includes(kind)
}

export function noTime(): MakerTime {
  return { running: 0, queued: 0, blocked: 0, noSlot: 0 }
}

/** Adds `factor` times the one to the other. */
export function addTime(to: MakerTime, from: MakerTime, factor = 1): void {
  for (const name of MAKER_TIMES) to[name] += from[name] * factor
}

export function allTime(time: MakerTime): number {
  return time.running + time.queued + time.blocked + time.noSlot
}

export function workOf(work: MakerWork): number {
  return WORK_KINDS.reduce((sum, kind) => sum + amount(work[kind]), 0)
}

/** Whether the system said how much CPU time the maker used. */
export function hasCpu({ cpu, delay }: MakerSlice): boolean {
  return cpu !== null && delay !== null && Number.isFinite(cpu) && Number.isFinite(delay)
}

/** The time of a slice. CPU time and run delay are never more than the work that they are part of. */
export function timeOf(slice: MakerSlice): MakerTime {
  const work = workOf(slice.work)
  const noSlot = amount(slice.wait) + amount(slice.idle)
  if (!hasCpu(slice)) {
    const blocked = amount(slice.work.open) + amount(slice.work.read)
    return { running: Math.max(0, work - blocked), queued: 0, blocked, noSlot }
  }
  // Nearly all CPU time is work; a thread that wakes up to look for work waits for a core as well.
  const running = Math.min(amount(slice.cpu), work)
  const queued = Math.min(amount(slice.delay), work - running)
  return { running, queued, blocked: Math.max(0, work - running - queued), noSlot }
}

/**
 * The share of each kind of time in the part of a slice in which the trainer waited, `waited` ms of it. A maker without a slot has made all
 * that it may, so that time belongs to the rest of the slice, as far as the rest is long enough.
 */
export function whileWaiting(slice: MakerSlice, waited: number): MakerTime | undefined {
  const time = timeOf(slice)
  const known = allTime(time)
  const length = amount(slice.to) - amount(slice.from)
  if (!(known > 0)) return undefined
  // Time that the slice does not account for (another feed's) is like the rest of it.
  const within = length > 0 ? known * Math.min(1, waited / length) : known
  if (!(within > 0)) return undefined
  const noSlot = Math.min(within, Math.max(0, time.noSlot - (known - within)))
  const work = known - time.noSlot
  const share = work > 0 ? (within - noSlot) / within / work : 0
  return {
    running: time.running * share,
    queued: time.queued * share,
    blocked: time.blocked * share,
    noSlot: work > 0 ? noSlot / within : 1,
  }
}

/** The slices of each maker in the order of time, for looking up what happened between two points in time. */
export class SlicesByTime {
  private readonly makers: MakerSlice[][]

  constructor(slices: readonly MakerSlice[]) {
    const makers = new Map<number, MakerSlice[]>()
    for (const slice of slices) {
      const list = makers.get(slice.maker)
      if (list) list.push(slice)
      else makers.set(slice.maker, [slice])
    }
    this.makers = [...makers.values()].map(list => list.sort((a, b) => a.from - b.from))
  }

  /** Calls `found` with each slice that has a part between `from` and `to`, and how long that part is. */
  between(from: number, to: number, found: (slice: MakerSlice, ms: number) => void): void {
    for (const list of this.makers) {
      for (let i = firstThatEndsAfter(list, from); i < list.length && list[i].from < to; i++) {
        const ms = overlap(list[i].from, list[i].to, from, to)
        if (ms > 0) found(list[i], ms)
      }
    }
  }
}

/** Slices of one maker follow each other, so their ends are in order as well. */
function firstThatEndsAfter(list: readonly MakerSlice[], time: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (list[middle].to > time) high = middle
    else low = middle + 1
  }
  return low
}
