/**
 * bench.jsonl: a line about where and how it was measured, a line for each run, one for each configuration that could not run, and at
 * the end a summary.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../../core/basics/errors.js'
import { writeWhole } from '../../../core/system/files/draft.js'
import { readRegular } from '../../../core/system/files/regular.js'
import { PART_NAMES } from '../../../observe/account/parts.js'
import { type Configuration, configurationOf } from '../grid/configuration.js'
import type { RunFigures } from '../measure/task.js'
import type { Choice } from './choose.js'
import type { Stamp } from './stamp.js'
import type { MeasuredRun, Summary } from './summary.js'

const VERSION = 1

export const BENCH_FILE = 'bench.jsonl'

/** How it was measured. */
export interface Parameters {
  /** Length of a step (ms). */
  stepMs: number
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
  const path = fileOf(place)
  const found: Partial<BenchFile> & Pick<BenchFile, 'runs' | 'failed'> = { runs: [], failed: [] }
  for (const [i, line] of readRegular(path).split('\n').entries()) {
    if (line.trim() === '') continue
    const { type, ...rest } = parsed(line, path, i + 1)
    if (type === 'bench') found.header = checkedHeader(rest, path)
    else if (type === 'run') found.runs.push(checkedRun(rest, path, i + 1))
    else if (type === 'failed') found.failed.push(checkedFailure(rest, path, i + 1))
    else if (type === 'summary') found.summary = rest as unknown as BenchFile['summary']
  }
  const { header } = found
  if (header === undefined || found.runs.length === 0)
    throw new MillraceError(
      `${path} holds no measurements: \`millrace bench FEED --out DIR\` writes DIR/${BENCH_FILE}`,
    )
  return { ...found, header }
}

/** Whether the file of `place` is the one that a bench with this `--out` writes. */
export function isWrittenTo(out: string, place: string): boolean {
  const [a, b] = [fileOf(place), join(out, BENCH_FILE)].map(path => statSync(path, { throwIfNoEntry: false }))
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino
}

function fileOf(place: string): string {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() ? join(place, BENCH_FILE) : place
}

/** Whether a file begins as one of these. */
export function isBench(line: string): boolean {
  try {
    return (JSON.parse(line) as { type?: unknown } | null)?.type === 'bench'
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

/** All that a comparison reads of a run. */
function checkedRun(run: Record<string, unknown>, path: string, line: number): MeasuredRun {
  const { figures, round } = run as unknown as Partial<MeasuredRun>
  const wrong = Number.isInteger(round) ? wrongFigure(figures) : 'round'
  if (wrong !== undefined)
    throw new MillraceError(`${path}: line ${line} is no run: "${wrong}" is missing or wrong`)
  return { ...(run as unknown as MeasuredRun), configuration: checkedConfiguration(run, path, line) }
}

function wrongFigure(figures: Partial<RunFigures> | undefined): string | undefined {
  const { parts, verdict } = figures ?? {}
  for (const name of ['samplesPerSecond', 'stepMs', 'steps', 'samples'] as const)
    if (!((figures?.[name] ?? -1) >= 0)) return name
  if (!PART_NAMES.every(part => typeof parts?.[part] === 'number')) return 'parts'
  return typeof verdict === 'string' ? undefined : 'verdict'
}

function checkedFailure(run: Record<string, unknown>, path: string, line: number): FailedRun {
  return { ...(run as unknown as FailedRun), configuration: checkedConfiguration(run, path, line) }
}

/** A configuration's name is a name of files, and part of command lines: it has to be what its settings make. */
function checkedConfiguration(run: Record<string, unknown>, path: string, line: number): Configuration {
  const { name, role, workers, depth, affinity, cache } = (run.configuration ?? {}) as Configuration
  const whole = (value: unknown, least: number) => Number.isSafeInteger(value) && (value as number) >= least
  const right =
    whole(workers, 0) &&
    whole(depth, 1) &&
    (affinity === 'off' || affinity === 'auto') &&
    (cache === null || whole(cache, 0)) &&
    (role === 'baseline' || role === 'default' || role === 'variation')
  const made = right ? configurationOf({ workers, depth, affinity, cache }, role) : undefined
  if (made !== undefined && made.name === name) return made
  throw new MillraceError(
    `${path}: line ${line}: "${name}" is no configuration of bench: its name and settings don't agree`,
  )
}

/** Seven digits are more than any of this is known by. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) && Number.isFinite(value)
    ? Number(value.toPrecision(7))
    : value
}
