/**
 * Opens what is read as data, index or lock: regular files and nothing else. Opening a FIFO would wait until a writer
 * comes, and reading a device may never end. So a path is opened without waiting, and looked at before it is read.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, type Stats } from 'node:fs'

/** Flags with which `open` never waits. */
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

export interface OpenedFile {
  fd: number
  stats: Stats
}

/** Opens a regular file for reading. For anything else: an error with code EISDIR or ENOTREG, at once. */
export function openRegular(path: string): OpenedFile {
  const fd = openWithoutWaiting(path)
  try {
    const stats = fstatSync(fd)
    refuseOthers(path, stats)
    return { fd, stats }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** The text of a regular file. */
export function readRegular(path: string): string {
  const { fd } = openRegular(path)
  try {
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** Bytes of one read: Linux gives no more than 2 GiB at once. */
const MOST_AT_ONCE = 1 << 30

/** Fills `into` with bytes of an open file; gives how many there are, fewer only where the file ends. */
export function readFrom(fd: number, into: Uint8Array, position: number): number {
  for (let at = 0; at < into.length; ) {
    const got = readSync(fd, into, at, Math.min(into.length - at, MOST_AT_ONCE), position + at)
    if (got === 0) return at
    at += got
  }
  return into.length
}

/** Opens a path of any kind for reading; the caller looks at its stats. */
export function openWithoutWaiting(path: string): number {
  return openSync(path, WITHOUT_WAITING)
}

/** Throws unless the stats are those of a regular file. */
export function refuseOthers(path: string, stats: Stats): void {
  if (stats.isFile()) return
  const code = stats.isDirectory() ? 'EISDIR' : 'ENOTREG'
  throw Object.assign(new Error(`${path} is ${kindOf(stats)}, not a regular file`), { code, syscall: 'open' })
}

/** What a path is, in words: "a named pipe (FIFO)". */
export function kindOf(stats: Stats): string {
  if (stats.isFile()) return 'a regular file'
  if (stats.isDirectory()) return 'a folder'
  if (stats.isFIFO()) return 'a named pipe (FIFO)'
  return stats.isSocket() ? 'a socket' : 'a device'
}
