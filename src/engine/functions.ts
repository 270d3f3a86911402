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

/** Imports them. In a maker this happens once, before its first row. */
export async function loadFunctions(feed: NormalFeed): Promise<UserFunctions> {
  const fields = new Map<string, FieldFunction>()
  for (const field of feed.fields) {
    if (field.map) fields.set(field.name, (await resolveCall(field.map, importModule)) as FieldFunction)
  }
  return { sample: feed.map && ((await resolveCall(feed.map, importModule)) as SampleFunction), fields }
}
