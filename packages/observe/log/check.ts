/**
 * Checks what other processes and files say before it is used: a line of a log may be another version's, or not a log's at
 * all. What does not fit is left out, as if it had not been written.
 */
import { PART_NAMES } from '../account/parts.js'
import type { Parts } from '../evidence.js'
import type { TunerDecision } from '../live/decision.js'
import type { RunRecord } from '../live/record.js'
import type { LogEnd, LogHeader, LogLine } from './lines.js'

/** A rank from here on is none. */
const MOST_RANKS = 2 ** 20

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
  if ('header' in value) return isHeader(value.header) ? { header: value.header } : undefined
  if ('end' in value) return isEnd(value.end) ? { end: value.end } : undefined
  return isRecord(value) ? value : undefined
}

function isRecord(value: unknown): value is RunRecord {
  return (
    isObject(value) &&
    isPlace(value) &&
    areNumbers(value, ['time', 'at', 'step', 'steps', 'samples', 'bytes', 'workers', 'depth', 'bad']) &&
    isNumber(value.seconds) &&
    value.seconds > 0 &&
    ['stepMs', 'idealMs', 'lost'].every(name => isNumberOrNull(value[name])) &&
    (value.parts === null || isParts(value.parts)) &&
    (value.wait === null || areNumbers(value.wait, ['p50', 'p95', 'max'])) &&
    (value.slots === null || areNumbers(value.slots, ['ready', 'filling', 'held'])) &&
    (value.cores === null || areNumbers(value.cores, ['allowed', 'engine', 'trainer', 'others'])) &&
    (value.memory === null || (areNumbers(value.memory, ['bytes']) && isNumberOrNull(value.memory.limit))) &&
    (value.gpu === null || isGpu(value.gpu)) &&
    (value.why === null || isWhy(value.why)) &&
    Array.isArray(value.decisions) &&
    value.decisions.every(isDecision)
  )
}

export function isDecision(value: unknown): value is TunerDecision {
  return (
    areNumbers(value, ['at', 'time', 'ring', 'lost']) &&
    areTexts(value, ['feed', 'event', 'reason']) &&
    (value.knob === null || typeof value.knob === 'string') &&
    [value.from, value.to].every(one => isNumberOrNull(one) || typeof one === 'string') &&
    [value.predicted, value.measured].every(
      one => one === null || (areNumbers(one, ['gain']) && isInterval(one.interval)),
    )
  )
}

function isHeader(value: unknown): value is LogHeader {
  return (
    isObject(value) &&
    isPlace(value) &&
    areNumbers(value, ['time', 'at']) &&
    (value.run === null || typeof value.run === 'string') &&
    (value.hashes === null || areTexts(value.hashes, ['order', 'content']))
  )
}

/** Whose line it is. */
function isPlace(value: Fields): boolean {
  const rank = value.rank as number
  return (
    areTexts(value, ['host', 'feed']) &&
    areNumbers(value, ['trainer', 'engine', 'ring', 'rank', 'world']) &&
    Number.isInteger(rank) &&
    rank >= 0 &&
    rank < MOST_RANKS
  )
}

function isEnd(value: unknown): value is LogEnd {
  return areTexts(value, ['reason']) && areNumbers(value, ['time'])
}

function isParts(value: unknown): value is Parts {
  return areNumbers(value, PART_NAMES)
}

function isGpu(value: unknown): boolean {
  return (
    areTexts(value, ['name']) &&
    ['hasWork', 'smActive', 'memoryBytes', 'watts'].every(name => isNumberOrNull(value[name]))
  )
}

function isWhy(value: unknown): boolean {
  return (
    areTexts(value, ['verdict', 'sentence']) &&
    areNumbers(value, ['lost', 'seconds']) &&
    (value.second === null || typeof value.second === 'string') &&
    (value.remedy === null || isRemedy(value.remedy))
  )
}

function isRemedy(value: unknown): boolean {
  return (
    areTexts(value, ['action']) &&
    isNumberOrNull(value.predictedGain) &&
    (value.interval === null || value.interval === undefined || isInterval(value.interval))
  )
}

function isInterval(value: unknown): boolean {
  // A bound that is not finite is null in JSON.
  return Array.isArray(value) && value.length === 2 && value.every(isNumberOrNull)
}

type Fields = Record<string, unknown>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function areNumbers(value: unknown, names: readonly string[]): value is Fields {
  return isObject(value) && names.every(name => isNumber(value[name]))
}

export function areTexts(value: unknown, names: readonly string[]): value is Fields {
  return isObject(value) && names.every(name => typeof value[name] === 'string')
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isNumberOrNull(value: unknown): boolean {
  return value === null || isNumber(value)
}
