/**
 * A description of an order, small enough to stand in a state file beside the hash, and the sentences that say what
 * differs between two of them.
 */

import { canonicalJson, orderHash, type SourceFingerprint, shortHash, sourceSkeleton } from './hash.js'
import { allSources } from './nested.js'
import type { NormalBins } from './order-types.js'
import { RULES, type Rule, rulesOf } from './rules.js'
import type { NormalFeed } from './types.js'

/** About 200 bytes, at most 500. */
export interface OrderDescription {
  hash: string
  /** The source: its kind, its number of samples, and a digest of its contents. */
  source: string
  count: number
  digest: string
  /** What values of index columns decided: selected rows, weights. */
  values?: string
  /** At which rows units of many rows begin, for windowed orders. */
  units?: string
  /** Four hexadecimal digits for each part (shard, folder) of the source, or for each of 64 runs of parts. */
  marks?: { parts: number; digits: string }
  /** Hash of the combinators with their parameters. */
  combinators: string
  /** Rules of this version by which the source selects samples. */
  rules?: Rule[]
  /** Tokens of a row, for each source of tokens. */
  lengths?: number[]
  /** none, global, window 4096, weights. */
  order: string
  /** What positions count, where they are batches by tokens; and how batches of like lengths are made. */
  bins?: string
  group?: string
  /** Hash of the weights. */
  weights?: string
  seed?: number
}

const MAX_MARKS = 64
const MARK_DIGITS = 4
/** Names in a sentence; the rest is counted. */
const MAX_NAMES = 3

export function describeOrder(feed: NormalFeed, fingerprint: SourceFingerprint): OrderDescription {
  const { order } = feed
  const { kind: source, count, digest, values, units, parts } = fingerprint
  const rules = rulesOf(feed.source)
  const lengths = [...allSources(feed.source)].flatMap(one =>
    'tokens' in one.source ? [one.source.tokens.length] : [],
  )
  return {
    hash: orderHash(feed, fingerprint),
    source,
    count,
    digest: digest.slice(0, 16),
    ...(values && { values: values.slice(0, 16) }),
    ...(units && { units: units.slice(0, 16) }),
    ...(parts && parts.length > 0 && { marks: { parts: parts.length, digits: marksOf(parts).join('') } }),
    combinators: shortHash(canonicalJson(sourceSkeleton(feed))),
    ...(rules.length > 0 && { rules }),
    ...(lengths.length > 0 && { lengths }),
    order: orderName(order),
    ...(feed.batch.bins && { bins: binsText(feed.batch.bins) }),
    ...(order.group && { group: groupText(feed) }),
    ...(order.kind === 'weights' && {
      weights: shortHash(canonicalJson({ weights: order.weights, samples: order.samples })),
    }),
    ...(order.kind !== 'none' && { seed: order.seed }),
  }
}

function orderName(order: NormalFeed['order']): string {
  if (order.kind === 'window') return `window ${order.window}`
  if (order.kind !== 'megatron') return order.kind
  const { samples, split, take, extra, keepPartial, surplus } = order
  const more = [extra ? '' : ' without extra token', keepPartial ? ' with its partial sample' : ''].join('')
  return `megatron ${samples ?? 'all'} samples, part ${take} of ${split.join(',')}${more}, surplus ${surplus}`
}

/**
 * One sentence for each thing that differs; none when the hashes are equal. `parts` are those of the source as it is
 * now: with them the sentence can name the shards.
 */
export function explainOrderChange(
  before: OrderDescription,
  after: OrderDescription,
  parts: SourceFingerprint['parts'] = [],
): string[] {
  if (before.hash === after.hash) return []
  const changes: string[] = []
  if (before.source !== after.source)
    changes.push(`The source was ${before.source} and is now ${after.source}.`)
  if (before.count !== after.count) {
    changes.push(`The source had ${samples(before.count)} and now has ${samples(after.count)}.`)
  }
  // A split's digest covers how many samples its part has, so a new rule alone changes it.
  const rules = before.combinators === after.combinators ? newRules(before, after) : []
  const divided = rules.some(rule => rule.startsWith('split'))
  // Where rows have another length, parts have other counts: whether files changed as well is not known.
  const cut = before.lengths !== undefined && `${before.lengths}` !== `${after.lengths ?? []}`
  if (cut && before.combinators === after.combinators)
    changes.push(`Rows of tokens had "length" ${before.lengths} and now have ${after.lengths}.`)
  else if (before.digest !== after.digest && !divided) changes.push(contentsChange(before, after, parts))
  const paired = before.values === undefined && rules.includes('zip by key')
  if (!paired) changes.push(...valuesChange(before, after))
  if (before.units !== after.units && before.order === after.order) {
    changes.push(
      'The row groups or chunks of the data begin at other rows, and a windowed shuffle goes by them.',
    )
  }
  if (before.combinators !== after.combinators) {
    changes.push('The way the sources are combined (concat, zip, subset, split, blend) is another.')
  }
  if (before.order !== after.order)
    changes.push(`The order was "${before.order}" and is now "${after.order}".`)
  if (before.seed !== after.seed)
    changes.push(`The seed was ${before.seed ?? 'none'} and is now ${after.seed ?? 'none'}.`)
  if (before.weights !== after.weights) changes.push('The weights are others.')
  if (before.bins !== after.bins)
    changes.push(
      `Batches were ${before.bins ?? 'of equal size'} and are now ${after.bins ?? 'of equal size'}.`,
    )
  if (before.group !== after.group)
    changes.push(`Batches were ${before.group ?? 'not grouped'} and are now ${after.group ?? 'not grouped'}.`)
  changes.push(...rules.map(rule => RULES[rule]))
  return changes.length > 0 ? changes : ['The order is another, made by another version of Millrace.']
}

function binsText({ tokens, rows, field, by }: NormalBins): string {
  const most = rows === undefined ? '' : `, at most ${rows} rows`
  return `of ${tokens} tokens of "${field}"${by === undefined ? '' : ` by "${by}"`}${most}`
}

function groupText({ order, batch }: NormalFeed): string {
  const { by, batches } = order.group!
  const size = batch.size ?? batch.global
  return `grouped by ${by} within ${batches} batches${size === undefined ? '' : ` of ${size}`}`
}

/** Said only where the definition is the same: other conditions or weights select others anyway. */
function valuesChange(before: OrderDescription, after: OrderDescription): string[] {
  const defined = (['combinators', 'order', 'weights', 'bins', 'group'] as const).every(
    name => before[name] === after[name],
  )
  if (before.values === after.values || !defined) return []
  return before.values === undefined
    ? [
        'Values by which samples are selected or weighted now belong to the order; this state does not know them.',
      ]
    : [
        'The values by which samples are selected, weighted or batched, such as labels or lengths, have changed.',
      ]
}

/** Rules that the state knows nothing of. Worth a sentence only where the definition itself is the same. */
function newRules(before: OrderDescription, after: OrderDescription): Rule[] {
  const known: readonly unknown[] = Array.isArray(before.rules) ? before.rules : []
  return (after.rules ?? []).filter(rule => !known.includes(rule))
}

const samples = (n: number): string => (n === 1 ? '1 sample' : `${n} samples`)

function contentsChange(
  before: OrderDescription,
  after: OrderDescription,
  parts: NonNullable<SourceFingerprint['parts']>,
): string {
  const general = 'The names or sizes of what the source holds have changed'
  if (before.marks === undefined || after.marks === undefined) return `${general}.`
  if (before.marks.parts !== after.marks.parts) {
    return `${general}: there were ${before.marks.parts} parts and are now ${after.marks.parts}.`
  }
  const runs = Math.min(parts.length, MAX_MARKS)
  const names = parts
    .filter(
      (_, i) =>
        mark(before, Math.floor((i * runs) / parts.length)) !==
        mark(after, Math.floor((i * runs) / parts.length)),
    )
    .map(part => part.name)
  if (names.length === 0 && after.lengths !== undefined && before.seed !== after.seed)
    return 'Rows of tokens are cut by the seed too.'
  if (names.length === 0)
    return 'What the source holds, or an option by which its samples are cut, has changed; names and sizes are the same.'
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
  const among = parts.length > MAX_MARKS ? 'among' : 'in'
  return `${general}, ${among} ${names.slice(0, MAX_NAMES).join(', ')}${more}.`
}

function mark({ marks }: OrderDescription, run: number): string {
  return marks!.digits.slice(run * MARK_DIGITS, (run + 1) * MARK_DIGITS)
}

/** Four digits for each part, or, where there are many, for each run of neighbouring parts. */
function marksOf(parts: NonNullable<SourceFingerprint['parts']>): string[] {
  const runs = Math.min(parts.length, MAX_MARKS)
  const texts: string[] = Array.from({ length: runs }, () => '')
  parts.forEach(({ name, count, bytes }, i) => {
    texts[Math.floor((i * runs) / parts.length)] += canonicalJson([name, count, bytes])
  })
  return texts.map(text => shortHash(text).slice(0, MARK_DIGITS))
}
