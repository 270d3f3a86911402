/**
 * One run log as it grows. Of each only the header and the last record are kept, until its run is shown: then its last hour
 * is read. A file that has not grown is not opened.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import type { RunRecord } from '../../live/record.js'
import { parseLine } from '../../log/check.js'
import type { LogEnd, LogHeader } from '../../log/lines.js'

/** How far back from its last record records are kept (ms). */
const LENGTH = 3_600_000
/** Bytes of a file's end: that an hour has at most, and that surely hold its last record. */
const HOUR = 6 * 2 ** 20
const LAST = 2 ** 16
/** Bytes within which the header ends, and bytes that are read at a time. */
const HEAD = 2 ** 18
const PART = 2 ** 20

export class LogFile {
  records: RunRecord[] = []
  end: LogEnd | null = null
  /** When it was last written to (ms since 1970, by the clock of its disk). */
  written = 0
  /** Where the next line begins. */
  private at = 0
  private size = 0
  /** Whether the last hour is kept, or only the last record. */
  private whole = false

  private constructor(
    private readonly path: string,
    public header: LogHeader,
  ) {}

  /** Null: it is no run log. Undefined: its header is being written. */
  static open(path: string): LogFile | null | undefined {
    try {
      const text = readBytes(path, 0, HEAD).toString('utf8')
      const end = text.indexOf('\n')
      if (end < 0) return text.length < HEAD ? undefined : null
      const first = parseLine(text.slice(0, end))
      if (first === undefined || !('header' in first)) return null
      const file = new LogFile(path, first.header)
      file.at = Math.max(0, statSync(path).size - LAST)
      file.look()
      return file
    } catch {
      return null
    }
  }

  /** Reads what was written since the last look. */
  look(): void {
    try {
      const { size, mtimeMs } = statSync(this.path)
      if (size === this.size) return
      this.size = size
      this.written = mtimeMs
      this.read()
    } catch {
      // Gone, or not readable at present: what was read stays.
    }
  }

  /** Its run is shown: keeps the last hour from now on. */
  readHour(): void {
    if (this.whole) return
    this.whole = true
    this.at = Math.max(0, this.size - HOUR)
    this.records = []
    try {
      this.read()
    } catch {
      // As above.
    }
  }

  /** Another run is shown: the last record will do. */
  forgetHour(): void {
    this.whole = false
    this.records = this.records.slice(-1)
  }

  private read(): void {
    while (this.at < this.size) {
      const bytes = readBytes(this.path, this.at, Math.min(PART, this.size - this.at))
      const end = bytes.lastIndexOf(10)
      if (end < 0) break
      // A part that begins within a line has half of one first, which is no JSON.
      for (const line of bytes.toString('utf8', 0, end).split('\n')) this.hear(line)
      this.at += end + 1
    }
    const last = this.records.at(-1)
    if (last === undefined) return
    if (!this.whole) this.records = [last]
    else if (this.records[0].time < last.time - 1.1 * LENGTH)
      this.records = this.records.filter(({ time }) => time >= last.time - LENGTH)
  }

  private hear(text: string): void {
    const line = parseLine(text)
    if (line === undefined) return
    // Where the feed was opened again, the file goes on.
    if ('end' in line) this.end = line.end
    else {
      this.end = null
      if ('header' in line) this.header = line.header
      else this.records.push(line)
    }
  }
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
