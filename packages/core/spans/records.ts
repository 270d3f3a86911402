/** What a reader of spans gives: records, and who and what they are about. */
import type { LaneName, LevelName, SpanName } from './span-words.js'

/** One record: something that a thread did, or several small things of a kind, joined. */
export interface SpanRecord {
  /** Who did it. */
  lane: LaneInfo
  kind: SpanName
  /** The ring that it was done for: see `rings()`. 0: for none. */
  ring: number
  /** ms of CLOCK_MONOTONIC. */
  start: number
  /** ms; of joined spans the sum. */
  duration: number
  bytes: number
  /** Number of the batch in its ring, −1: none; of joined spans that of the first, as `firstRow` is. */
  batch: number
  firstRow: number
  rows: number
  /** ms of CPU time, and of waiting for a core, since the last record of the lane that has them. NaN: not known. */
  cpu: number
  delay: number
  /** How many spans were joined into this one. */
  joined: number
  /** Which one of its lane: 0 is the first that was ever written. */
  number: number
}

/** A thread that writes spans. */
export interface LaneInfo {
  /** Its place in the file. */
  lane: number
  kind: LaneName
  /** Which one of its kind. */
  number: number
  name: string
  /** Whether a thread writes it at present. */
  open: boolean
  /** How many records were written, since the beginning. */
  written: number
}

/** What spans are about: one feed and rank. */
export interface RingInfo {
  ring: number
  /** The feed's. */
  name: string
  rank: number
  world: number
  open: boolean
  /** The process whose workers fill the ring, and the ring's number in the spans of that process. */
  engine: number
  engineRing: number
  /** When it was opened (ms of CLOCK_MONOTONIC). */
  begun: number
  /** How it is filled, at present. All 0 in the spans of a trainer: those of the engine say it. */
  workers: number
  depth: number
  /** Claims that a batch is divided into, its rows, and bytes of its slot. */
  claims: number
  rows: number
  slotBytes: number
  /** Batches of an epoch; 0: not known, or epochs differ. */
  stepsInEpoch: number
  /** How much is written of it. */
  level: LevelName
}

/** Where a reader has come to: how many records of each lane it has passed. Plain JSON. */
export type SpanCursor = readonly number[]

export interface SpanRead {
  /** By lane, oldest first. */
  records: SpanRecord[]
  cursor: SpanCursor
  /** Records, of any ring, that were written over before they could be read, or are half written. */
  lost: number
}
