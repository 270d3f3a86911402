/**
 * Opens what is read as data, index or lock: regular files and nothing else. Opening a FIFO would wait until a writer
 * comes, and reading a device may never end. So a path is opened without waiting, and looked at before it is read.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'

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
