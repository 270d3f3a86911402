/**
 * Finds the index of some data, or has it built once. It lies beside the data; where that folder can't be written, in the
 * user's cache folder; where that can't be written either, in memory. Writing is tried, since modes say little on network
 * file systems, in containers and for root.
 */
import { dirname } from 'node:path'
import { SourceError } from '../../basics/errors.js'
import { cachedPath } from '../../system/files/cache-folder.js'
import { Draft } from '../../system/files/draft.js'
import { makeFolder } from '../../system/files/folder.js'
import { IndexFile, type IndexHeader, readHeader } from './file.js'
import { withLock } from './lock.js'
import { disown, distrust, isDisowned } from './trust.js'
import type { IndexTarget } from './write.js'

/** Indexes of up to this size in all are compared with their checksums when they are opened: some 30 ms. In bytes. */
export const CHECKED_AT_ONCE = 96 << 20

/** An index that is looked for. */
export interface IndexSought {
  /** What is indexed, as an absolute path: names the index in the cache folder, and in messages. */
  data: string
  /** The path beside the data; without it the index lies in the cache folder only. */
  beside?: string
  /** Why an index that was found doesn't describe the data; undefined when it does. */
  problem(header: IndexHeader, path: string): string | undefined
  /** An index that is there is not believed: it is made anew, and compared. */
  doubted?: boolean
  /** Leaves the checksums of columns to those who first use them. */
  unchecked?: boolean
  notice?: (text: string) => void
}

/** One that is made where there is none. */
export interface IndexWanted extends IndexSought {
  /** Makes the index at `target`, with `writeIndex`. */
  build(target: IndexTarget): Promise<void>
}

export interface IndexFound {
  path: string
  header: IndexHeader
}

/** How many indexes this process has made. */
export let made = 0

/** Indexes that have no other place, by what is indexed. They live as long as the process. */
const inMemory = new Map<string, Draft>()

/** An index that is there and fits. Synchronous and quick: this is all that opening costs, but for the first time. */
export function findIndex(wanted: IndexSought): IndexFound | undefined {
  return (
    (wanted.beside === undefined ? undefined : foundAt(wanted.beside, wanted)) ??
    foundAt(cachedPath(wanted.data), wanted) ??
    heldInMemory(wanted).map(path => foundAt(path, wanted))[0]
  )
}

function foundAt(path: string, wanted: IndexSought): IndexFound | undefined {
  const header = fitting(path, wanted)
  return header && { path, header }
}

/** The index that fits, or a new one. Of several processes that want it at once, one builds and the others wait. */
export async function obtainIndex(wanted: IndexWanted): Promise<IndexFound> {
  const found = wanted.doubted ? undefined : findIndex(wanted)
  if (found !== undefined) return found
  const refusals: string[] = []
  for (const path of places(wanted)) {
    try {
      if (path !== wanted.beside) makeCache(dirname(path))
      const built = await withLock(`${path}.lock`, () => buildOnce(path, wanted), {
        notice: wanted.notice,
        what: `indexes ${wanted.data}`,
      })
      if (wanted.doubted) disownOthers(built, wanted)
      return built
    } catch (error) {
      if (!isRefusal(error)) throw error
      refusals.push(
        error instanceof NotOurs ? error.message : `${path} (${(error as NodeJS.ErrnoException).code})`,
      )
    }
  }
  return buildInMemory(wanted, refusals)
}

/** Where no folder can be made (/proc, a home that autofs does not know) the system says ENOENT: nothing is missing there. */
function makeCache(path: string): void {
  try {
    makeFolder(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code === 'ENOENT' ? Object.assign(error as Error, { code: 'EROFS' }) : error
  }
}

/** Under the lock: another process may have built it while we waited. */
async function buildOnce(path: string, wanted: IndexWanted): Promise<IndexFound> {
  const existing = fitting(path, wanted, true)
  if (existing !== undefined && !wanted.doubted) return { path, header: existing }
  await wanted.build(path)
  made++
  const header = readHeader(path)
  if (existing !== undefined && existing.checksum !== header.checksum)
    wanted.notice?.(disagreed(wanted, path))
  return { path, header }
}

/** The data were looked at anew: an index elsewhere that says otherwise is wrong, and may be found before this one. */
function disownOthers({ path: mine, header }: IndexFound, wanted: IndexWanted): void {
  for (const path of places(wanted)) {
    const other = path === mine ? undefined : fitting(path, wanted)
    if (other === undefined || other.checksum === header.checksum) continue
    wanted.notice?.(disagreed(wanted, path))
    disown(path, other.checksum)
  }
}

function disagreed({ data }: IndexWanted, path: string): string {
  return `the index of ${data} did not agree with the data and was rebuilt (${path})`
}

async function buildInMemory(wanted: IndexWanted, refusals: readonly string[]): Promise<IndexFound> {
  if (process.platform !== 'linux') {
    throw new SourceError(
      `${wanted.data}: no place for its index: can't write ${refusals.join(' nor ')}; ` +
        'set MILLRACE_CACHE to a folder that can be written',
      { file: wanted.data },
    )
  }
  const draft = Draft.inMemory()
  await wanted.build(draft)
  inMemory.get(wanted.data)?.discard()
  inMemory.set(wanted.data, draft)
  wanted.notice?.(
    `the index of ${wanted.data} is kept in memory, and made again by the next run: can't write ` +
      `${refusals.join(' nor ')}; set MILLRACE_CACHE to a folder that can be written`,
  )
  return { path: draft.path, header: readHeader(draft.path) }
}

/** An index of another user's stands in the place: it is neither used nor replaced. */
class NotOurs extends Error {}

/**
 * The header of the index at `path` if it is whole and fits. Who is about to build there is told what is wrong with one
 * that is not, and kept from replacing another user's.
 */
function fitting(path: string, wanted: IndexSought, building = false): IndexHeader | undefined {
  let problem: string | undefined
  try {
    const header = readHeader(path, stats => {
      const foreign = distrust(path, stats)
      if (foreign !== undefined) throw new NotOurs(foreign)
    })
    problem = wanted.problem(header, path) ?? damage(path, header, wanted)
    if (problem === undefined) return header
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (['ENOENT', 'ENOTDIR'].includes(code) || (error instanceof NotOurs && !building)) return undefined
    if (error instanceof NotOurs) throw error
    problem = (error as Error).message
  }
  if (building) wanted.notice?.(`the index of ${wanted.data} is rebuilt: ${problem}`)
  return undefined
}

/** What the checksums of the columns say. Beyond a size, columns are checked when they are first used. */
function damage(path: string, header: IndexHeader, { unchecked }: IndexSought): string | undefined {
  if (isDisowned(path, header.checksum)) return 'it was found not to fit the data'
  if (!unchecked && header.bytes <= CHECKED_AT_ONCE) new IndexFile(path, false, header).check()
  return undefined
}

function places({ data, beside }: IndexSought): string[] {
  return beside === undefined ? [cachedPath(data)] : [beside, cachedPath(data)]
}

function heldInMemory({ data }: IndexSought): string[] {
  const draft = inMemory.get(data)
  return draft === undefined ? [] : [draft.path]
}

const REFUSALS = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOSPC', 'EDQUOT', 'ENOTREG', 'EISDIR']

/** Whether a place can't be written, or must not be. */
function isRefusal(error: unknown): boolean {
  if (error instanceof NotOurs) return true
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall !== undefined && REFUSALS.includes(code ?? '')
}
