/**
 * Decides whether an index may be used, by its owner. One of this user or of root may. One of another user may only where
 * that user alone decides what lies there: the folder is theirs, and others can write neither it nor the file. An index that
 * proved wrong is removed, or, where that is not permitted, marked in the cache folder.
 */
import { existsSync, readFileSync, rmSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { ChangedError } from '../../basics/errors.js'
import { cachedPath, cacheFolder } from '../../system/files/cache-folder.js'
import { writeWhole } from '../../system/files/draft.js'
import { makeFolder } from '../../system/files/folder.js'

/** Bits of a mode by which a group or everybody may write. */
const WRITABLE_BY_OTHERS = 0o022

/** Why an index must not be used for whose it is; undefined when it may. */
export function distrust(path: string, stats: Stats, me = process.geteuid?.()): string | undefined {
  if (me === undefined || stats.uid === me || stats.uid === 0) return undefined
  const folder = statSync(dirname(path))
  const theirs = folder.uid === stats.uid && (folder.mode & WRITABLE_BY_OTHERS) === 0
  if (theirs && (stats.mode & WRITABLE_BY_OTHERS) === 0) return undefined
  return `${path} belongs to user ${stats.uid} and lies where others can write, so it is not used`
}

/** An index that is not what it should be is not used again: the next one who opens the data makes another. */
export function disown(path: string, checksum: number): void {
  try {
    rmSync(path)
  } catch {
    try {
      const mark = markOf(path)
      makeFolder(dirname(mark))
      writeWhole(mark, String(checksum))
    } catch {
      // No place for the mark: the index will be found wrong again, and said to be so.
    }
  }
}

/** The same for the index of a file that has changed since. */
export function disownIndexOf({ index }: ChangedError): void {
  if (index !== undefined) disown(index.path, index.checksum)
}

/** Whether this very index was disowned. */
export function isDisowned(path: string, checksum: number): boolean {
  if (!existsSync(marks())) return false // as nearly always: no name has to be hashed
  const mark = markOf(path)
  return existsSync(mark) && readFileSync(mark, 'latin1') === String(checksum)
}

/** The folder of marks, and the mark of an index in it. */
function marks(): string {
  return join(cacheFolder(), 'wrong')
}

function markOf(path: string): string {
  return join(marks(), basename(cachedPath(path)))
}
