/**
 * From a definition to a plan: opens the sources, lays out the order, and computes the hashes. No
 * thread is started and no batch memory is taken; what comes out is plain data and sources to ask.
 */
import { describeOrder, type OrderDescription } from '../../define/change.js'
import { contentHash } from '../../define/hash.js'
import { columnLimits } from '../../define/limits.js'
import { tokenizing } from '../../define/operators/text.js'
import type { NormalFeed } from '../../define/types.js'
import type { BlendChange } from '../../order/blend/changes.js'
import {
  type CompiledOrder,
  compileOrder,
  type OrderData,
  planOrder,
  unitsDigest,
  weightsDigest,
  withChanges,
} from '../../order/compile.js'
import type { StateFeed } from '../../order/state.js'
import { joined } from '../../source/combine/combined.js'
import { attachSource, openSources } from '../../source/registry.js'
import type { Fingerprint, OnProgress, Source } from '../../source/source.js'
import type { OpenedTokenizer } from '../../tokenize/open.js'
import type { JobSource } from './job.js'

export interface FeedPlan extends StateFeed {
  feed: NormalFeed
  sources: JobSource[]
  /** The sources, attached in this thread. */
  attached: Source[]
  orderData: OrderData
  order: CompiledOrder
  hashes: { order: string; content: string }
  description: OrderDescription
  parts: Fingerprint['parts']
  /** The tokenizers of fields that have one, by field. */
  tokenizers?: Readonly<Record<string, OpenedTokenizer>>
  /** Positions in an epoch. */
  length: number
  /** Bytes that the indexes take, mapped or in memory. */
  indexBytes: number
}

export interface PlanOptions {
  /** Weights of a blend that changed on the way, from a state. */
  changes?: readonly BlendChange[]
  /** Columns that the index should have besides those that the definition selects and weighs rows by. */
  indexed?: readonly string[]
  progress?: OnProgress
  notice?: (text: string) => void
}

export async function planFeed(feed: NormalFeed, options: PlanOptions = {}): Promise<FeedPlan> {
  const { progress, notice, changes = [] } = options
  const tokenizers = feed.fields.some(field => tokenizing(field) !== undefined)
    ? await (await import('./tokenizers.js')).openTokenizers(feed, notice)
    : undefined
  const wanted = [...new Set(feed.fields.flatMap(field => field.from))]
  const opened = await openSources(feed.source, {
    root: feed.root,
    wanted,
    indexed: [...decidingColumns(feed.order), ...(options.indexed ?? [])],
    // A function over the sample gets columns whole: what it makes of them is not known.
    most: feed.map === undefined ? columnLimits(feed.fields) : {},
    python: feed.python,
    progress,
    notice,
  })
  const { sources, fingerprint, blend } = opened
  const attached = sources.map(({ manifest }) => attachSource(manifest))
  if (notice !== undefined && attached.some(source => source.layout !== undefined)) {
    const { noticeOfCodecs } = await import('../../source/slow-codecs.js')
    const slow = noticeOfCodecs(attached)
    if (slow !== undefined) notice(slow)
  }
  const group = feed.batch.size ?? feed.batch.global
  const orderData = planOrder(feed.order, attached, blend && { ...blend, group, changes })
  const order = compileOrder(orderData)
  const values = joined([fingerprint.values, weightsDigest(feed.order, orderData)])
  const description = describeOrder(feed, { ...fingerprint, values, units: unitsDigest(orderData) })
  return {
    feed,
    sources,
    attached,
    orderData,
    order,
    hashes: { order: description.hash, content: contentHash(feed, contentOf(sources), tokenizers) },
    description,
    parts: fingerprint.parts,
    ...(tokenizers && { tokenizers }),
    length: order.length,
    indexBytes: sources.reduce((sum, { manifest }) => sum + manifest.indexBytes, 0),
  }
}

/** Columns that say how often a row is drawn. */
function decidingColumns(order: NormalFeed['order']): string[] {
  if (order.kind !== 'weights' || Array.isArray(order.weights)) return []
  return ['column' in order.weights ? order.weights.column : order.weights.balance]
}

/** A hash of the code in the sources, where they have any. */
function contentOf(sources: readonly JobSource[]): string | undefined {
  const contents = sources.map(({ manifest }) => manifest.content ?? '').join(' ')
  return contents.trim() === '' ? undefined : contents
}

/** The same feed after the weights of its blend were changed. */
export function replan(plan: FeedPlan, changes: readonly BlendChange[]): FeedPlan {
  const orderData = withChanges(plan.orderData, changes)
  return { ...plan, orderData, order: compileOrder(orderData) }
}
