/** What can be done, in words. */
import type { Remedy } from '../../../observe/evidence.js'

/** `7 workers instead of 4`, and the rest of the action: `--workers 7, or …`. */
export function titleOf({ action }: Pick<Remedy, 'action'>): { title: string; detail: string } {
  const colon = action.indexOf(': ')
  if (colon < 0) return { title: action, detail: '' }
  return {
    title: action.slice(0, colon).replace(' in place of ', ' instead of '),
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
