/**
 * Step lengths of a recorded run, for a trainer that is not as even as a sleep: a number a line (ms), or JSON lines with `stepMs`
 * (a run log), `duration` of `training end` in seconds (per-step records), or `compute` (ms).
 */
import { createHash } from 'node:crypto'
import { MillraceError } from '../../core/basics/errors.js'
import { readRegular } from '../../core/system/files/regular.js'

export interface Profile {
  /** Length of each step (ms). After the last one comes the first again. */
  ms: number[]
  mean: number
  hash: string
}

/** Steps at most: a longer profile is cut. */
const MOST = 100_000
/** A step of a day is no step. */
const LONGEST = 86_400_000

export function readProfile(path: string): Profile {
  const ms = readRegular(path)
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' || line.startsWith('#') ? [] : stepsOf(line, path, i + 1)))
    .slice(0, MOST)
  if (ms.length === 0)
    throw new MillraceError(
      `${path} has no steps: a profile has a number of ms a line, or JSON lines with "stepMs" (a run log, or per-step records)`,
    )
  const text = ms.map(one => one.toFixed(4)).join('\n')
  return {
    ms,
    mean: ms.reduce((sum, one) => sum + one, 0) / ms.length,
    hash: createHash('sha256').update(text).digest('hex').slice(0, 16),
  }
}

function stepsOf(line: string, path: string, number: number): number[] {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new MillraceError(
      `${path}: line ${number} is neither a number nor JSON: ${JSON.stringify(line.slice(0, 40))}`,
    )
  }
  if (typeof value === 'number') return [checked(value, path, number)]
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MillraceError(`${path}: line ${number} is neither a number nor an object`)
  const { event, duration, compute, stepMs, idealMs, steps } = value as Record<string, unknown>
  if (event === 'training end' && typeof duration === 'number')
    return [checked(1000 * duration, path, number)]
  if (typeof compute === 'number') return [checked(compute, path, number)]
  // A line of a run log is a second of steps. What the data cost is not the trainer's: the ideal step is, where it is known.
  const mean = typeof idealMs === 'number' ? idealMs : stepMs
  if (typeof mean !== 'number') return []
  const count = typeof steps === 'number' && steps >= 1 ? Math.min(MOST, Math.floor(steps)) : 1
  return new Array(count).fill(checked(mean, path, number))
}

function checked(ms: number, path: string, line: number): number {
  if (ms >= 0 && ms <= LONGEST) return ms
  throw new MillraceError(`${path}: line ${line}: a step of ${ms} ms is none`)
}
