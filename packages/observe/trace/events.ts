/**
 * What a trace is made of, before it is written in one format or another. Times are ticks since the trace's beginning: an
 * eighth of a microsecond. Such fractions are exact in JSON and in any reader's arithmetic, so slices that touch each other
 * don't overlap by a rounding.
 */

/** Ticks of a microsecond, and of a millisecond. */
export const TICKS_PER_US = 8
export const TICKS_PER_MS = 8000

export type TraceArgs = Record<string, number | string>

/** Which process and which thread of it: a line of the picture. */
export interface TrackName {
  pid: number
  tid: number
  process: string
  thread: string
  /** Smaller ones stand above. */
  order: number
}

export type TraceEvent =
  /** A thread did something. `level` is its depth: 0 lies in no other. */
  | {
      type: 'slice'
      pid: number
      tid: number
      cat: string
      name: string
      start: number
      end: number
      level: number
      args: TraceArgs
    }
  /** A moment. */
  | { type: 'instant'; pid: number; tid: number; cat: string; name: string; at: number; args: TraceArgs }
  /** A figure of a process, from now on. */
  | { type: 'counter'; pid: number; name: string; at: number; values: Record<string, number> }
  /** An arrow goes on here: from the slice that lies at its beginning, over others, to the one at its end. */
  | { type: 'flow'; at: 'start' | 'step' | 'end'; id: number; pid: number; tid: number; ts: number }
  /** A track that was not there before. */
  | { type: 'track'; track: TrackName }
  /** So far: records that were written over before they were read; whether the file ended at its limit, before the run did. */
  | { type: 'missing'; lost: number; full: boolean }

/** The clocks at one moment: by them, a trace is laid beside others. */
export interface ClockPair {
  /** ms of CLOCK_MONOTONIC: the trace's tick 0. */
  base: number
  /** ms since 1970 at the same moment. */
  realtime: number
}
