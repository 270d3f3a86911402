/** What a probe measures: plain data. */

/** Times of operations, added up. */
export interface Sums {
  ops: number
  bytes: number
  ms: number
}

/** Operations by where their bytes were: on the storage, in the page cache, or not known. */
export interface ByPlace {
  cold: Sums
  warm: Sums
  unknown: Sums
}

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

export const noSums = (): ByPlace => ({
  cold: { ops: 0, bytes: 0, ms: 0 },
  warm: { ops: 0, bytes: 0, ms: 0 },
  unknown: { ops: 0, bytes: 0, ms: 0 },
})

/** The speed while `inFlight` threads were at it: times of all of them are added up in the sums. */
export function speedOf({ ops, bytes, ms }: Sums, inFlight: number): Speed | null {
  if (ops === 0) return null
  const seconds = Math.max(ms, 1e-6) / 1000
  return {
    opsPerSecond: (inFlight * ops) / seconds,
    bytesPerSecond: (inFlight * bytes) / seconds,
    ms: ms / ops,
    ops,
  }
}

/** The figure that says most about the storage, and which it is. */
export function telling(measure: Measure | undefined): { speed: Speed; place: keyof ByPlace } | undefined {
  for (const place of ['cold', 'unknown', 'warm'] as const) {
    const speed = measure?.[place]
    if (speed) return { speed, place }
  }
  return undefined
}
