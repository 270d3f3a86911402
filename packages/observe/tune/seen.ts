/** What the tuner sees of a ring, and what it may set. */
import type { Knob } from '../../core/deliver/ring-tuner.js'
import type { Accounting, Evidence } from '../evidence.js'

/** What may be set of a ring. */
export interface Room {
  /** Most workers; 0: workers were given, and stay. */
  workers: number
  /** Most slots; 0: the depth was given. */
  depth: number
  /** Rows of a claim at present, and between which they may be; null: they stay. */
  claim: { rows: number; least: number; most: number } | null
  /** Who decodes images at present, in twentieths for the CPU (basics/decoder.ts); absent: that is given, or decided. */
  decoder?: number
  /** Rows that are hinted ahead, and the most; absent: nothing is hinted. */
  ahead?: { rows: number; most: number }
  /** Bytes that more slots and workers may still take, and what a worker takes. */
  freeBytes: number
  workerBytes: number
}

/** A ring as it was seen in a window. */
export interface Seen {
  ring: number
  feed: string
  evidence: Evidence
  room: Room
}

/** With its account. */
export interface Weighed extends Seen {
  accounting: Accounting
}

/** A change that could be made. */
export interface Candidate {
  ring: number
  knob: Knob
  from: number
  to: number
  /** Null: nothing is promised, it is tried. */
  predicted: { gain: number; interval: [number, number] } | null
}
