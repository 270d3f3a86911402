/** The indexes of many data files: those that are there at once, the others a few at a time. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { inParallel } from '../../core/basics/parallel.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import { type FileIndexKind, findFileIndex, obtainFileIndex } from '../../core/source/index/of-file.js'
import { CHECKED_AT_ONCE, type IndexFound } from '../../core/source/index/place.js'
import type { OpenContext } from '../../core/source/source.js'
import type { Stores } from '../../core/store/stores.js'

/** Files that are read at the same time: enough to keep a disk busy while headers are parsed. */
const SCANS = 4
/** Of fewer files the indexes that are there are looked at too quickly to tell of it. */
const MANY = 4096
/** After as many files the event loop has a turn: signals are heard, and progress is shown. */
const YIELD_EVERY_FILES = 64

/**
 * The indexes of all files; their kind may depend on the file. `what` is told while files are read: "indexing tar shards". `atOnce`: how
 * many of them are.
 */
export async function obtainFileIndexes<File extends DataFile>(
  kind: FileIndexKind<File> | ((file: File) => FileIndexKind<File>),
  files: readonly File[],
  context: OpenContext,
  stores: Stores,
  what: string,
  atOnce = SCANS,
): Promise<IndexFound[]> {
  const kindOf = typeof kind === 'function' ? kind : () => kind
  const indexes = context.check === 'nothing' ? [] : await findAll(kindOf, files, context)
  const missing = files.flatMap((_, i) => (indexes[i] === undefined ? [i] : []))
  const total = missing.reduce((sum, i) => sum + files[i].bytes, 0)
  let done = 0
  await inParallel(missing, atOnce, async i => {
    let seen = 0
    const report = (bytes: number): void => {
      done += bytes - seen
      seen = bytes
      context.progress?.(done, total, what, 'bytes')
    }
    indexes[i] = await obtainFileIndex(kindOf(files[i]), files[i], context, stores, report)
    report(files[i].bytes)
    if (i % YIELD_EVERY_FILES === 0) await nextTurn()
  })
  return indexes as IndexFound[]
}

/** The indexes that are there. Beyond a size their checksums are left to the makers, so that opening stays quick. */
async function findAll<File extends DataFile>(
  kindOf: (file: File) => FileIndexKind<File>,
  files: readonly File[],
  { progress }: OpenContext,
): Promise<(IndexFound | undefined)[]> {
  let bytes = 0
  const found: (IndexFound | undefined)[] = []
  for (const file of files) {
    const index = findFileIndex(kindOf(file), file, bytes > CHECKED_AT_ONCE)
    bytes += index?.header.bytes ?? 0
    found.push(index)
    if (found.length % YIELD_EVERY_FILES > 0) continue
    if (files.length > MANY) progress?.(found.length, files.length, 'looking at indexes', 'files')
    await nextTurn()
  }
  return found
}
