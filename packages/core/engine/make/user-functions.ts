/** Functions of the user's, as workers call them: those of JavaScript and those of Python look the same. */

import type { Random } from '../../basics/random.js'
import type { Tokenizer } from '../../define/tokenizer.js'
import type { Column } from '../../source/source.js'

export type SampleFunction = (
  sample: Record<string, Column>,
  random: Random,
) => Record<string, Column> | Promise<Record<string, Column>>

export type FieldFunction = (value: unknown, random: Random) => unknown

export interface UserFunctions {
  /** Called with every sample, if the feed has one. */
  sample?: SampleFunction
  /** By field. */
  fields: Map<string, FieldFunction>
  /** The tokenizers of fields that have one, by field. */
  tokenizers?: ReadonlyMap<string, Tokenizer>
  /** Gives back what they run in. */
  close(): void
}
