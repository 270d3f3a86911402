/**
 * From lengths to batches: what groups and bins of a feed are, as plain data for every thread. Runs once, in the main thread;
 * it makes the bins of the first epoch, so that it is known how many there are.
 */
import { createHash } from 'node:crypto'
import { DefinitionError } from '../../basics/errors.js'
import type { FieldLayout, NormalFeed } from '../../define/types.js'
import { compileOrder, type OrderData } from '../compile.js'
import type { Draw, Order } from '../order.js'
import { Cutting } from './bins.js'
import type { GroupData } from './group.js'
import { type BinRule, Filling, placesOf } from './rule.js'
import { sharedTables, writeTable } from './tables.js'

/** What is known of samples: for each source, a number for each of its rows. In memory that threads share. */
export interface Lengths {
  /** Tokens of each sample: of bins, and of padding. */
  tokens?: Uint32Array[]
  /** What samples are grouped by. */
  keys?: Uint32Array[]
}

/** By default a batch has no more rows than this many times the average: memory is laid out for all of them. */
const MOST_ROWS = 4
/** Samples of an epoch from which the share of padding is told. */
const LOOKED_AT = 65536
/** Places of samples are kept in 32 bits. */
const MOST_SAMPLES = 2 ** 31 - 1

/** How samples are put into batches. */
export interface Batches {
  data: OrderData
  /** Rows of a batch on one rank at most, where batches have no fixed size. */
  rows?: number
  /** What batches of like lengths save. */
  notice?: string
}

/** Adds groups and bins to an order. `epoch` is the first one that is wanted; `idOf` names a sample. */
export function planBatches(
  data: OrderData,
  feed: Pick<NormalFeed, 'order' | 'batch' | 'fields'>,
  lengths: Lengths,
  epoch: number,
  idOf: (source: number, row: number) => string,
): Batches {
  const { group } = feed.order
  const { bins } = feed.batch
  const plain = compileOrder(data)
  if (plain.length > MOST_SAMPLES)
    throw new DefinitionError('batch', `an epoch of ${plain.length} samples is too long to be put into bins`)
  const name = bins?.field ?? group?.field
  const layout = feed.fields.find(field => field.name === name)?.layout
  const rule = bins && ruleOf(bins.tokens, bins.rows, layout!, lengths.tokens!, idOf)
  const grouped: OrderData = group
    ? { ...data, group: groupOf(feed, lengths, rule, plain.length) }
    : { ...data }

  const order = compileOrder(grouped)
  const notice =
    group && layout?.form === 'padded' && lengths.tokens
      ? paddingNotice(plain, order, feed, lengths.tokens, rule ?? ruleOfRows(feed, layout))
      : undefined
  if (rule === undefined) return { data: grouped, notice }
  const of = { rule, lengths: lengths.tokens! }
  const cutting = new Cutting(order, epoch, of)
  cutting.advance(Infinity)
  const shared = sharedTables(cutting.starts.length)
  writeTable(shared, epoch, cutting.starts)
  return { data: { ...grouped, bins: { ...of, shared } }, rows: rule.rows, notice }
}

/** A digest of lengths, for the order's hash. */
export function lengthsDigest({ tokens = [], keys = [] }: Lengths): string {
  const hash = createHash('sha256')
  for (const one of [...tokens, ...keys]) hash.update(`${one.length} `).update(one)
  return hash.digest('hex').slice(0, 32)
}

function ruleOf(
  tokens: number,
  rows: number | undefined,
  layout: FieldLayout,
  lengths: readonly Uint32Array[],
  idOf: (source: number, row: number) => string,
): BinRule {
  const rule: BinRule = { tokens, rows: 1, ...padOf(layout) }
  let [count, sum, least] = [0, 0, Infinity]
  for (const [source, own] of lengths.entries()) {
    for (let row = 0; row < own.length; row++) {
      const places = placesOf(rule, own[row])
      if (places > tokens) throw tooLong(idOf(source, row), places, tokens, layout)
      sum += places
      if (places < least) least = places
    }
    count += own.length
  }
  const mean = count === 0 ? 1 : Math.max(1, sum / count)
  const fitting = Math.floor(tokens / Math.max(1, least === Infinity ? 1 : least))
  const usual = Math.max(1, Math.min(count, fitting, Math.ceil((MOST_ROWS * tokens) / mean)))
  return { ...rule, rows: rows === undefined ? usual : Math.max(1, Math.min(rows, count)) }
}

function padOf({ form, multiple = 1, to, max = 0 }: FieldLayout): Pick<BinRule, 'pad'> {
  return form === 'padded' ? { pad: { multiple, least: typeof to === 'number' ? max : 0 } } : {}
}

/** Batches of equal size, seen as bins: for the share of padding. */
function ruleOfRows({ batch }: Pick<NormalFeed, 'batch'>, layout: FieldLayout): BinRule {
  return { tokens: Infinity, rows: batch.size ?? batch.global ?? 1, ...padOf(layout) }
}

function tooLong(id: string, places: number, tokens: number, { name }: FieldLayout): DefinitionError {
  return new DefinitionError(
    'batch.tokens',
    `"${name}" of ${id} takes ${places} tokens, more than the ${tokens} of a batch: raise batch.tokens, or have the ` +
      "field cut such samples (a tokenizer's max), or leave them out of the source (subset)",
  )
}

function groupOf(
  { order, batch, fields: _ }: Pick<NormalFeed, 'order' | 'batch' | 'fields'>,
  { keys, tokens }: Lengths,
  rule: BinRule | undefined,
  length: number,
): GroupData {
  const { batches } = order.group!
  const seed = order.kind === 'none' ? 0 : order.seed
  if (rule === undefined) {
    const size = batch.size ?? batch.global!
    return { keys: keys!, window: batches * size, seed, batch: size }
  }
  let sum = 0
  let count = 0
  for (const own of tokens!) {
    for (let row = 0; row < own.length; row++) sum += placesOf(rule, own[row])
    count += own.length
  }
  const mean = count === 0 ? 1 : Math.max(1, sum / count)
  const window = Math.max(1, Math.min(Math.max(1, length), Math.round((batches * rule.tokens) / mean)))
  return { keys: keys!, window, seed, batch: { rule, lengths: tokens! } }
}

/** Says which share of the batches is padding, and which it would be without groups. */
function paddingNotice(
  plain: Order,
  grouped: Order,
  { order }: Pick<NormalFeed, 'order'>,
  lengths: readonly Uint32Array[],
  rule: BinRule,
): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
  const [before, after] = [plain, grouped].map(one => paddingShare(one, lengths, rule))
  return `Batches of like lengths (order.group, ${order.group!.batches} batches a window): ${percent(after)} of them is padding, without groups ${percent(before)}.`
}

/** The share of padding in the first batches of epoch 0. */
export function paddingShare(order: Order, lengths: readonly Uint32Array[], rule: BinRule): number {
  const draw: Draw = { source: 0, row: 0, drawn: 0, epoch: 0 }
  const filling = new Filling(rule)
  const count = Math.min(order.length, LOOKED_AT)
  let [tokens, places, rows, width] = [0, 0, 0, 0]
  for (let place = 0; place < count; place++) {
    order.draw(0, place, draw)
    const length = lengths[draw.source][draw.row]
    if (filling.add(length)) {
      places += rows * width
      rows = width = 0
    }
    rows++
    width = Math.max(width, placesOf(rule, length))
    tokens += length
  }
  places += rows * width
  return places === 0 ? 0 : 1 - tokens / places
}
