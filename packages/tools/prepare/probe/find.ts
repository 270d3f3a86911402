/** What there is to be measured below a path: files with their sizes. Nothing is opened; what probes wrote is left out. */
import { lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SourceError } from '../../../core/basics/errors.js'
import { kindOf } from '../../../core/system/files/regular.js'
import { isBenchSet } from './bench-set.js'
import type { ProbeFile } from './measures.js'

export interface FoundFiles {
  files: ProbeFile[]
  folder: boolean
  /** There are more than were looked at. */
  more: boolean
}

/** Enough to measure with. */
const MOST_FILES = 5000

/** Looks for at most `ms`. Throws where the path is not there, may not be read, or is neither file nor folder. */
export function findFiles(path: string, ms: number): FoundFiles {
  const stats = tried(path, () => statSync(path))
  if (stats.isFile()) return { files: [{ path, bytes: stats.size }], folder: false, more: false }
  if (!stats.isDirectory())
    throw new SourceError(`${path} is ${kindOf(stats)}: give a file or a folder`, { file: path })
  const found: FoundFiles = { files: [], folder: true, more: false }
  const until = performance.now() + ms
  const waiting = [path]
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    for (const entry of listed(folder, path)) {
      if (isBenchSet(entry.name)) continue
      if (found.files.length >= MOST_FILES || performance.now() > until) return { ...found, more: true }
      const full = join(folder, entry.name)
      if (entry.isDirectory()) waiting.push(full)
      else if (entry.isFile())
        found.files.push({ path: full, bytes: lstatSync(full, { throwIfNoEntry: false })?.size ?? 0 })
    }
  }
  return found
}

/** A folder below that may not be read is left out. */
function listed(folder: string, path: string) {
  const list = () => readdirSync(folder, { withFileTypes: true })
  if (folder === path) return tried(path, list)
  try {
    return list()
  } catch {
    return []
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'you may not read it',
}

function tried<T>(path: string, call: () => T): T {
  try {
    return call()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    throw new SourceError(`${path}: ${REASONS[code ?? ''] ?? message}`, { file: path, cause })
  }
}
