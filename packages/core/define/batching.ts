/** Batches by tokens, and groups of like lengths: what fits together, and which field's lengths they go by. */
import { DefinitionError } from '../basics/errors.js'
import { at, unknownName } from '../basics/mistakes.js'
import { layoutOf } from './layout.js'
import type { BatchJson, FeedJson, FieldJson, NormalBatch, NormalOrder, OrderJson } from './types.js'

/** Lengths of the field, and no column. */
export const BY_TOKENS = 'tokens'
/** As many as make the share of padding small, and still mix lengths well: with 1,000 it is little less. */
const BATCHES = 64

type Fields = Readonly<Record<string, FieldJson>>

/** Refuses what can't be batched by tokens, or in groups. */
export function checkBins(feed: FeedJson, path: string): void {
  const { batch, order, fields, source } = feed
  const group = typeof order === 'object' && order.group !== undefined
  if (typeof batch === 'object') {
    const here = at(path, 'batch')
    if (batch.tokens === undefined) {
      for (const key of ['rows', 'field', 'by'] as const)
        if (batch[key] !== undefined) throw new DefinitionError(at(here, key), 'goes with tokens only')
    } else {
      if ((batch.apply ?? []).length > 0)
        throw new DefinitionError(
          at(here, 'apply'),
          "batches by tokens can't be mixed: rows are mixed within batches of equal size",
        )
      lengthField(fields, batch.field, here)
    }
  }
  const tokens = typeof batch === 'object' && batch.tokens !== undefined
  if ((tokens || group) && 'blend' in source && source.blend.per === 'batch') {
    const what = tokens ? 'batch.tokens' : 'order.group'
    throw new DefinitionError(
      at(at(at(path, 'source'), 'blend'), 'per'),
      `"batch" can't be used with ${what}, which says itself what a batch is made of`,
    )
  }
  if (group) normalGroup(order, batch, fields, path)
}

export function normalBins(batch: number | BatchJson, fields: Fields): Pick<NormalBatch, 'bins'> {
  if (typeof batch === 'number' || batch.tokens === undefined) return {}
  const { tokens, rows, by, field } = batch
  return {
    bins: {
      tokens,
      field: lengthField(fields, field, 'batch'),
      ...(rows !== undefined && { rows }),
      ...(by !== undefined && { by }),
    },
  }
}

export function normalGroup(
  order: OrderJson,
  batch: number | BatchJson,
  fields: Fields,
  path = '',
): Pick<NormalOrder, 'group'> {
  if (typeof order === 'string' || order.group === undefined) return {}
  const { by = BY_TOKENS, batches = BATCHES } = order.group
  if (by !== BY_TOKENS) return { group: { by, batches } }
  const named = typeof batch === 'object' ? batch.field : undefined
  const field = lengthField(fields, named, at(at(path, 'order'), 'group'))
  return { group: { by, batches, field } }
}

/** The field whose length counts. */
function lengthField(fields: Fields, named: string | undefined, path: string): string {
  if (named !== undefined && !Object.hasOwn(fields, named))
    throw unknownName(at(path, 'field'), 'field', named, Object.keys(fields))
  // What follows a picture is cut as that is, by chance: its length is another in each epoch.
  const varying = Object.keys(fields).filter(
    name => layoutOf(name, fields).form !== 'dense' && fields[name].follow === undefined,
  )
  if (named === undefined && varying.length > 0) return varying[0]
  if (named !== undefined && varying.includes(named)) return named
  throw new DefinitionError(
    path,
    named === undefined
      ? 'no field has rows of varying length: give one ragged or pad, or count rows by size'
      : `the rows of "${named}" are equally long, or follow a picture; of varying length: ${varying.join(', ') || 'none'}`,
  )
}
