/** The contract of a way of packing: which tokens stand in which row. Arithmetic over tables that all threads share. */
import type { Stretches } from '../token-rows.js'

/** Where a row begins, for its id. */
export interface RowPlace {
  file: number
  /** The token's number in the file. */
  offset: number
}

export interface RowPlaces {
  /** Rows. */
  readonly count: number
  /** The stretches of a row in an epoch; `out` is empty. */
  stretches(row: number, epoch: number, out: Stretches): void
  /** Where its first token lies. */
  begin(row: number, epoch: number): RowPlace
  /** Places that a row fills, where rows are as long as their documents. */
  places?(row: number): number
  /** The row's id behind the source's name; undefined: by where it begins. */
  id?(row: number): string
  /** Whether rows are other tokens in another epoch. */
  readonly moves: boolean
  /**
   * Whether tokens of a row may belong to different documents although they are one piece: then the borders of documents are looked
   * up.
   */
  readonly crosses: boolean
  /** Each stretch is one document, or a part of one, although it is joined to the one before. */
  readonly parted?: boolean
}
