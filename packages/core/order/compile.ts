/**
 * From the definition of an order to a function. `planOrder` runs once, in the main thread, and makes plain data
 * that survives postMessage (large tables are shared); `compileOrder` makes the order from it in any thread.
 */
import { createHash } from 'node:crypto'
import { DefinitionError } from '../basics/errors.js'
import type { NormalOrder } from '../define/types.js'
import { Bins, type BinsData } from './bins/bins.js'
import { type GroupData, GroupedOrder } from './bins/group.js'
import { type BlendData, BlendOrder, planBlend } from './blend/blend.js'
import type { BlendChange } from './blend/changes.js'
import { type MegatronBlendData, MegatronBlendOrder, planMegatronBlend } from './blend/megatron.js'
import type { Draw, Order } from './order.js'
import {
  compileSource,
  type OrderSource,
  planSource,
  type SourceOrder,
  type SourceOrderData,
} from './single.js'

/** A source of a blend. */
export interface BlendEntryPlan {
  /** Absent: by `epochs`, or, in Megatron's order, by its rows. */
  weight?: number
  /** How often it is seen in an epoch of the blend. */
  epochs?: number
  name?: string
  corpus?: string
  /** Tokens that train in one of its rows, on average. */
  fill?: number
}

/** How sources are blended. */
export interface BlendPlan {
  entries: BlendEntryPlan[]
  /** Draws in an epoch; by default the sum of the sources'. */
  epoch?: number
  per?: 'sample' | 'batch'
  /** With per "batch": draws of a batch. Part of the order, unlike the batch size elsewhere. */
  group?: number
  by?: 'rows' | 'tokens'
  schedule?: 'shuffled' | 'deficit'
  changes?: readonly BlendChange[]
}

/** Plain data from which any thread makes the order. */
export interface OrderData {
  sources: SourceOrderData[]
  blend?: BlendData
  /** A blend in Megatron's order. */
  megatron?: MegatronBlendData
  /** Batches of like lengths, and batches by tokens (bins/plan.ts). */
  group?: GroupData
  bins?: BinsData
}

/** An order that also shows the orders of its sources: windows, blocks and inverses are found there. */
export interface CompiledOrder extends Order {
  readonly sources: readonly SourceOrder[]
  /** Batches by tokens: which samples of an epoch make each of them. */
  readonly bins?: Bins
  /** Samples of a window within which batches of like lengths are made. */
  readonly window?: number
  /** Blends only: the changes of weights after one more, by list or by name. `withChanges` puts them into effect. */
  changed?(
    changes: readonly BlendChange[],
    at: BlendChange['at'],
    weights: readonly number[] | Record<string, number>,
  ): readonly BlendChange[]
  /** Blends only: the changes of weights that this order has, each with what was drawn before it. */
  settled?(): BlendChange[]
  /** Blends only: draws of each source before a draw, all of them counted through all epochs. */
  drawnBefore?(draw: number): Float64Array
}

export function planOrder(order: NormalOrder, sources: readonly OrderSource[], blend?: BlendPlan): OrderData {
  if (blend === undefined) {
    if (sources.length !== 1)
      throw new DefinitionError(
        'source',
        `${sources.length} sources without a blend; an order needs one source`,
      )
    const planned = planSource(order, sources[0])
    if (order.kind !== 'megatron') return { sources: [planned] }
    return { sources: [{ ...planned, count: Math.min(planned.count, order.samples ?? Infinity) }] }
  }
  const { entries, changes } = blend
  if (entries.length !== sources.length || entries.length === 0)
    throw new DefinitionError('source.blend', `${entries.length} entries for ${sources.length} sources`)
  if (blend.per === 'batch' && blend.group === undefined)
    throw new DefinitionError('source.blend.per', 'a blend per batch needs the batch size')

  // `samples` is the length of the feed's epoch: the sources of a blend each draw as many as they have rows.
  const samples = order.kind === 'weights' ? order.samples : undefined
  const own: NormalOrder = order.kind === 'weights' ? { ...order, samples: undefined } : order
  // A name keeps a source's order when entries are added before it.
  const planned = sources.map((source, i) => planSource(own, source, entries[i].name ?? i))
  const names = entries.map((entry, i) => entry.name ?? `${i}`)
  const lengths = planned.map(data => data.count)
  if (order.kind === 'megatron') {
    const weights = entries.every(entry => entry.weight === undefined) ? undefined : entries.map(weightOf)
    const { samples, surplus } = order
    return {
      sources: planned,
      megatron: planMegatronBlend({ names, weights, samples, counts: lengths, surplus }),
    }
  }
  const byEpochs = entries.some(entry => entry.epochs !== undefined)
  const weights = entries.map((entry, i) => (byEpochs ? entry.epochs! * lengths[i] : weightOf(entry)))
  const whole = byEpochs ? Math.max(1, Math.round(weights.reduce((a, b) => a + b))) : undefined
  return {
    sources: planned,
    blend: planBlend(
      {
        names,
        weights,
        lengths,
        seed: 'seed' in order ? order.seed : 0,
        epoch: blend.epoch ?? samples ?? whole,
        group: blend.per === 'batch' ? blend.group : 1,
        ...(blend.schedule && { schedule: blend.schedule }),
        ...(entries.some(entry => entry.corpus !== undefined) && {
          corpora: entries.map((entry, i) => entry.corpus ?? names[i]),
        }),
        // A row with fewer tokens must be drawn more often for the same share of tokens.
        ...(blend.by === 'tokens' && { scales: entries.map(entry => 1 / entry.fill!) }),
      },
      changes,
    ),
  }
}

const weightOf = ({ weight }: BlendEntryPlan): number => weight ?? 0

/** A digest of weights that come from a column, whose values the definition does not tell; undefined for other orders. */
export function weightsDigest(order: NormalOrder, { sources }: OrderData): string | undefined {
  if (order.kind !== 'weights' || Array.isArray(order.weights)) return undefined
  const hash = createHash('sha256')
  for (const data of sources) if (data.kind === 'weights') hash.update(data.shares).update(data.others)
  return hash.digest('hex').slice(0, 32)
}

/** A digest of the units that windowed orders are cut along; undefined where there are none. */
export function unitsDigest({ sources }: OrderData): string | undefined {
  const cut = sources.map(data => (data.kind === 'window' ? data.units : undefined))
  if (cut.every(units => units === undefined)) return undefined
  const hash = createHash('sha256')
  for (const units of cut) hash.update(`${units?.length ?? 0} `).update(units ?? '')
  return hash.digest('hex').slice(0, 32)
}

/** The same order with other changes of the blend's weights. */
export function withChanges(data: OrderData, changes: readonly BlendChange[]): OrderData {
  if (changes.length > 0 && (data.bins ?? data.group) !== undefined)
    throw new DefinitionError(
      'changes',
      `weights can't change on the way with ${data.bins ? 'batch.tokens' : 'order.group'}: what samples an epoch has decides its batches`,
    )
  if (data.blend !== undefined) return { ...data, blend: planBlend(data.blend, changes) }
  if (changes.length === 0) return data
  throw new DefinitionError(
    'changes',
    'only the weights of a blend can be changed, and this feed has one source',
  )
}

export function compileOrder(data: OrderData): CompiledOrder {
  const { group, bins } = data
  const sources = data.sources.map(compileSource)
  const inner: CompiledOrder =
    data.megatron !== undefined
      ? new MegatronBlendOrder(data.megatron, sources)
      : data.blend !== undefined
        ? new BlendOrder(data.blend, sources)
        : new SingleOrder(sources[0])
  // What a blend says of changed weights stays, so that a change is refused with the reason.
  const { changed } = inner
  const order: CompiledOrder =
    group === undefined
      ? inner
      : Object.assign(new GroupedOrder(inner, group), changed && { changed: changed.bind(inner) })
  return bins === undefined ? order : Object.assign(order, { bins: new Bins(bins, order) })
}

class SingleOrder implements CompiledOrder {
  readonly length: number
  readonly sources: readonly SourceOrder[]
  readonly rows: CompiledOrder['rows']

  constructor(private readonly order: SourceOrder) {
    this.length = order.length
    this.sources = [order]
    this.rows = order.rows && ((epoch, position, out) => order.rows!(epoch, position, out))
  }

  draw(epoch: number, position: number, out: Draw): Draw {
    out.source = 0
    out.row = this.order.at(epoch, position)
    out.drawn = epoch * this.length + position
    out.epoch = epoch
    return out
  }
}
