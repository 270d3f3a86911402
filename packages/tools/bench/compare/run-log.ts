/** Run logs, to be compared: the seconds of a run (RunRecord lines, in a file or in all files of a folder), aligned by step. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../../core/basics/errors.js'
import { readRegular } from '../../../core/system/files/regular.js'
import type { VerdictName } from '../../../observe/evidence.js'
import type { RunRecord } from '../../../observe/live/record.js'
import { type Block, fewer, joined, partsInMs } from './blocks.js'

/** Seconds at the beginning that are left out: workers start, and code is compiled. */
const WARM_UP = 5
const MOST_BLOCKS = 20
/** Stretches of steps that are shown beside each other. */
const STRETCHES = 6

export interface LoggedRun {
  records: RunRecord[]
  ranks: number
  workers: number
  depth: number
  verdict: VerdictName | null
}

export interface Aligned {
  /** Steps that both runs have. */
  from: number
  to: number
  a: Block[]
  b: Block[]
  /** ms of a step in stretches of these. */
  stretches: { from: number; to: number; a: number | null; b: number | null }[]
}

/** Whether a file that begins with this line is a run log: with a header, or at once with a second. */
export function beginsLog(line: string): boolean {
  return isRunRecord(line) || /^\{"header":\{/.test(line)
}

function isRunRecord(line: string): boolean {
  try {
    const record = JSON.parse(line) as Partial<RunRecord>
    return record.version === 1 && typeof record.step === 'number' && typeof record.rank === 'number'
  } catch {
    return false
  }
}

export function readLog(place: string): LoggedRun {
  const files = statSync(place).isDirectory()
    ? readdirSync(place)
        .filter(name => name.endsWith('.jsonl'))
        .map(name => join(place, name))
    : [place]
  const records = files.flatMap(recordsIn).sort((a, b) => a.time - b.time)
  const stepped = records.filter(({ steps, stepMs, parts }) => steps > 0 && stepMs !== null && parts !== null)
  if (stepped.length === 0) throw new MillraceError(`${place} has no second in which a step ended`)
  refuseSeveral(stepped, place)
  const last = stepped[stepped.length - 1]
  const verdicts = new Map<VerdictName, number>()
  for (const { why, seconds } of stepped)
    if (why) verdicts.set(why.verdict, (verdicts.get(why.verdict) ?? 0) + seconds)
  const [verdict = null] = [...verdicts].sort((x, y) => y[1] - x[1]).map(([name]) => name)
  const ranks = new Set(stepped.map(({ rank }) => rank)).size
  return { records: stepped, ranks, workers: last.workers, depth: last.depth, verdict }
}

/** A folder may have the logs of several runs: then each rank was there more than once. */
function refuseSeveral(records: readonly RunRecord[], place: string): void {
  const trainers = new Map<number, string>()
  for (const { rank, host, trainer } of records) {
    const whose = `${host}/${trainer}`
    if ((trainers.get(rank) ?? whose) !== whose)
      throw new MillraceError(`${place} has several runs of rank ${rank}: name the file of one`)
    trainers.set(rank, whose)
  }
}

/** The seconds of both whose steps both have; the first seconds of each rank are left out. */
export function align(a: LoggedRun, b: LoggedRun): Aligned {
  const [x, y] = [a, b].map(({ records }) => afterWarmUp(records))
  const from = Math.max(first(x), first(y))
  const to = Math.min(last(x), last(y))
  if (!(to > from))
    throw new MillraceError(
      `the runs have no steps in common: ${first(x)} to ${last(x)} and ${first(y)} to ${last(y)}`,
    )
  const within = (records: readonly RunRecord[], start: number, end: number) =>
    records.filter(({ step }) => step > start && step <= end).map(blockOf)
  const stretches = Array.from({ length: STRETCHES }, (_, i) => {
    const start = from + Math.round((i * (to - from)) / STRETCHES)
    const end = from + Math.round(((i + 1) * (to - from)) / STRETCHES)
    const mean = (blocks: Block[]) => {
      const { ms, steps } = joined(blocks)
      return steps > 0 ? ms / steps : null
    }
    return { from: start, to: end, a: mean(within(x, start, end)), b: mean(within(y, start, end)) }
  })
  return {
    from,
    to,
    stretches,
    a: fewer(within(x, from, to), MOST_BLOCKS),
    b: fewer(within(y, from, to), MOST_BLOCKS),
  }
}

function afterWarmUp(records: readonly RunRecord[]): RunRecord[] {
  const begun = new Map<string, number>()
  const whose = ({ host, trainer, ring, rank }: RunRecord) => [host, trainer, ring, rank].join('/')
  for (const record of records) if (!begun.has(whose(record))) begun.set(whose(record), record.time)
  const later = records.filter(record => record.time - begun.get(whose(record))! >= 1000 * WARM_UP)
  return later.length > 1 ? later : [...records] // a run of few seconds is taken whole
}

function recordsIn(file: string): RunRecord[] {
  const lines = readRegular(file).split('\n')
  // The last line may be cut: its writer was killed, or still writes.
  return lines.filter(isRunRecord).map(line => JSON.parse(line) as RunRecord)
}

function blockOf({ steps, samples, stepMs, parts }: RunRecord): Block {
  const ms = steps * stepMs!
  return { steps, samples, ms, parts: partsInMs(parts!, ms) }
}

function first(records: readonly RunRecord[]): number {
  return records.reduce((least, { step, steps }) => Math.min(least, step - steps), Infinity)
}

function last(records: readonly RunRecord[]): number {
  return records.reduce((most, { step }) => Math.max(most, step), 0)
}
