/** What there is to be measured below a path: files with their sizes, and folders. Nothing is opened; what probes wrote is left out. */
import { type Dirent, lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SourceError } from '../../basics/errors.js'
import { kindOf } from '../../system/files/regular.js'
import { isBenchSet } from './bench-set.js'
import type { ProbeFile } from './work.js'

export interface FoundFiles {
  files: ProbeFile[]
  /** Those that were looked into, the path first; none where the path is a file. */
  folders: string[]
  /** There are more than were looked at. */
  more: boolean
}

/** Enough to measure with. */
const MOST_FILES = 5000

/** Looks for at most `ms`. Throws where the path is not there, may not be read, or is neither file nor folder. */
export function findFiles(path: string, ms: number): FoundFiles {
  let stats: ReturnType<typeof statSync>
  try {
    stats = statSync(path)
  } catch (error) {
    throw refused(path, error)
  }
  if (stats.isFile()) return { files: [{ path, bytes: stats.size }], folders: [], more: false }
  if (!stats.isDirectory())
    throw new SourceError(`${path} is ${kindOf(stats)}: give a file or a folder`, { file: path })
  const found: FoundFiles = { files: [], folders: [], more: false }
  const until = performance.now() + ms
  const waiting = [path]
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const entries = listed(folder, folder === path)
    found.folders.push(folder)
    for (const entry of entries) {
      if (isBenchSet(entry.name)) continue
      if (found.files.length >= MOST_FILES || performance.now() > until) return { ...found, more: true }
      const full = join(folder, entry.name)
      if (entry.isDirectory()) waiting.push(full)
      else if (entry.isFile()) found.files.push({ path: full, bytes: sizeOf(full) })
    }
  }
  return found
}

/** A folder below that may not be read is left out. */
function listed(folder: string, first: boolean): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (first) throw refused(folder, error)
    return []
  }
}

function sizeOf(path: string): number {
  try {
    return lstatSync(path).size
  } catch {
    return 0 // it has gone meanwhile
  }
}

function refused(path: string, error: unknown): SourceError {
  const { code, message } = error as NodeJS.ErrnoException
  const why =
    code === 'ENOENT'
      ? 'there is no such file or folder'
      : code === 'EACCES'
        ? 'you may not read it'
        : message
  return new SourceError(`${path}: ${why}`, { file: path, cause: error })
}
