/** What the tuner of an engine decided, and why: written into its notes, and from there into traces, run logs and pages. */
import type { Knob } from '../../core/deliver/ring-tuner.js'

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
