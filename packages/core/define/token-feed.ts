/** A feed of tokens in a definition: its fields follow from the source. */
import type { Dtype } from '../basics/dtype.js'
import type { FeedJson, FieldJson } from './types.js'

/** A feed of tokens has the usual columns as its fields; or those that are listed; or fields of its own. */
export interface TokensFeedJson extends Omit<FeedJson, 'fields'> {
  fields?: string[] | Record<string, FieldJson | TokenFieldJson>
}

/** A column as a field: `as` and `shape` follow from the column. */
export interface TokenFieldJson {
  from: string
  dtype?: Dtype
}
