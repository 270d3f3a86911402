/** What a probe measures: plain data. Speeds are bytes over the wall time in which all threads were at work. Pure. */
import type { Place, Run } from './lane.js'

export interface Speed {
  opsPerSecond: number
  bytesPerSecond: number
  /** Mean time of one operation. */
  ms: number
  ops: number
}

export type MeasureName = 'sequential' | 'random' | 'small files' | 'stat' | 'list'

export interface Measure {
  what: MeasureName
  /** Of one read; absent for whole files and metadata. */
  bytes?: number
  inFlight: number
  /** Bytes were absent from the page cache; were in it; or the system did not say. */
  cold: Speed | null
  warm: Speed | null
  unknown: Speed | null
  /** Why there is no figure, or none of cold reads. */
  why?: string
}

export interface Probed {
  path: string
  fileSystem: string
  /** Over a network. */
  far: boolean
  /** What was found below the path; `more`: it has more files than were looked at. */
  files: number
  bytes: number
  medianBytes: number
  more: boolean
  measures: Measure[]
}

/** With several threads, a figure is made of so many operations of each, in the mean, or there is none. */
const LEAST_OPS = 1

/**
 * The speed at a place. It counts what was done from the moment when the last thread began until the first one had
 * nothing left to do; an operation at an edge counts in part. Where places are mixed, each has the share of the wall
 * time that its operations took. Null: nothing was done there, or too little for a figure.
 */
export function speedAt(place: Place, threads: readonly (readonly Run[])[]): Speed | null {
  const begin = Math.max(...threads.map(runs => runs[0]?.begin ?? Infinity))
  const end = Math.min(...threads.map(runs => runs.at(-1)?.end ?? -Infinity))
  if (!(end > begin)) return null
  const sums = { ops: 0, bytes: 0, ms: 0, msOfAll: 0 }
  for (const run of threads.flat()) {
    const part = within(run, begin, end)
    sums.msOfAll += part * run.ms
    if (run.place !== place) continue
    sums.ops += part * run.ops
    sums.bytes += part * run.bytes
    sums.ms += part * run.ms
  }
  if (sums.ops === 0 || (threads.length > 1 && sums.ops < LEAST_OPS * threads.length)) return null
  const seconds = ((end - begin) * (sums.msOfAll > 0 ? sums.ms / sums.msOfAll : 1)) / 1000
  return {
    opsPerSecond: sums.ops / seconds,
    bytesPerSecond: sums.bytes / seconds,
    ms: sums.ms / sums.ops,
    ops: Math.round(sums.ops),
  }
}

/** Whether any thread did anything at a place. */
export function wasAt(place: Place, threads: readonly (readonly Run[])[]): boolean {
  return threads.some(runs => runs.some(run => run.place === place))
}

/** The share of a run's time that lies between two moments. */
function within({ begin, end }: Run, from: number, to: number): number {
  if (begin >= from && end <= to) return 1
  return Math.max(0, Math.min(end, to) - Math.max(begin, from)) / (end - begin)
}

/** The figure that says most about the storage, and which it is. */
export function telling(measure: Measure | undefined): { speed: Speed; place: Place } | undefined {
  for (const place of ['cold', 'unknown', 'warm'] as const) {
    const speed = measure?.[place]
    if (speed) return { speed, place }
  }
  return undefined
}
