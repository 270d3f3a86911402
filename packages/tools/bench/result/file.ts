/**
 * bench.jsonl: a line about where and how it was measured, a line for each run, one for each configuration that could not run, and at
 * the end a summary.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../../core/basics/errors.js'
import {
  integer,
  isObject,
  number,
  object,
  oneOf,
  or,
  type Parser,
  single,
  text,
} from '../../../core/basics/shape.js'
import { writeWhole } from '../../../core/system/files/draft.js'
import { readRegular } from '../../../core/system/files/regular.js'
import { PART_NAMES } from '../../../observe/account/parts.js'
import { type Configuration, configurationOf } from '../grid/configuration.js'
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

const figure = number({ min: 0 })
/** All that a comparison reads of a header and of a run. */
const some = single<object>('an object', isObject)
const headerShape = object(
  { machine: some, parameters: some, versions: some, data: some },
  'a header',
  'ignored',
)
const figuresShape = object(
  {
    ...{ samplesPerSecond: figure, stepMs: figure, steps: figure, samples: figure },
    parts: object(Object.fromEntries(PART_NAMES.map(name => [name, number()])), 'parts', 'ignored'),
    verdict: text,
  },
  'figures',
  'ignored',
)
const runShape = object({ round: integer(), figures: figuresShape }, 'a run', 'ignored')
const settingShape = object(
  {
    name: text,
    role: oneOf(['baseline', 'default', 'variation']),
    workers: integer({ min: 0 }),
    depth: integer({ min: 1 }),
    affinity: oneOf(['off', 'auto']),
    cache: or(null, integer({ min: 0 })),
  },
  'a configuration',
  'ignored',
)

/** A value of a line that has this shape; `what` is said where it has not. */
function checked<T>(shape: Parser<T>, value: unknown, what: string): T {
  try {
    return shape(value, '')
  } catch (error) {
    throw new MillraceError(`${what}: ${(error as Error).message}`)
  }
}

function checkedHeader(header: Record<string, unknown>, path: string): Header {
  if (header.version !== VERSION)
    throw new MillraceError(
      `${path} has version ${header.version} of ${BENCH_FILE}, this Millrace reads version ${VERSION}: measure it again`,
    )
  checked(headerShape, header, `${path}: its first line`)
  return { type: 'bench', ...header } as unknown as Header
}

function checkedRun(run: Record<string, unknown>, path: string, line: number): MeasuredRun {
  checked(runShape, run, `${path}: line ${line} is no run`)
  return { ...(run as unknown as MeasuredRun), configuration: checkedConfiguration(run, path, line) }
}

function checkedFailure(run: Record<string, unknown>, path: string, line: number): FailedRun {
  return { ...(run as unknown as FailedRun), configuration: checkedConfiguration(run, path, line) }
}

/** A configuration's name is a name of files, and part of command lines: it has to be what its settings make. */
function checkedConfiguration(run: Record<string, unknown>, path: string, line: number): Configuration {
  const what = `${path}: line ${line} has no configuration of bench`
  const { name, role, ...setting } = checked(settingShape, run.configuration, what)
  const made = configurationOf(setting, role)
  if (made.name === name) return made
  throw new MillraceError(`${what}: its settings are not called "${name}"`)
}

/** Seven digits are more than any of this is known by. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) && Number.isFinite(value)
    ? Number(value.toPrecision(7))
    : value
}
