/**
 * Checks what other processes and files say before it is used: a line of a log may be another version's, or not a log's at
 * all. What does not fit is left out, as if it had not been written.
 */
import { PART_NAMES } from '../account/parts.js'
import type { RunRecord, TunerDecision } from '../live/record.js'
import type { LogEnd, LogHeader, LogLine } from './lines.js'

/** Ranks are smaller than this. */
const MOST_RANKS = 2 ** 20

type Check = (value: unknown) => boolean
type Checks = Record<string, Check>

/** A line of a run log. Undefined: it is half a line, or none. */
export function parseLine(text: string): LogLine | undefined {
  if (text === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined // half a line: its writer was killed
  }
  if (!isObject(value)) return undefined
  if ('header' in value) return isHeader(value.header) ? { header: value.header as LogHeader } : undefined
  if ('end' in value) return isEnd(value.end) ? { end: value.end as LogEnd } : undefined
  return isRecord(value) ? (value as unknown as RunRecord) : undefined
}

export function isDecision(value: unknown): value is TunerDecision {
  return DECISION(value)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function areNumbers(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  return objectOf(each(names, number))(value)
}

export function areTexts(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  return objectOf(each(names, text))(value)
}

const number: Check = value => typeof value === 'number' && Number.isFinite(value)
const text: Check = value => typeof value === 'string'
const orNull =
  (check: Check): Check =>
  value =>
    value === null || check(value)
const either =
  (...checks: Check[]): Check =>
  value =>
    checks.some(check => check(value))
/** An object with these parts, whatever else it has. */
const objectOf =
  (parts: Checks): Check =>
  value =>
    isObject(value) && Object.entries(parts).every(([name, check]) => check(value[name]))
const each = (names: readonly string[], check: Check): Checks =>
  Object.fromEntries(names.map(name => [name, check]))

// A bound that is not finite is null in JSON.
const interval: Check = value => Array.isArray(value) && value.length === 2 && value.every(orNull(number))

/** Whose line it is. */
const PLACE: Checks = {
  ...each(['host', 'feed'], text),
  ...each(['trainer', 'engine', 'ring', 'world'], number),
  rank: value => Number.isInteger(value) && (value as number) >= 0 && (value as number) < MOST_RANKS,
}

const isHeader = objectOf({
  ...PLACE,
  ...each(['time', 'at'], number),
  run: orNull(text),
  hashes: orNull(objectOf({ order: text, content: text })),
})

const isEnd = objectOf({ reason: text, time: number })

const gains = objectOf({ gain: number, interval })
const DECISION = objectOf({
  ...each(['at', 'time', 'ring', 'lost'], number),
  ...each(['feed', 'event', 'reason'], text),
  knob: orNull(text),
  ...each(['from', 'to'], orNull(either(number, text))),
  ...each(['predicted', 'measured'], orNull(gains)),
})

const remedy = objectOf({
  action: text,
  predictedGain: orNull(number),
  interval: value => value === null || value === undefined || interval(value),
})

const isRecord = objectOf({
  ...PLACE,
  ...each(['time', 'at', 'step', 'steps', 'samples', 'bytes', 'workers', 'depth', 'bad'], number),
  seconds: value => number(value) && (value as number) > 0,
  ...each(['stepMs', 'idealMs', 'lost'], orNull(number)),
  parts: orNull(objectOf(each(PART_NAMES, number))),
  wait: orNull(objectOf(each(['p50', 'p95', 'max'], number))),
  slots: orNull(objectOf(each(['ready', 'filling', 'held'], number))),
  cores: orNull(objectOf(each(['allowed', 'engine', 'trainer', 'others'], number))),
  memory: orNull(objectOf({ bytes: number, limit: orNull(number) })),
  gpu: orNull(
    objectOf({ name: text, ...each(['hasWork', 'smActive', 'memoryBytes', 'watts'], orNull(number)) }),
  ),
  why: orNull(
    objectOf({
      ...each(['verdict', 'sentence'], text),
      ...each(['lost', 'seconds'], number),
      second: orNull(text),
      remedy: orNull(remedy),
    }),
  ),
  decisions: value => Array.isArray(value) && value.every(DECISION),
})
