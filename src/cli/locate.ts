/** The argument of `verify` and `order-quality`: data (prepare/locate.ts), or a feed, whose source is then meant. */
import { normalizeFeed } from '../define/normalize.js'
import type { NormalFeed, NormalField, SourceJson } from '../define/types.js'
import { looksLikeFeed, sourceAt } from '../prepare/locate.js'
import { loadFeed } from './feed-argument.js'

export interface Located {
  source: SourceJson
  /** Folder against which the source's relative paths are resolved. */
  root: string
  /** The fields of the feed; undefined for plain data. */
  fields?: readonly NormalField[]
}

export async function locate(argument: string, allowCode: boolean): Promise<Located> {
  if (!looksLikeFeed(argument)) return { source: sourceAt(argument, allowCode), root: process.cwd() }
  const { source, root, fields } = await normalFeed(argument, allowCode)
  return { source, root, fields }
}

/** A feed in its normal form. */
export async function normalFeed(argument: string, allowCode: boolean): Promise<NormalFeed> {
  const { json, root } = await loadFeed(argument, allowCode)
  return normalizeFeed(json, root)
}
