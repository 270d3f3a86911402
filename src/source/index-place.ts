/**
 * Where an index lies, and that it is built once: beside the data, or, where that folder can't be written, under
 * the user's cache folder. Whether it can be written is found out by trying, since modes say little on network
 * file systems, in containers and for root.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { SourceError } from '../errors.js'
import { type IndexHeader, readHeader } from './index-file.js'
import { withLock } from './lock.js'

export interface IndexWanted {
  /** What is indexed, as an absolute path: names the index in the cache folder, and in messages. */
  data: string
  /** The path beside the data; without it the index lies in the cache folder only. */
  beside?: string
  /** Why an index that was found doesn't describe the data; undefined when it does. */
  problem(header: IndexHeader, path: string): string | undefined
  /** Makes the index at `path`. */
  build(path: string): Promise<void>
  notice?: (text: string) => void
}

export interface IndexFound {
  path: string
  header: IndexHeader
}

/** `MILLRACE_CACHE`, or `millrace` in the user's cache folder. */
export function cacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  if (environment.MILLRACE_CACHE) return environment.MILLRACE_CACHE
  return join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'millrace')
}

/** The index's path in the cache folder: readable name, unique by a hash of the data's path. */
export function cachedPath(data: string): string {
  const hash = createHash('sha256').update(data).digest('hex').slice(0, 24)
  return join(cacheFolder(), 'index', `${basename(data)}-${hash}.millrace`)
}

/** An index that is there and fits. Synchronous and quick: this is all that opening costs, but for the first time. */
export function findIndex(wanted: IndexWanted): IndexFound | undefined {
  for (const path of places(wanted)) {
    const header = fitting(path, wanted)
    if (header !== undefined) return { path, header }
  }
  return undefined
}

/** The index that fits, or a new one. Of several processes that want it at once, one builds and the others wait. */
export async function obtainIndex(wanted: IndexWanted): Promise<IndexFound> {
  const found = findIndex(wanted)
  if (found !== undefined) return found
  const refusals: string[] = []
  for (const path of places(wanted)) {
    try {
      if (path !== wanted.beside) mkdirSync(dirname(path), { recursive: true })
      return await withLock(`${path}.lock`, () => buildOnce(path, wanted))
    } catch (error) {
      if (!isReadOnly(error)) throw error
      refusals.push(`${path} (${(error as NodeJS.ErrnoException).code})`)
    }
  }
  throw new SourceError(
    `${wanted.data}: no place for its index: can't write ${refusals.join(' nor ')}; ` +
      'set MILLRACE_CACHE to a folder that can be written',
    { file: wanted.data },
  )
}

/** Under the lock: somebody else may have built it while we waited. */
async function buildOnce(path: string, wanted: IndexWanted): Promise<IndexFound> {
  const existing = fitting(path, wanted, wanted.notice)
  if (existing !== undefined) return { path, header: existing }
  await wanted.build(path)
  return { path, header: readHeader(path) }
}

/** The header of the index at `path` if it is whole and fits; says what is wrong with one that is not. */
function fitting(
  path: string,
  wanted: IndexWanted,
  notice?: (text: string) => void,
): IndexHeader | undefined {
  if (!existsSync(path)) return undefined
  let problem: string | undefined
  try {
    const header = readHeader(path)
    problem = wanted.problem(header, path)
    if (problem === undefined) return header
  } catch (error) {
    problem = (error as Error).message
  }
  notice?.(`the index of ${wanted.data} is rebuilt: ${problem}`)
  return undefined
}

function places({ data, beside }: IndexWanted): string[] {
  return beside === undefined ? [cachedPath(data)] : [beside, cachedPath(data)]
}

function isReadOnly(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  return (
    syscall !== undefined && ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOSPC', 'EDQUOT'].includes(code ?? '')
  )
}
