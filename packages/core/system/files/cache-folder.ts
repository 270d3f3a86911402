/** The user's cache folder: for indexes of data in read-only folders, and for compiled kernels. */
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

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
