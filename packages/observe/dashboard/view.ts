/**
 * What the page is told: the contract between the server (packages/observe/dashboard/server/) and the page (packages/observe/page/). Plain
 * JSON. `GET /api/events` is a stream of events, named as the keys of `Events`; the rest is asked for when it is looked at. Of a
 * report (packages/observe/report.ts) all is in the page's own file: `ReportData`.
 */
import type { SpanName } from '../../core/spans/span-words.js'
import type { Accounting, Diagnosis, Evidence, Parts } from '../evidence.js'
import type { RunRecord, TunerDecision } from '../live/record.js'

export interface Events {
  /** First, and again when runs come or go. */
  hello: Hello
  /** Once, after hello: the last hour as far as it is known, oldest first. It ends with the second of `now`, if there is one. */
  history: HistoryPoint[]
  /** Once, after history: the last seconds, 10 at most, oldest first. They end with the second of `now`, too. */
  recent: Recent
  /** Every second. */
  now: Now
  /** The run has ended; the page stays as it is. */
  ended: Ended
  /** Every 2 s, whether or not there is a run: a stream without it is broken. By the server's clock (ms since 1970). */
  beat: { time: number }
}

/** How the run has ended, and when (ms since 1970): the last that was seen of it. */
export interface Ended {
  reason: string
  time: number
}

export type Recent = Pick<Now, 'ranks'>[]

export interface Hello {
  version: string
  host: string
  /** Price of one GPU for an hour, for the cost of idling. */
  dollarsPerHour: number
  /** The run that is shown; null while none is there. Others on this machine, to choose from. */
  run: RunName | null
  others: RunName[]
  /** What the address asked for (`?run=`) and is not here, or not any more. Null: it is, or nothing was asked for. */
  missing: string | null
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
  decisions: TunerDecision[]
}

export interface Now {
  /** One for each rank that is seen, by rank. */
  ranks: RunRecord[]
  /** Of the rank that loses most: its account and diagnosis of the last 15 s or so. Null while too little was seen. */
  worst: { rank: number; accounting: Accounting; diagnosis: Diagnosis; evidence: ModelInput } | null
  /**
   * Of the rank that loses most, where that is known by its log alone: on another node, or of a run that has ended. It goes
   * before `worst`, which is then null, or of a rank that loses less. Null: `worst` says it, or too little was seen.
   */
  told: Told | null
  /** What each worker does: shares of the last second by kind of work, and waits. */
  makers: { number: number; work: Record<string, number>; wait: number; idle: number; cpu: number | null }[]
  /** All that the tuner decided in this run, oldest first (200 at most), and what it does now, in words. */
  tuner: { state: string; decisions: TunerDecision[] } | null
  /** The last of all ranks, oldest first; `bad` of the ranks says how many there are in all. */
  bad: BadSample[]
}

/** What the log of a rank says: means of its last 15 s or so. */
export interface Told {
  rank: number
  host: string
  seconds: number
  lost: number
  stepMs: number
  parts: Parts
  /** The diagnosis in short: its `sentence` is whole. Null: none was made. */
  why: RunRecord['why']
}

/** What sliders need to compute what would be if: the fit of packages/observe/model/, as plain JSON. */
export type ModelInput = Pick<Evidence, 'facts'> & { fit: unknown }

export interface BadSample {
  id: string
  message: string
  /** Where its bytes can be had from, if the server can read them: GET /api/bad/N. */
  picture: string | null
}

/** `GET /api/timeline?seconds=5`: what each thread did, oldest first. Times in ms from `from`. */
export interface Timeline {
  from: number
  to: number
  lanes: {
    name: string
    /** `epochs`: of a report; its spans are epochs, and their numbers stand for batches. */
    kind: 'worker' | 'consumer' | 'device' | 'reader' | 'epochs'
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

/** `GET /api/snapshot`: all that is shown, for programs. */
export interface Snapshot {
  /** ms since 1970. */
  saved: number
  hello: Hello
  history: HistoryPoint[]
  now: Now | null
  recent: Recent
  ended: Ended | null
  timeline: Timeline | null
  gallery: Gallery | null
}

/** What a report shows: several runs beside each other. Figures that stand alone are words already. */
export interface ReportData {
  /** Dollars of a GPU hour: for programs that read the data in the page. */
  price?: { perHour: number }
  title: string
  /** The machine in words: `2 cores, 8 GiB, Linux 6.8`. */
  machine: string
  /** Names and versions of what took part: `{ millrace: '0.1.0', node: '20.20.2' }`. */
  versions: Record<string, string>
  date: string
  /** The first thing to read: what was found in big letters, and the rest of the sentence. */
  headline: { tone: 'good' | 'loss' | 'hint' | 'unknown'; what: string; why: string }
  /** Command lines that follow from it, each with a word about it. */
  commands?: { text: string; about: string }[]
  cards: Card[]
  runs: ReportRun[]
  /** Samples/s against workers. */
  rates?: Rates
  table: { columns: string[]; rows: { cells: string[]; mark?: string }[] }
  /** How it was measured. */
  facts?: [name: string, value: string][]
}

/** A run at first sight. */
export interface Card {
  title: string
  /** How it was fed. */
  what: string
  value: string
  /** Beside the value, smaller. */
  unit: string
  /** Share of the time in which the trainer computed (0…1). */
  busy?: number
  figures: [name: string, value: string][]
}

/** Times are ms; of a timeline, since the beginning of the run. */
export interface ReportRun {
  name: string
  what: string
  /** Why it is told apart: `best`, `default`. */
  mark?: string
  /** A step, the shares of its parts (they add up to 1), the share that is lost; why, and what to do. */
  stepMs?: number
  parts?: Parts
  lost?: number
  why?: string
  /** The process at its largest, and what is said beside it. */
  memory?: { bytes: number; about: string }
  /** A step begins when the trainer asks for its batch: it waits, then computes. */
  steps?: { start: number; wait: number; compute: number }[]
  /** `make`: all work of a worker on a batch. */
  workers?: { name: string; spans: [kind: SpanName | 'make', start: number, duration: number][] }[]
  /** From opening the feed to its first request, and its epochs. */
  setup?: [start: number, end: number]
  epochs?: { epoch: number; start: number; end: number }[]
  /** How many steps waited how long, and how long the first batch took. */
  waits?: { steps: [ms: number, steps: number][]; first: number }
}

/** `demand`: what the trainer could take. `knee`: the fewest workers that give nearly the most. */
export interface Rates {
  points: { name: string; workers: number; mean: number; min: number; max: number }[]
  knee: number | null
  demand: number | null
}
