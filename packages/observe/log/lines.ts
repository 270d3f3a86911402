/**
 * The lines of a run log, each a JSON object. The first is the header; then one record a second; the last says how the run ended, where it was not killed. docs/measure.md has the table of keys.
 */
import type { RunRecord } from '../live/record.js'

export interface LogHeader {
  version: 1
  /** When it was begun: ms since 1970, and ms of CLOCK_MONOTONIC of its host. */
  time: number
  at: number
  millrace: string
  node: string
  host: string
  /** Processes: that writes, of the trainer, and of the engine; and the ring in that. */
  pid: number
  trainer: number
  engine: number
  ring: number
  feed: string
  rank: number
  world: number
  /** What a launcher calls the run, the same for all of its ranks. Null: there is no launcher, or it does not say. */
  run: string | null
  hashes: { order: string; content: string } | null
  /** Rows of a batch, and steps of an epoch (0: not known, or epochs differ). */
  rows: number
  stepsInEpoch: number
  /** How the feed was opened: what was given or found, as plain JSON. */
  options: Record<string, unknown>
  cores: number
  gpu: string | null
}

export interface LogEnd {
  time: number
  reason: string
}

export type LogLine = { header: LogHeader } | RunRecord | { end: LogEnd }

/** Digits that count: more would only make the file larger. */
const DIGITS = 5

/** A line as it is written. Whole numbers stay exact; others have so many digits as matter. */
export function lineText(line: LogLine): string {
  return `${JSON.stringify(line, (_, value) => (typeof value === 'number' ? shortened(value) : value))}\n`
}

function shortened(value: number): number | null {
  if (Number.isInteger(value)) return value
  if (!Number.isFinite(value)) return null
  // Times of CLOCK_MONOTONIC are large: a µs is enough of them.
  return Math.abs(value) >= 10 ** DIGITS ? Math.round(value * 1000) / 1000 : Number(value.toPrecision(DIGITS))
}
