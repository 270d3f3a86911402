/**
 * Run logs of a folder, as they grow: what a page shows of the time before it was opened, of ranks on other nodes, which
 * write into the same folder, and of runs that have ended.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../../core/basics/errors.js'
import type { RunRecord } from '../../live/record.js'
import { groupRuns, type LoggedRank } from '../../log/read.js'
import type { Ended, HistoryPoint, RunName } from '../view.js'
import { pointOf } from './history.js'
import { LogFile } from './log-file.js'

/**
 * A rank that has written nothing for so long (ms), or for so many times what its last line covers, is not shown as running.
 * Clocks of nodes may differ by some of it.
 */
const FRESH = 15_000
const TIMES = 2.5
/** How often new files, and files that had stopped growing, are looked at (looks); and what has stopped (ms). */
const SELDOM = 5
const STOPPED = 60_000

/** A run that is known by its logs. */
export interface LoggedRunHere {
  name: RunName
  /** Null: it goes on. */
  ended: Ended | null
  files: readonly LogFile[]
}

export class Logs {
  /** By path; null: it is no run log. */
  private readonly files = new Map<string, LogFile | null>()
  private looks = 0

  /** Throws where there is no such folder. */
  constructor(private readonly folder: string) {
    try {
      readdirSync(folder)
    } catch (error) {
      throw new MillraceError(`can't read the folder of run logs ${folder}: ${(error as Error).message}`)
    }
    this.look()
  }

  /** Reads what was written since the last look. */
  look(now = Date.now()): void {
    const all = this.looks++ % SELDOM === 0
    if (all) this.findFiles()
    for (const file of this.files.values())
      if (file !== null && (all || now - file.written < STOPPED)) file.look()
  }

  /** The run to show: one that goes on before one that has ended, and the later one before the earlier. */
  newest(now = Date.now()): LoggedRunHere | undefined {
    return this.runs(now).at(-1)
  }

  /** What ranks of a feed write at present, by rank: their records of the last hour, oldest first. */
  writing(feed: string, world: number, now = Date.now()): Map<number, RunRecord[]> {
    const fresh = this.of(feed, world).filter(file => isFresh(file, now))
    for (const file of fresh) file.readHour()
    return lastOf(fresh)
  }

  /** The last hour of a feed, second by second. It ends where the last word of all ranks that go on is known. */
  history(feed: string, world: number, now = Date.now()): HistoryPoint[] {
    const files = this.of(feed, world)
    for (const file of files) file.readHour()
    const fresh = files.filter(file => isFresh(file, now))
    const known = Math.min(...fresh.map(({ records }) => records[records.length - 1].time))
    return historyOf(files, known)
  }

  /** Only the last records of a feed's logs are kept from now on. */
  forget(feed: string, world: number): void {
    for (const file of this.of(feed, world)) file.forgetHour()
  }

  /** Those that have ended, by their ends; then those that go on, by their beginnings. */
  private runs(now: number): LoggedRunHere[] {
    const found = new Map<string, LogFile>()
    const ranks: LoggedRank[] = []
    for (const [path, file] of this.files) {
      if (file === null || file.records.length === 0) continue
      const { header, records, end } = file
      found.set(path, file)
      const { rank, host, trainer } = header
      ranks.push({ rank, host, trainer, headers: [header], records, end, file: path })
    }
    const runs = groupRuns(ranks).map(({ feed, world, from, to, ranks }) => {
      const files = ranks.map(({ file }) => found.get(file) as LogFile)
      const { trainer, engine, ring } = files[0].header
      const age = Math.max(0, Math.round((now - from) / 1000))
      return {
        name: { trainer, engine, ring, feed, world, age },
        files,
        from,
        to,
        ended: files.some(file => isFresh(file, now)) ? null : endOf(files, to),
      }
    })
    const goesOn = ({ ended }: LoggedRunHere) => Number(ended === null)
    return runs.sort((a, b) => goesOn(a) - goesOn(b) || (a.ended ? a.to - b.to : a.from - b.from))
  }

  private of(feed: string, world: number): LogFile[] {
    return [...this.files.values()].filter(
      file =>
        file !== null && file.records.length > 0 && file.header.feed === feed && file.header.world === world,
    ) as LogFile[]
  }

  private findFiles(): void {
    let names: string[] = []
    try {
      names = readdirSync(this.folder).filter(name => name.endsWith('.jsonl'))
    } catch {
      // The folder is gone: what was read stays.
    }
    for (const name of names) {
      const path = join(this.folder, name)
      if (this.files.has(path)) continue
      const file = LogFile.open(path)
      if (file !== undefined) this.files.set(path, file)
    }
  }
}

/** Of each rank the records of its newest file, by rank. */
export function lastOf(files: readonly LogFile[]): Map<number, RunRecord[]> {
  const sorted = [...newestOf(files)].sort((a, b) => a.header.rank - b.header.rank)
  return new Map(sorted.map(({ header, records }) => [header.rank, records]))
}

/** Of each rank the file that was written last. */
function newestOf(files: readonly LogFile[]): LogFile[] {
  const found = new Map<number, LogFile>()
  for (const file of files) {
    const other = found.get(file.header.rank)
    if (other === undefined || timeOf(file) > timeOf(other)) found.set(file.header.rank, file)
  }
  return [...found.values()]
}

/** Second by second: a record that covers several of them stands in each. The rank that loses most decides. */
function historyOf(files: readonly LogFile[], until: number): HistoryPoint[] {
  const seconds = new Map<number, Map<number, RunRecord>>()
  for (const { records } of files)
    for (const record of records) {
      const end = Math.floor(Math.min(record.time, until) / 1000)
      const length = Math.max(1, Math.round(record.seconds))
      const last = Math.floor(record.time / 1000)
      for (let second = last - length + 1; second <= end; second++) {
        const ranks = seconds.get(second) ?? new Map<number, RunRecord>()
        seconds.set(second, ranks)
        // What the tuner did is told once.
        const isTold = second === last || record.decisions.length === 0
        ranks.set(record.rank, isTold ? record : { ...record, decisions: [] })
      }
    }
  const sorted = [...seconds].sort(([a], [b]) => a - b)
  return sorted.map(([second, ranks]) => {
    const point = pointOf([...ranks.values()])
    return { ...point, time: Math.min(point.time, 1000 * second + 999) }
  })
}

function timeOf({ records }: LogFile): number {
  return records[records.length - 1].time
}

export function isFresh({ records, end }: LogFile, now: number): boolean {
  const { time, seconds } = records[records.length - 1]
  return end === null && time >= now - Math.max(FRESH, TIMES * 1000 * seconds)
}

/** How a run has ended that is not written any more. */
export function endOf(files: readonly LogFile[], to = 0): Ended {
  const last = files.reduce((one, other) => (timeOf(other) > timeOf(one) ? other : one))
  const reason = last.end?.reason ?? 'its log does not go on: it was killed, or its node is gone'
  return { reason, time: Math.max(to, timeOf(last), last.end?.time ?? 0) }
}
