/**
 * What the page is told: the contract between the server (src/dashboard/server/) and the page (src/dashboard/page/). Plain
 * JSON. `GET /api/events` is a stream of events, named as the keys of `Events`; the rest is asked for when it is looked at.
 */
import type { Accounting, Diagnosis, Evidence, Parts } from '../observe/evidence.js'
import type { TunerDecision } from '../observe/live/decision.js'
import type { RunRecord } from '../observe/live/record.js'

export interface Events {
  /** First, and again when runs come or go. */
  hello: Hello
  /** Once, after hello: the last hour as far as it is known, oldest first. */
  history: HistoryPoint[]
  /** Every second. */
  now: Now
  /** Whenever one fires or ends. */
  alert: Alert
  /** The run has ended, and how; the page stays as it is. */
  ended: { reason: string }
}

export interface Hello {
  version: string
  host: string
  /** Whether the page may change workers and depth (--control). */
  control: boolean
  /** Price of one GPU for an hour, for the cost of idling. */
  dollarsPerHour: number
  /** The run that is shown; null while none is there. Others on this machine, to choose from. */
  run: RunName | null
  others: RunName[]
  /** The definition, as JSON; null where the engine does not tell. */
  definition: unknown
  /** What batches hold: names, types and shapes. */
  fields: { name: string; dtype: string; shape: number[]; kind: string }[]
}

export interface RunName {
  trainer: number
  engine: number
  ring: number
  feed: string
  world: number
  /** Seconds since it was opened. */
  age: number
}

/** A second, or the mean of several, of the whole run: the rank that loses most decides. */
export interface HistoryPoint {
  time: number
  lost: number | null
  samplesPerSecond: number
  parts: Parts | null
  workers: number
  depth: number
  rssBytes: number | null
  decisions: TunerDecision[]
}

export interface Now {
  /** One for each rank that is seen, by rank. */
  ranks: RunRecord[]
  /** Of the rank that loses most: its account and diagnosis of the last 15 s or so. Null while too little was seen. */
  worst: { rank: number; accounting: Accounting; diagnosis: Diagnosis; evidence: ModelInput } | null
  /** What each worker does: shares of the last second by kind of work, and waits. */
  makers: { number: number; work: Record<string, number>; wait: number; idle: number; cpu: number | null }[]
  /** All that the tuner decided in this run, oldest first (200 at most), and what it does now, in words. */
  tuner: { state: string; decisions: TunerDecision[] } | null
  bad: BadSample[]
  /** Whether another process controls the engine. */
  controlledBy: number | null
}

/** What sliders need to compute what would be if: the fit of src/observe/model/, as plain JSON. */
export type ModelInput = Pick<Evidence, 'facts'> & { fit: unknown }

export interface BadSample {
  id: string
  message: string
  /** Where its bytes can be had from, if the server can read them: GET /api/bad/N. */
  picture: string | null
}

export interface Alert {
  rule: string
  /** Since when it holds (ms since 1970); null: it has ended. */
  since: number | null
  text: string
}

/** `GET /api/timeline?seconds=5`: what each thread did, oldest first. Times in ms from `from`. */
export interface Timeline {
  from: number
  to: number
  lanes: {
    name: string
    kind: 'worker' | 'consumer' | 'device' | 'reader'
    rank: number | null
    spans: [start: number, duration: number, kind: string, batch: number, rows: number][]
  }[]
}

/** `GET /api/gallery`: rows of the newest ready batch, as they are delivered. */
export interface Gallery {
  batch: number
  epoch: number
  step: number
  /** Why there is nothing to see, in words. */
  reason: string | null
  rows: {
    id: string
    /** PNG data URLs by field. */
    pictures: Record<string, string>
    /** All other fields, in words. */
    values: Record<string, string>
  }[]
}

/** `GET /api/snapshot`: all that is shown, for a file that opens without a server. */
export interface Snapshot {
  /** ms since 1970. */
  saved: number
  hello: Hello
  history: HistoryPoint[]
  now: Now | null
  alerts: Alert[]
  ended: { reason: string } | null
  timeline: Timeline | null
  gallery: Gallery | null
}

/** `POST /api/set`, with --control alone: what to change. Answers `IsSet`, or a status from 400 on and { error }, in words. */
export interface Setting {
  workers?: number
  depth?: number
  /** It stays when the dashboard ends. */
  keep?: boolean
  /** Sets back what was set before. */
  undo?: boolean
}

export interface IsSet {
  workers: number
  depth: number
  kept: boolean
}

/** `POST /api/diagnose` (body {}), with --control alone: a diagnosis with experiments, after some 10 s. */
export type Diagnosed = Diagnosis & { sentence: string }
