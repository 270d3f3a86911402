/** `open`: from a feed, in whatever spelling, to batches. */
import type { BatchOf, Feed } from '../define/feed.js'
import { normalizeFeed } from '../define/normalize.js'
import type { FeedJson, KernelFeedJson } from '../define/types.js'
import { applyVariant } from '../define/variants.js'
import type { Batch } from './batch.js'
import { Loader } from './loader.js'
import { fillOptions, type OpenOptions } from './options.js'

/**
 * Opens a feed. Makers start at once; iterate with `for await`.
 *
 *   for await (const batch of open(cats, { workers: 'auto' })) train(batch.image, batch.label)
 */
export function open<F extends Feed | FeedJson | KernelFeedJson>(
  feed: F,
  options: OpenOptions = {},
): Loader<LoadedBatch<F>> {
  const json = 'json' in feed ? (feed as Feed).json : (feed as FeedJson)
  const chosen = options.variant === undefined ? json : applyVariant(json, options.variant)
  const root = options.root ?? ('root' in feed ? (feed as Feed).root : undefined) ?? process.cwd()
  const functions = 'functions' in feed ? (feed as Feed).functions : undefined
  return new Loader<LoadedBatch<F>>(normalizeFeed(chosen, root), { ...fillOptions(options), functions })
}

/** What comes out: the feed's own fields, typed, and what every batch has. */
export type LoadedBatch<F> = F extends Feed ? BatchOf<F> & Batch : Batch & Record<string, unknown>
