/** The functions of the user's that a feed calls, found in their modules: on the sample, and on single fields. */
import { resolveCall } from '../define/call.js'
import type { Random } from '../define/random.js'
import type { NormalFeed } from '../define/types.js'
import type { Column } from '../source/source.js'
import { importModule } from '../system/typescript.js'

export type SampleFunction = (
  sample: Record<string, Column>,
  random: Random,
) => Record<string, Column> | Promise<Record<string, Column>>

export type FieldFunction = (value: unknown, random: Random) => unknown

export interface UserFunctions {
  sample?: SampleFunction
  fields: Map<string, FieldFunction>
}

/** What a function of the user's threw, whatever it was: marks the stage at which the sample failed. */
export class MapError extends Error {
  constructor(override readonly cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause))
  }
}

/** Imports them. In a maker this happens once, before its first row. */
export async function loadFunctions(feed: NormalFeed): Promise<UserFunctions> {
  const fields = new Map<string, FieldFunction>()
  for (const field of feed.fields) {
    if (field.map) {
      const fn = (await resolveCall(field.map, importModule)) as FieldFunction
      fields.set(field.name, (value, random) => guarded(() => fn(value, random)))
    }
  }
  if (!feed.map) return { fields }
  const sample = (await resolveCall(feed.map, importModule)) as SampleFunction
  return { sample: (columns, random) => guarded(() => sample(columns, random), checkColumns), fields }
}

/** Calls a function, which may be asynchronous, and checks its result. */
function guarded<T>(call: () => T | Promise<T>, check: (result: T) => T = result => result): T | Promise<T> {
  try {
    const result = call()
    return result instanceof Promise ? result.then(check).catch(failed) : check(result)
  } catch (error) {
    failed(error)
  }
}

function failed(error: unknown): never {
  throw new MapError(error)
}

function checkColumns(columns: Record<string, Column>): Record<string, Column> {
  if (typeof columns === 'object' && columns !== null) return columns
  throw new TypeError(
    `the function over the sample must return an object of columns, and returned ${String(columns)}`,
  )
}
