/** From a definition as written to its normal form: every shorthand written out, every default filled in. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expandHome } from '../basics/path.js'
import { normalBins, normalGroup } from './batching.js'
import { isPython } from './build/call.js'
import { generatedLayout, withKernelFields } from './check/kernel.js'
import { checkMissing } from './check/missing.js'
import { normalMegatron } from './check/order/megatron.js'
import { parseSource } from './check/sources.js'
import { withPairFields } from './check/tokens/chat.js'
import { flatLayout, tokensOfRow, withPhaseSeeds, withTokenFields } from './check/tokens/fields.js'
import { validateFeed } from './check/validate.js'
import { decoderOf, isOpenField, writtenColumns } from './kind.js'
import { layoutOf } from './layout.js'
import { batchOps, layoutInBatch } from './operator.js'
import { checkPlugins } from './plugin-sources.js'
import type {
  BatchJson,
  CallJson,
  FeedJson,
  FieldJson,
  NormalBatch,
  NormalFeed,
  NormalField,
  NormalOp,
  NormalOrder,
  OnErrorJson,
  OrderJson,
} from './types.js'

/** Bad samples that a run survives, where the definition lets it survive any and gives no number. */
const DEFAULT_BUDGET = 100

/**
 * The normal form of a feed, checked. Relative paths in it are relative to the folder `root`; it may have sources of these
 * plugins, which are loaded.
 */
export function normalizeFeed(
  definition: unknown,
  root: string,
  plugins: readonly string[] = [],
): NormalFeed {
  const json = withTokenFields(withPairFields(withKernelFields(validateFeed(definition)))) as FeedJson
  const order = {
    ...normalOrder(json.order ?? 'none'),
    ...normalGroup(json.order ?? 'none', json.batch, json.fields),
  }
  const batch = normalBatch(json.batch, order, json.fields)
  const followers = Object.keys(json.fields).filter(name => json.fields[name].follow !== undefined)
  const leaders = Object.keys(json.fields).filter(name => json.fields[name].follow === undefined)
  const seed = order.kind === 'none' ? 0 : order.seed
  const source = withPhaseSeeds(parseSource(json.source, 'source'), seed)
  checkPlugins(source, plugins)
  const rowTokens = tokensOfRow(source)
  const fields = [...leaders, ...followers].map(name => {
    const field = normalField(name, json.fields, batch.apply, root)
    return 'kernel' in json.source
      ? { ...field, layout: generatedLayout(field.layout) }
      : { ...field, layout: flatLayout(field, source) }
  })
  return {
    source,
    ...(json.main && fields.some(isOpenField) && { main: parseSource(json.main, 'main') }),
    order,
    seed,
    fields,
    ...(json.map && { map: absolute(json.map, root) }),
    batch,
    onError: normalOnError(json.onError ?? 'fail'),
    root,
    ...(plugins.length > 0 && { plugins }),
    ...(rowTokens !== undefined && { rowTokens }),
  }
}

function normalOrder(order: OrderJson): NormalOrder {
  if (order === 'none') return { kind: 'none' }
  if (order === 'megatron') return normalMegatron({})
  if ('megatron' in order && order.megatron !== undefined) return normalMegatron(order.megatron)
  const { seed = 0 } = order as { seed?: number }
  if ('weights' in order && order.weights !== undefined) {
    const { weights, samples } = order
    return { kind: 'weights', weights, ...(samples !== undefined && { samples }), seed }
  }
  const { shuffle } = order as { shuffle: 'global' | { window: number } }
  return shuffle === 'global' ? { kind: 'global', seed } : { kind: 'window', window: shuffle.window, seed }
}

function normalBatch(
  batch: number | BatchJson,
  order: NormalOrder,
  fields: Record<string, FieldJson>,
): NormalBatch {
  const { size, global, last, apply = [] } = typeof batch === 'number' ? { size: batch } : batch
  return {
    ...(size !== undefined && { size }),
    ...(global !== undefined && { global }),
    ...normalBins(batch, fields),
    // What a shuffled epoch leaves over comes up in another; what an ordered pass leaves over would never be seen.
    last: last ?? (order.kind === 'none' ? 'keep' : 'drop'),
    apply: batchOps(apply, fields, 'batch.apply'),
  }
}

function normalField(
  name: string,
  fields: Record<string, FieldJson>,
  mixed: readonly NormalOp[],
  root: string,
): NormalField {
  const layout = layoutInBatch(layoutOf(name, fields), mixed, fields[name].follow)
  checkMissing(fields[name], layout, `fields.${name}`)
  const { as, follow, classes, scale = 1, minArea = 0, compression, missing, map } = fields[name]
  return {
    name,
    from: writtenColumns(fields[name]),
    as,
    apply: decoderOf({ as }).rules.operators?.(name, fields, 'fields') ?? [],
    ...(follow !== undefined && { follow }),
    ...(classes !== undefined && { classes }),
    scale,
    ...(readsAsStored(fields[name], fields) && { orientation: 'stored' }),
    minArea,
    ...(compression !== undefined && { compression }),
    ...(missing !== undefined && { missing }),
    ...(map && { map: absolute(map, root) }),
    layout,
  }
}

/** Pictures that follow another are read as that is, unless they say otherwise: they have one frame. */
function readsAsStored({ as, follow, orientation }: FieldJson, fields: Record<string, FieldJson>): boolean {
  if (!decoderOf({ as }).rules.keys.includes('orientation')) return false
  return (orientation ?? (follow && fields[follow].orientation)) === 'stored'
}

function normalOnError(onError: OnErrorJson['policy'] | OnErrorJson): NormalFeed['onError'] {
  const { policy, budget } = typeof onError === 'string' ? { policy: onError, budget: undefined } : onError
  return { policy, budget: budget ?? (policy === 'fail' ? 0 : DEFAULT_BUDGET) }
}

/** A function's module as a URL that every thread can import; one in Python is where it is. */
function absolute({ call }: CallJson, root: string): CallJson {
  if (isPython({ call })) return { call }
  const url = call.module.startsWith('file:')
    ? call.module
    : pathToFileURL(resolve(root, expandHome(call.module))).href
  return { call: { ...call, module: url } }
}
