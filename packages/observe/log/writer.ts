/**
 * Writes a run log: one file for each rank, line by line. A line is written whole or not at all: by one call that appends it,
 * and what a full disk took of it in part is cut off again. After kill -9 the file has all lines up to the last second.
 *
 * A line has about 1 kB. In the first day there is one a second (some 80 MB), after that one every 10 s (8 MB a day); the
 * file never gets larger than 1 GiB, which is some four months.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { MillraceError } from '../../core/basics/errors.js'
import { makeFolder } from '../../core/system/files/folder.js'
import { type LogHeader, type LogLine, lineText } from './lines.js'

/** How long a line is written each second, and how long lines cover after that (s). */
const FINE = 86_400
const COARSE = 10
/** Bytes of a file at most. */
const MOST_BYTES = 2 ** 30
/** Characters of a feed's or a host's name in that of a file. */
const NAME = 40

export class LogWriter {
  private constructor(
    private fd: number | undefined,
    readonly path: string,
    private readonly begun: number,
  ) {}

  /** Makes the folder, where it is not there, and a new file in it. Throws where that can't be. `goOn`: with the file that is there. */
  static open(folder: string, header: LogHeader, goOn = false): LogWriter {
    let path = folder
    try {
      makeFolder(folder)
      const name = fileName(header)
      for (let number = 1; ; number++) {
        path = join(folder, `${name}${number === 1 ? '' : `-${number}`}.jsonl`)
        try {
          const writer = new LogWriter(openSync(path, goOn ? 'a' : 'ax', 0o644), path, header.time)
          writer.write({ header })
          return writer
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        }
      }
    } catch (error) {
      throw new MillraceError(
        `the run log can't be written to ${path}: ${(error as Error).message}. Give a folder that can be written to, or no "log"`,
      )
    }
  }

  /** Seconds that the next record should cover: 1, and later 10. */
  seconds(now: number): number {
    return now - this.begun < 1000 * FINE ? 1 : COARSE
  }

  /** Throws where the disk is full or gone: then nothing more is written. */
  write(line: LogLine): void {
    if (this.fd === undefined) return
    const bytes = Buffer.from(lineText(line))
    try {
      const { size } = fstatSync(this.fd)
      if (size + bytes.length > MOST_BYTES) throw new Error(`it has ${MOST_BYTES / 2 ** 30} GiB`)
      const written = writeSync(this.fd, bytes)
      if (written < bytes.length) {
        ftruncateSync(this.fd, size)
        throw new Error('the disk is full')
      }
    } catch (error) {
      this.close()
      throw new MillraceError(`the run log ${this.path} ends here: ${(error as Error).message}`)
    }
  }

  close(): void {
    if (this.fd !== undefined) closeSync(this.fd)
    this.fd = undefined
  }
}

/** `20260131T120000.000Z-train-rank0-gpu07-4711`: by time, feed, rank, machine and trainer. */
function fileName({ time, feed, rank, host, trainer }: LogHeader): string {
  const when = new Date(time).toISOString().replace(/[-:]/g, '')
  return `${when}-${plain(feed) || 'feed'}-rank${rank}-${plain(host) || 'host'}-${trainer}`
}

function plain(text: string): string {
  const words = text.replace(/[^A-Za-z0-9._]+/g, '-').slice(0, NAME)
  return words.replace(/^[-.]+|-+$/g, '')
}
