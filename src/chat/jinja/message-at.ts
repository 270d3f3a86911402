/** Which message of a conversation a place in a template is about. */
import type { Scope, Value } from './package.js'

/** Messages by their values, which loops and variables of a template hand on. */
export type MessageNumbers = ReadonlyMap<Value, number>

/** The message of the innermost loop or variable; undefined where there is none, or more than one. */
export function messageAt(scope: Scope, messages: MessageNumbers): number | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const values = at.loop === undefined ? at.variables.values() : [at.loop.items[at.loop.at]]
    const found = new Set<number>()
    for (const value of values) {
      const number = messages.get(value)
      if (number !== undefined) found.add(number)
    }
    if (found.size > 0) return found.size === 1 ? [...found][0] : undefined
  }
  return undefined
}
