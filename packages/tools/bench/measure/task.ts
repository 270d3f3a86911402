/** The task of the process of one run, and its answer. Plain data: it goes through a pipe. */
import type { FeedJson } from '../../../core/define/types.js'
import type { OpenOptions } from '../../../core/deliver/options.js'
import type { Accounting, Parts, VerdictName } from '../../../observe/evidence.js'
import type { Setting } from '../grid/configuration.js'

export interface Length {
  /** Seconds of the steady state, where neither steps nor epochs are given. */
  seconds: number
  /** Steps of the steady state. */
  steps?: number
  /** Epochs in all, warm-up included. */
  epochs?: number
  /** The whole first epoch belongs to the warm-up. */
  skipEpoch: boolean
}

export interface RunTask {
  json: FeedJson
  options: Pick<OpenOptions, 'root' | 'plugins' | 'timeout' | 'rank' | 'world'>
  setting: Setting
  /** Length of the trainer's steps (ms). 0: it computes nothing. */
  stepMs: number
  length: Length
}

/** What one run of one configuration has shown. Figures without a word about it are of the steady state. */
export interface RunFigures {
  steps: number
  samples: number
  seconds: number
  samplesPerSecond: number
  bytesPerSecond: number
  /** Means of a step: as it was, and of a trainer whose batch is always at hand (ms). */
  stepMs: number
  idealMs: number
  lost: number
  /** Shares of a step; they add up to 1. Intervals of 95 %, over blocks of steps; null: too few steps. */
  parts: Parts
  intervals: Accounting['intervals']
  wait: Accounting['wait']
  /** Waits (ms, how many steps), rounded: for a histogram. */
  waits: [ms: number, steps: number][]
  /** As DLIO's code counts, and by its rules (nominal length of the steps / wall). Null: the trainer computes nothing. */
  au: { dlio: number; nominal: number } | null
  cpuSecondsPer1000: number | null
  /** Of the whole run: the process at its largest, and shared memory that it had reserved beyond what it had mapped. */
  memory: { peakBytes: number; rssBytes: number; sharedBytes: number }
  /** From opening the feed to the first batch, and how much of that went into opening the sources. */
  firstBatchMs: number
  openMs: number
  /** Steps and seconds that were left out, the first batch among them. */
  warmUp: { steps: number; seconds: number }
  /** Epochs that were begun, and the mean wait for the first batch of a later one; null: the run saw none. */
  epochs: number
  epochGapMs: number | null
  verdict: VerdictName
  second: VerdictName | null
  sentence: string
  /** Shares of the workers' time. */
  makers: { running: number; queued: number; blocked: number; noSlot: number }
  slotBytes: number
  /** Bytes that the block cache may hold; null: there is none. */
  cacheBytes: number | null
  /** Cores that other programs used meanwhile; null: not known. */
  otherCores: number | null
  bad: number
  decoders: Record<string, string>
  hashes: { order: string; content: string }
}

/** When what happened (ms since the run was begun), for timelines and per-step records. */
export interface RunTimes {
  pid: number
  /** ms since 1970. */
  begun: number
  end: number
  setup: [start: number, end: number]
  epochs: { epoch: number; start: number; end: number }[]
  /** When each step asked for its batch, had it, and was over. */
  steps: [asked: number, got: number, done: number][]
  /** Work of workers on a batch: `pid` is the worker's number. The first part of a long run. */
  batches: { batch: number; worker: number; start: number; end: number }[]
  /** Steps before this one are warm-up. */
  steady: number
}

export interface RunAnswer {
  figures: RunFigures
  times: RunTimes
}

/** What comes back from the process of a measurement: its progress, and how it ends. */
export type Message =
  | { type: 'progress'; share: number }
  | { type: 'answer'; answer: RunAnswer }
  | { type: 'failed'; message: string }
