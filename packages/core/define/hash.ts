/**
 * The two hashes of a feed. `order` covers what decides which sample stands where: a state can be resumed only where
 * it is equal. `content` covers what decides the values: a change of it is worth a notice. Neither knows roots,
 * paths, batch sizes or ranks, so data can move and runs can be resized.
 */
import { createHash } from 'node:crypto'
import { formatCalled } from './format.js'
import { holdsSources, nameOf, withInner, zipParts } from './nested.js'
import type { ZipOf } from './order-types.js'
import { splitRules } from './rules.js'
import type { BlendJson, NormalFeed, SourceJson } from './types.js'

/** What describes a source's contents: the same shape as `Fingerprint` in packages/core/source/source.ts. */
export interface SourceFingerprint {
  kind: string
  count: number
  /** A digest of relative names, counts and sizes. */
  digest: string
  /** A digest of what values of index columns decided: selected rows, weights. */
  values?: string
  /** A digest of the rows at which units of many rows begin, where the order depends on them. */
  units?: string
  parts?: readonly { name: string; count: number; bytes: number }[]
}

/** JSON with sorted keys and without what is undefined: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, v) =>
    typeof v === 'object' && v !== null && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  )
}

/** The first 16 hexadecimal digits of SHA-256. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** The hash of everything that decides which sample stands at which position. */
export function orderHash(
  feed: NormalFeed,
  { kind, count, digest, values, units }: SourceFingerprint,
): string {
  return shortHash(
    canonicalJson({
      contents: { kind, count, digest, values, units },
      source: sourceSkeleton(feed, true),
      order: feed.order,
      // Positions of the state count these, so they belong to the order; batches of equal size do not.
      bins: feed.batch.bins,
      batch: feed.order.group && (feed.batch.size ?? feed.batch.global),
    }),
  )
}

/**
 * The hash of everything that decides the values, apart from the data itself. `source` is a hash of code in the source; of a
 * tokenizer its own hash counts, not its path.
 */
export function contentHash(
  feed: NormalFeed,
  source?: string,
  tokenizers: Readonly<Record<string, { hash: string }>> = {},
): string {
  const fields = feed.fields.map(({ map, apply, ...field }) => {
    const tokenizer = tokenizers[field.name]?.hash
    const ops =
      tokenizer === undefined ? apply : apply.map(op => ({ ...op, params: { ...op.params, tokenizer } }))
    return { ...field, apply: ops, map: map?.call.hash }
  })
  return shortHash(
    canonicalJson({
      fields: fields.sort((a, b) => (a.name < b.name ? -1 : 1)),
      map: feed.map?.call.hash,
      batch: feed.batch.apply,
      source,
      onError: feed.onError,
    }),
  )
}

/**
 * The combinators of a feed's source with their parameters; of the sources themselves only the kind. `rules`: also by
 * which rules they select samples.
 */
export function sourceSkeleton({ source, batch }: NormalFeed, rules = false): unknown {
  const skeleton = skeletonOf(source, rules)
  // Drawing a source for each batch depends on what a batch is; nothing else in the order does.
  return 'blend' in source && source.blend.per === 'batch'
    ? { skeleton, batch: batch.size ?? batch.global }
    : skeleton
}

/** What a list says is part of the contents; where it lies is not. A limit that only warns decides nothing. */
function blendSkeleton({ list, root: _, maxEpochs: __, ...blend }: BlendJson): unknown {
  return list === undefined ? blend : { ...blend, list: true }
}

/**
 * Names of columns decide nothing. Which rows stand side by side is part of the contents, where it is not what positions say; the
 * rules by which they were found are told, for the message that says what changed.
 */
function zipSkeleton(zip: ZipOf<SourceJson>, hashed: boolean): unknown {
  const { entries, ...rules } = zipParts(zip)
  // A skeleton is an object or only a name.
  const sources = entries.map(entry =>
    typeof entry === 'object' && 'source' in entry ? entry.source : entry,
  )
  return hashed || Object.keys(rules).length === 0 ? sources : { sources, ...rules }
}

function skeletonOf(source: SourceJson, rules: boolean): unknown {
  const name = nameOf(source)
  // Where rows are made anew of the source inside, all that decides over them is in the fingerprint.
  if (!holdsSources(name) || formatCalled(name)?.facts?.remade) return name
  const skeleton = withInner(source, inner => skeletonOf(inner, rules) as SourceJson)
  if ('blend' in skeleton) return { blend: blendSkeleton(skeleton.blend) }
  if ('zip' in skeleton) return { zip: zipSkeleton(skeleton.zip, rules) }
  const by = rules && 'split' in source ? splitRules(source.split) : []
  return by.length > 0 && 'split' in skeleton ? { split: { ...skeleton.split, by } } : skeleton
}
