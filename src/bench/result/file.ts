/**
 * bench.jsonl: a line about where and how it was measured, a line for each run, one for each configuration that could not run, and at
 * the end a summary.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../basics/errors.js'
import { writeWhole } from '../../system/files/draft.js'
import { readRegular } from '../../system/files/regular.js'
import type { Configuration } from '../grid/configuration.js'
import type { Choice } from './choose.js'
import type { Stamp } from './stamp.js'
import type { MeasuredRun, Summary } from './summary.js'

const VERSION = 1

export const BENCH_FILE = 'bench.jsonl'

/** How it was measured. */
export interface Parameters {
  /** Length of a step (ms), the mean of a profile; and the profile's hash. */
  stepMs: number
  profile: string | null
  rounds: number
  seconds: number
  steps: number | null
  epochs: number | null
  warmUp: 'steps' | 'epoch'
}

export interface Header extends Stamp {
  type: 'bench'
  version: typeof VERSION
  /** ms since 1970. */
  time: number
  feed: string
  parameters: Parameters
  /** Of the configurations that were measured. */
  grid: string
}

export interface FailedRun {
  configuration: Configuration
  round: number
  message: string
}

export interface BenchFile {
  header: Header
  runs: MeasuredRun[]
  failed: FailedRun[]
  /** Missing where the bench was ended before it was done. */
  summary?: { configurations: Summary[]; choice: Choice | null }
}

export function writeBench(path: string, { header, runs, failed, summary }: BenchFile): void {
  const lines: object[] = [
    header,
    ...runs.map(run => ({ type: 'run', ...run })),
    ...failed.map(run => ({ type: 'failed', ...run })),
    ...(summary ? [{ type: 'summary', ...summary }] : []),
  ]
  writeWhole(path, `${lines.map(line => JSON.stringify(line, rounded)).join('\n')}\n`)
}

/** Of a file, or of a folder that `--out` named. */
export function readBench(place: string): BenchFile {
  const path = statSync(place, { throwIfNoEntry: false })?.isDirectory() ? join(place, BENCH_FILE) : place
  const found: Partial<BenchFile> & Pick<BenchFile, 'runs' | 'failed'> = { runs: [], failed: [] }
  for (const [i, line] of readRegular(path).split('\n').entries()) {
    if (line.trim() === '') continue
    const { type, ...rest } = parsed(line, path, i + 1)
    if (type === 'bench') found.header = checkedHeader(rest, path)
    else if (type === 'run') found.runs.push(checkedRun(rest, path, i + 1))
    else if (type === 'failed') found.failed.push(rest as unknown as FailedRun)
    else if (type === 'summary') found.summary = rest as unknown as BenchFile['summary']
  }
  const { header } = found
  if (header === undefined || found.runs.length === 0)
    throw new MillraceError(
      `${path} holds no measurements: \`millrace bench FEED --out DIR\` writes DIR/${BENCH_FILE}`,
    )
  return { ...found, header }
}

/** Whether a file begins as one of these. */
export function isBench(line: string): boolean {
  try {
    return (JSON.parse(line) as { type?: unknown }).type === 'bench'
  } catch {
    return false
  }
}

function parsed(line: string, path: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw new MillraceError(`${path}: line ${number} is no JSON object: is it a ${BENCH_FILE}, and whole?`)
}

function checkedHeader(header: Record<string, unknown>, path: string): Header {
  if (header.version !== VERSION)
    throw new MillraceError(
      `${path} has version ${header.version} of ${BENCH_FILE}, this Millrace reads version ${VERSION}: measure it again`,
    )
  const objects = ['machine', 'parameters', 'versions', 'data']
  const missing = objects.find(name => typeof header[name] !== 'object' || header[name] === null)
  if (missing !== undefined) throw new MillraceError(`${path}: its first line lacks "${missing}"`)
  return { type: 'bench', ...header } as unknown as Header
}

function checkedRun(run: Record<string, unknown>, path: string, line: number): MeasuredRun {
  const { configuration, figures, round } = run as unknown as Partial<MeasuredRun>
  if (
    configuration?.name === undefined ||
    !(figures && figures.samplesPerSecond >= 0) ||
    !Number.isInteger(round)
  )
    throw new MillraceError(`${path}: line ${line} is no run`)
  return run as unknown as MeasuredRun
}

/** Seven digits are more than any of this is known by. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) && Number.isFinite(value)
    ? Number(value.toPrecision(7))
    : value
}
