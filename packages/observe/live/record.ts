/**
 * What is known of one second of one rank: a line of the run log, and what pages and progress are made of. Plain JSON.
 */

import type { Knob } from '../../core/deliver/ring-tuner.js'
import type { Accounting, Parts, Remedy, VerdictName } from '../evidence.js'

export interface RunRecord {
  version: 1
  /** When the second ended: ms since 1970, and ms of CLOCK_MONOTONIC of its host. */
  time: number
  at: number
  /** Seconds that it covers: 1, unless the writer was held up. */
  seconds: number
  /** Where: the machine, the trainer's process and the engine's, and the ring in that. */
  host: string
  trainer: number
  engine: number
  ring: number
  feed: string
  rank: number
  world: number
  /** Steps since the run was opened; those of this second, and their samples and bytes. */
  step: number
  steps: number
  samples: number
  bytes: number
  /** Means of this second's steps (ms). Null where no step ended in it. */
  stepMs: number | null
  idealMs: number | null
  idealFrom: Accounting['idealFrom']
  /** 1 − ideal / step, and where the time of the steps went. A second without an end of a step: null. */
  lost: number | null
  parts: Parts | null
  wait: { p50: number; p95: number; max: number } | null
  workers: number
  depth: number
  /** Batches that are ready, being made, and held by the trainer. Null: the engine's ring can't be seen from here. */
  slots: { ready: number; filling: number; held: number } | null
  /** Cores: that may be used, and used by the engine's threads, the trainer's process and all others. */
  cores: { allowed: number; engine: number; trainer: number; others: number } | null
  /** Of engine and trainer; and what limits it, where that is known. */
  memory: { bytes: number; limit: number | null } | null
  gpu: {
    name: string
    hasWork: number | null
    smActive: number | null
    memoryBytes: number | null
    watts: number | null
  } | null
  /** Bad samples since the run was opened. */
  bad: number
  /** Why, over the last `seconds` (some 15): a diagnosis in short. Null while too little was seen. */
  why: {
    verdict: VerdictName
    second: VerdictName | null
    sentence: string
    /** The best remedy. */
    remedy: Remedy | null
    lost: number
    seconds: number
  } | null
  /** What the tuner did in this second. */
  decisions: TunerDecision[]
}

export interface TunerDecision {
  /** ms of CLOCK_MONOTONIC of the engine's host, and ms since 1970. */
  at: number
  time: number
  /** The ring in the engine, and its feed's name. */
  ring: number
  feed: string
  /**
   * tried: set, and being checked. kept, reverted: the check is over. refused: nothing was set, for the reason given.
   * frozen: all is well, nothing is tried while it stays so. woken: the work has changed, so it looks again.
   */
  event: 'tried' | 'kept' | 'reverted' | 'refused' | 'frozen' | 'woken'
  knob: Knob | null
  from: number | string | null
  to: number | string | null
  /** One sentence: what was seen, what was done, what came of it. */
  reason: string
  /** What the run loses before it (0…1). */
  lost: number
  /** Gains: new rate / old rate − 1, with 95 % intervals. */
  predicted: { gain: number; interval: [number, number] } | null
  measured: { gain: number; interval: [number, number] } | null
}
