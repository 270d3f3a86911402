/**
 * Reads run logs: a file, or a folder with the files of several ranks, nodes and runs. A line that was being written when its
 * process was killed is left out. Ranks of one run are found by what their headers say, and aligned by time.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../core/basics/errors.js'
import type { RunRecord } from '../live/record.js'
import { parseLine } from './check.js'
import type { LogEnd, LogHeader, LogLine } from './lines.js'

/** One rank of a run. */
export interface LoggedRank {
  rank: number
  host: string
  trainer: number
  /** Several where the feed was opened again: its decoder has changed, or its engine was replaced. */
  headers: LogHeader[]
  records: RunRecord[]
  /** How it ended. Null: it still runs, or was killed. */
  end: LogEnd | null
  file: string
}

/** One run. */
export interface LoggedRun {
  feed: string
  world: number
  hashes: LogHeader['hashes']
  /** ms since 1970. */
  from: number
  to: number
  /** By rank; not all may have been found. */
  ranks: LoggedRank[]
}

/** A second of a run: what each rank did. */
export interface LoggedMoment {
  /** ms since 1970, in whole seconds. */
  time: number
  /** By rank; null: nothing is known of it for this second. */
  ranks: (RunRecord | null)[]
}

/** The runs of a folder or of a file, oldest first. */
export function readRunLog(path: string): LoggedRun[] {
  return groupRuns(filesIn(path).flatMap(file => readLogFile(file) ?? []))
}

/** One file. Undefined: it is no run log. */
export function readLogFile(path: string): LoggedRank | undefined {
  const text = readFileSync(path, 'utf8')
  const found: LogLine[] = []
  for (const line of text.split('\n')) {
    const value = parseLine(line)
    if (value !== undefined) found.push(value)
  }
  const [first] = found
  if (first === undefined || !('header' in first)) return undefined
  const { header } = first
  const rank: LoggedRank = {
    rank: header.rank,
    host: header.host,
    trainer: header.trainer,
    headers: [header],
    records: [],
    end: null,
    file: path,
  }
  for (const line of found.slice(1)) {
    // Where the feed was opened again, the file goes on.
    if (!('end' in line)) rank.end = null
    if ('header' in line) rank.headers.push(line.header)
    else if ('end' in line) rank.end = line.end
    else rank.records.push(line)
  }
  return rank
}

/** Second by second. A record that covers several seconds stands in each of them. */
export function alignRanks(run: LoggedRun): LoggedMoment[] {
  const most = Math.max(...run.ranks.map(({ rank }) => rank))
  const moments = new Map<number, LoggedMoment>()
  for (const { rank, records } of run.ranks)
    for (const record of records) {
      const end = Math.floor(record.time / 1000)
      const length = Math.max(1, Math.round(record.seconds))
      for (let second = end - length + 1; second <= end; second++) {
        let moment = moments.get(second)
        if (moment === undefined) {
          moment = { time: 1000 * second, ranks: Array(most + 1).fill(null) }
          moments.set(second, moment)
        }
        moment.ranks[rank] = record
      }
    }
  return [...moments.values()].sort((a, b) => a.time - b.time)
}

function filesIn(path: string): string[] {
  let names: string[]
  try {
    if (!statSync(path).isDirectory()) return [path]
    names = readdirSync(path).filter(name => name.endsWith('.jsonl'))
  } catch (error) {
    throw new MillraceError(`can't read the run log ${path}: ${(error as Error).message}`)
  }
  return names.sort().map(name => join(path, name))
}

/** Ranks of one run: of the same feed and number of ranks, and of one launcher, or at one time. */
export function groupRuns(files: LoggedRank[]): LoggedRun[] {
  const runs: LoggedRun[] = []
  for (const file of files.sort((a, b) => beginOf(a) - beginOf(b))) {
    const run = runs.findLast(one => belongs(one, file))
    if (run === undefined) {
      const [{ feed, world, hashes }] = file.headers
      runs.push({ feed, world, hashes, from: beginOf(file), to: endOf(file), ranks: [file] })
      continue
    }
    run.to = Math.max(run.to, endOf(file))
    run.ranks.push(file)
  }
  for (const run of runs) run.ranks.sort((a, b) => a.rank - b.rank)
  return runs
}

function belongs(run: LoggedRun, file: LoggedRank): boolean {
  const [header] = file.headers
  const [first] = run.ranks[0].headers
  if (run.feed !== header.feed || run.world !== header.world || run.hashes?.order !== header.hashes?.order)
    return false
  if (run.ranks.some(({ rank }) => rank === file.rank)) return false
  if (first.run !== null || header.run !== null) return first.run === header.run
  return beginOf(file) <= run.to + SLACK
}

/** Clocks of machines differ by so much (ms). */
const SLACK = 5000

function beginOf({ headers }: LoggedRank): number {
  return headers[0].time
}

function endOf({ headers, records, end }: LoggedRank): number {
  return end?.time ?? records.at(-1)?.time ?? headers[headers.length - 1].time
}
