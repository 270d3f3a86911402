/** Adds columns to those that must be in the index of a source that is opened. */
import type { OpenContext } from '../source.js'

export function withIndexed(context: OpenContext, names: readonly string[]): OpenContext {
  if (names.length === 0) return context
  return { ...context, indexed: [...new Set([...(context.indexed ?? []), ...names])] }
}
