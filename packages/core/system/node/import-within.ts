/** Imports a user's module, in so many seconds at most. */
import { DefinitionError, MillraceError } from '../../basics/errors.js'
import { importModule } from './typescript.js'

/** Of a timer (ms). */
const LONGEST = 2 ** 31 - 1

/**
 * The module's exports, or a DefinitionError that names it: `what` it is, as in "the module of a function". An `await` at
 * the top of a module may never end, and would stop everything else that this thread has to do.
 */
export async function importWithin(
  url: string,
  seconds: number,
  what: string,
): Promise<Record<string, unknown>> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new DefinitionError(
      '',
      `${url} is still loading after ${seconds} s: an "await" at its top level does not end. ` +
        'Do that inside the function, or raise the option "timeout"',
    )
    timer = setTimeout(reject, Math.min(seconds * 1000, LONGEST), error)
  })
  try {
    return await Promise.race([importModule(url), late])
  } catch (error) {
    if (error instanceof MillraceError) throw error
    const message = error instanceof Error ? error.message : String(error)
    const reason = message.replace(/ imported from .*/s, '')
    throw new DefinitionError('', `${url}, ${what}, can't be imported: ${reason}`)
  } finally {
    clearTimeout(timer)
  }
}
