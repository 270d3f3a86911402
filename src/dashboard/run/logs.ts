/**
 * Run logs of a folder, as they grow: what a page shows of the time before it was opened, and of ranks on other nodes, which
 * write into the same folder. Of a long file only the last hour is read.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../basics/errors.js'
import type { RunRecord } from '../../observe/live/record.js'
import type { LogEnd, LogHeader, LogLine } from '../../observe/log/lines.js'
import type { HistoryPoint, RunName } from '../view.js'
import { pointOf } from './history.js'

/** How far back records are kept (ms). */
const LENGTH = 3_600_000
/** Bytes of a file's end that are read first: an hour has some 4 MB. */
const TAIL = 6 * 2 ** 20
/** Bytes within which the header ends, and bytes that are read at a time. */
const HEAD = 2 ** 18
const PART = 2 ** 20
/** A rank that has written nothing for so long (ms) is not shown as running. Clocks of nodes may differ by some of it. */
const FRESH = 15_000
/** How often new files are looked for (looks). */
const FILES_OFTEN = 5

interface LogFile {
  path: string
  /** Where the next line begins. */
  at: number
  header: LogHeader
  records: RunRecord[]
  end: LogEnd | null
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
  look(): void {
    if (this.looks++ % FILES_OFTEN === 0) this.findFiles()
    for (const file of this.files.values()) if (file !== null) this.readMore(file)
  }

  /** What ranks of a run did last that write at present, by rank. */
  now(feed: string, world: number, time = Date.now()): RunRecord[] {
    const found = new Map<number, RunRecord>()
    for (const { header, records, end } of this.of(feed, world)) {
      const last = records.at(-1)
      if (last === undefined || end !== null || last.time < time - FRESH) continue
      if (last.time > (found.get(header.rank)?.time ?? 0)) found.set(header.rank, last)
    }
    return [...found.values()].sort((a, b) => a.rank - b.rank)
  }

  /** The last hour of a feed, second by second, up to a moment. */
  history(feed: string, world: number, before = Date.now()): HistoryPoint[] {
    const seconds = new Map<number, RunRecord[]>()
    for (const { records } of this.of(feed, world))
      for (const record of records) {
        if (record.time >= before) continue
        const second = Math.floor(record.time / 1000)
        const list = seconds.get(second)
        if (list) list.push(record)
        else seconds.set(second, [record])
      }
    return [...seconds].sort(([a], [b]) => a - b).map(([, records]) => pointOf(records))
  }

  /** The run that was begun last, and why it has ended, if it has. */
  newest(time = Date.now()): { name: RunName; ended: string | null } | undefined {
    const all = [...this.files.values()].filter(file => file !== null && file.records.length > 0) as LogFile[]
    const last = all.sort((a, b) => a.header.time - b.header.time).at(-1)
    if (last === undefined) return undefined
    const { trainer, engine, ring, feed, world } = last.header
    const age = Math.round((time - last.header.time) / 1000)
    const silent = time - last.records[last.records.length - 1].time > FRESH
    const ended =
      last.end?.reason ?? (silent ? 'its log does not go on: it was killed, or its node is gone' : null)
    return { name: { trainer, engine, ring, feed, world, age }, ended }
  }

  private of(feed: string, world: number): LogFile[] {
    return [...this.files.values()].filter(
      file => file !== null && file.header.feed === feed && file.header.world === world,
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
      if (!this.files.has(path)) this.open(path)
    }
  }

  private open(path: string): void {
    try {
      const size = sizeOf(path)
      const text = read(path, 0, Math.min(size, HEAD))
      const end = text.indexOf('\n')
      if (end < 0) return // its header is being written
      const first = parse(text.slice(0, end))
      if (first === undefined || !('header' in first)) this.files.set(path, null)
      else
        this.files.set(path, {
          path,
          at: Math.max(0, size - TAIL),
          header: first.header,
          records: [],
          end: null,
        })
    } catch {
      this.files.set(path, null)
    }
  }

  private readMore(file: LogFile): void {
    try {
      for (;;) {
        const bytes = readBytes(file.path, file.at, PART)
        const end = bytes.lastIndexOf(10)
        if (end < 0) break
        // A part that begins within a line has half of one first, which is no JSON.
        for (const line of bytes.toString('utf8', 0, end).split('\n')) hear(file, parse(line))
        file.at += end + 1
      }
    } catch {
      // Gone, or not readable at present.
    }
    const old = Date.now() - LENGTH
    if (file.records.length > 0 && file.records[0].time < old)
      file.records = file.records.filter(({ time }) => time >= old)
  }
}

function hear(file: LogFile, line: LogLine | undefined): void {
  if (line === undefined) return
  // Where the feed was opened again, the file goes on.
  file.end = 'end' in line ? line.end : null
  if ('header' in line) file.header = line.header
  else if ('steps' in line) file.records.push(line)
}

function parse(line: string): LogLine | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as LogLine) : undefined
  } catch {
    return undefined // half a line
  }
}

function read(path: string, at: number, bytes: number): string {
  return readBytes(path, at, bytes).toString('utf8')
}

function readBytes(path: string, at: number, bytes: number): Buffer {
  const fd = openSync(path, 'r')
  try {
    const into = Buffer.alloc(bytes)
    return into.subarray(0, readSync(fd, into, 0, bytes, at))
  } finally {
    closeSync(fd)
  }
}

function sizeOf(path: string): number {
  const fd = openSync(path, 'r')
  try {
    return fstatSync(fd).size
  } finally {
    closeSync(fd)
  }
}
