/** The option `log`: the folder of run logs. */
import { resolve } from 'node:path'
import { DefinitionError } from '../../basics/errors.js'

export interface LogOptions {
  folder: string
  /** When a client has opened the feed first (ms since 1970): its log goes on where the feed is opened again. */
  since?: number
}

/** What was given, or else MILLRACE_LOG, for all feeds. `false`: none. */
export function logOf(given: string | false | undefined): LogOptions | undefined {
  const folder = given ?? process.env.MILLRACE_LOG
  if (folder === undefined || folder === false || (given === undefined && folder === '')) return undefined
  if (typeof folder !== 'string' || folder === '')
    throw new DefinitionError(
      'options.log',
      `expected a folder, or false for none, not ${JSON.stringify(folder)}`,
    )
  return { folder: resolve(folder) }
}
