/** The argument of `inspect`, `index` and `verify`: data (prepare/locate.ts), or a feed, whose source is then meant. */

import { isOpenField } from '../../core/define/kind.js'
import { normalizeFeed } from '../../core/define/normalize.js'
import type { NormalFeed, NormalField, SourceJson } from '../../core/define/types.js'
import { looksLikeFeed, sourceAt } from '../prepare/locate.js'
import { loadFeed } from './feed-argument.js'

export interface Located {
  source: SourceJson
  /** Folder against which the source's relative paths are resolved. */
  root: string
  /** The fields of the feed; undefined for plain data. */
  fields?: readonly NormalField[]
  /** The feed itself, with these fields. */
  feed?: NormalFeed
}

export async function locate(
  argument: string,
  allowCode: boolean,
  plugins: readonly string[],
): Promise<Located> {
  if (!looksLikeFeed(argument)) return { source: await sourceAt(argument, allowCode), root: process.cwd() }
  const feed = await normalFeed(argument, allowCode, plugins)
  const { source, root } = feed
  const open = feed.fields.some(isOpenField)
  const { fields } = open
    ? await (await import('../../core/engine/plan/fields/open-fields.js')).closeFields(feed, {})
    : feed
  return { source, root, fields, feed: { ...feed, fields } }
}

/** A feed in its normal form. */
async function normalFeed(
  argument: string,
  allowCode: boolean,
  plugins: readonly string[],
): Promise<NormalFeed> {
  const { json, root } = await loadFeed(argument, allowCode, plugins)
  return normalizeFeed(json, root, plugins)
}
