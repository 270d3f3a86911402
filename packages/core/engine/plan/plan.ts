/**
 * From a definition to a plan: opens the sources, lays out the order, and computes the hashes. No
 * thread is started and no batch memory is taken; what comes out is plain data and sources to ask.
 */

import { BY_TOKENS } from '../../define/batching.js'
import { describeOrder, type OrderDescription } from '../../define/change.js'
import { contentHash } from '../../define/hash.js'
import { isOpenField } from '../../define/kind.js'
import { columnLimits } from '../../define/limits.js'
import { tokenizing } from '../../define/operators/text.js'
import type { OpenedTokenizer } from '../../define/tokenizer.js'
import type { NormalFeed } from '../../define/types.js'
import { lengthsDigest, planBatches } from '../../order/bins/plan.js'
import { tableBytes } from '../../order/bins/tables.js'
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
import { tellOfClasses } from '../../source/classes.js'
import { joined } from '../../source/combine/combined.js'
import { attachSource, openSources } from '../../source/registry.js'
import type { Fingerprint, OnProgress, Source } from '../../source/source.js'
import { checkColumns } from './fields/open-fields.js'
import type { JobSource } from './job.js'
import { findLengths, type LengthOptions, type Measure, type OfSources } from './lengths.js'

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
  /** Batches by tokens: rows of one at most. */
  rows?: number
}

export interface PlanOptions {
  /** Weights of a blend that changed on the way, from a state. */
  changes?: readonly BlendChange[]
  /** Columns that the index should have besides those that the definition selects and weighs rows by. */
  indexed?: readonly string[]
  /** The epoch that begins. */
  epoch?: number
  /** For batches that go by lengths of samples: how these are measured. */
  measure?: Measure
  progress?: OnProgress
  notice?: (text: string) => void
}

export async function planFeed(given: NormalFeed, options: PlanOptions = {}): Promise<FeedPlan> {
  const { progress, notice, changes = [] } = options
  const feed = given.fields.some(isOpenField)
    ? await (await import('./fields/open-fields.js')).closeFields(given, options)
    : given
  const tokenizers = feed.fields.some(field => tokenizing(field) !== undefined)
    ? await (await import('./tokenizers.js')).openTokenizers(feed, notice)
    : undefined
  const wanted = [...new Set(feed.fields.flatMap(field => field.from))]
  const opened = await openSources(feed.source, {
    root: feed.root,
    wanted,
    indexed: [...decidingColumns(feed), ...(options.indexed ?? [])],
    // A function over the sample gets columns whole: what it makes of them is not known.
    most: feed.map === undefined ? columnLimits(feed.fields) : {},
    python: feed.python,
    bad: feed.onError.policy === 'fail' ? 'fail' : 'drop',
    ...(feed.order.kind === 'megatron' && { megatron: feed.order }),
    progress,
    notice,
  })
  const { sources, fingerprint, blend } = opened
  tellOfClasses(
    sources.map(({ manifest }) => manifest),
    wanted,
    notice,
  )
  const attached = sources.map(({ manifest }) => attachSource(manifest))
  await checkColumns(
    feed,
    attached,
    sources.map(({ name }) => name),
    notice,
  )
  if (notice !== undefined && attached.some(source => source.layout !== undefined)) {
    const { codecLibraries, slowCodecs } = await import('../../codec/slow.js')
    // Layouts are asked for only where a library of the system is missing.
    const slow = codecLibraries().every(library => library.found)
      ? undefined
      : slowCodecs(attached.flatMap(source => source.layout?.()?.codecs ?? []))
    if (slow !== undefined) notice(slow)
  }
  const group = feed.batch.size ?? feed.batch.global
  const drawn = planOrder(feed.order, attached, blend && { ...blend, group, changes })
  const indexBytes = sources.reduce((sum, { manifest }) => sum + manifest.indexBytes, 0)
  const batches = goesByLengths(feed)
    ? await batchesOf({ feed, sources, attached, indexBytes, tokenizers }, drawn, options)
    : undefined
  const orderData = batches?.data ?? drawn
  const order = compileOrder(orderData)
  const decided = [fingerprint.values, weightsDigest(feed.order, orderData)]
  // Digests of before stay as they are: only feeds that go by lengths have one more.
  const values = joined(batches ? [...decided, batches.digest] : decided)
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
    indexBytes: indexBytes + (batches?.bytes ?? 0),
    ...(batches?.rows && { rows: batches.rows }),
  }
}

/** Columns that say how often a row is drawn, and with which others. */
function decidingColumns({ order, batch }: NormalFeed): string[] {
  const lengths = [order.group?.by, batch.bins?.by].filter(name => name !== undefined && name !== BY_TOKENS)
  if (order.kind !== 'weights' || Array.isArray(order.weights)) return lengths as string[]
  return ['column' in order.weights ? order.weights.column : order.weights.balance, ...(lengths as string[])]
}

/** Whether what is in a batch depends on the lengths of samples. */
function goesByLengths({ order, batch }: NormalFeed): boolean {
  return order.group !== undefined || batch.bins !== undefined
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

/** The order with its groups and bins, and what the plan of a feed has to know of them. */
interface PlannedBatches {
  data: OrderData
  /** Of the lengths. */
  digest: string
  /** Rows of a batch at most, where it has tokens and no size. */
  rows?: number
  /** Of memory that threads share. */
  bytes: number
}

async function batchesOf(
  of: OfSources,
  drawn: OrderData,
  options: LengthOptions & { epoch?: number },
): Promise<PlannedBatches> {
  const { epoch = 0, notice } = options
  const lengths = await findLengths(of, options)
  const idOf = (source: number, row: number): string => of.attached[source].id(row)
  const { data, rows, notice: saved } = planBatches(drawn, of.feed, lengths, epoch, idOf)
  if (saved !== undefined) notice?.(saved)
  const arrays = new Set([...(lengths.tokens ?? []), ...(lengths.keys ?? [])])
  const own = [...arrays].reduce((sum, { byteLength }) => sum + byteLength, 0)
  const bytes = own + (data.bins ? tableBytes(data.bins.shared) : 0)
  return { data, digest: lengthsDigest(lengths), bytes, ...(rows !== undefined && { rows }) }
}
