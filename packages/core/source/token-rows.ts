/**
 * Rows of tokens, which are made without samples: their source brings the maker that writes them into slots (packages/llm/tokens).
 * Wrappers that only select rows, or give columns other names, hand them on.
 */
import type { SlotLayout } from '../batch/layout.js'
import type { Slot } from '../batch/slot.js'
import type { NormalField } from '../define/types.js'
import type { Draw } from '../order/order.js'
import type { Reader } from '../store/reader.js'
import type { Workspace } from '../system/memory/workspace.js'

export interface TokenRows {
  /** The columns that hold tokens, by their names. */
  readonly columns: Readonly<Record<string, TokenColumnOf>>
  /** Writes the stretches of files that a row is made of to `out`, which is empty. */
  stretches(row: number, epoch: number, out: RowStretches): void
  /**
   * Makes what writes rows of these sources, which all have this function. Undefined: a field is anything but such a column, so that
   * samples are needed.
   */
  maker(sources: readonly TokenRows[], into: TokenFeed): TokenRowMaker | undefined
}

export interface TokenColumnOf {
  /** Places that it is ahead of the input: 1 for targets that are the next token. */
  ahead: number
  /** It trains: places without a target hold −100, and not the token for padding. */
  trains: boolean
}

/** The stretches of one row. */
export interface RowStretches {
  /** Places with a token; those behind are padding. */
  end: number
  /** A joined stretch goes on with the text of the one before. File −1: one token that stands in no file, `offset`. */
  add(file: number, offset: number, tokens: number, place: number, joined?: boolean): void
}

/** A feed of rows of tokens, in a worker. */
export interface TokenFeed {
  fields: readonly NormalField[]
  layout: SlotLayout
  work: Workspace
  reader: Reader
  /** Called before each read of a claim, and after the last, with the count of all bytes read so far. */
  timing: { mark(bytes: number): void }
}

export interface TokenRowMaker {
  /** Makes rows `from` to `to` − 1 of the slot, which are these draws. False: none of them counts as made. */
  make(slot: Slot, from: number, to: number, draws: readonly Draw[]): boolean
}
