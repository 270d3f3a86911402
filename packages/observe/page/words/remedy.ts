/** What can be done, in words. */
import type { Remedy } from '../../evidence.js'

/**
 * `7 workers instead of 4`, and the rest of the action: `--workers 7, or …`. `many`: each of several ranks has workers
 * of its own.
 */
export function titleOf({ action }: Pick<Remedy, 'action'>, many = false): { title: string; detail: string } {
  const colon = action.indexOf(': ')
  if (colon < 0) return { title: action, detail: '' }
  const title = action.slice(0, colon).replace(' in place of ', ' instead of ')
  return {
    title: many ? title.replace(/ workers?(?= instead of )/, '$& a rank') : title,
    detail: action.slice(colon + 2),
  }
}

/** A word in capitals (PID, CORES, PATH) stands for what the reader has to fill in. */
const PLACEHOLDER = /\b[A-Z]{3,}\b/

/** What can be copied and used as it is, and what that is. Null: nothing. */
export function copyOf({ command }: Pick<Remedy, 'command'>): { text: string; what: string } | null {
  if (command === undefined || PLACEHOLDER.test(command)) return null
  return { text: command, what: /^--|^\w+=/.test(command) ? 'option' : 'command' }
}
