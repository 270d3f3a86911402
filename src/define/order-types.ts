/**
 * Orders, batches by tokens, and batches of like lengths: what is written of them, and the normal form. The last two go by the
 * lengths of a field: of the one that is named, or of the first whose rows vary in length.
 */

export type OrderJson =
  | 'none'
  | { shuffle: 'global' | { window: number }; seed?: number; group?: GroupJson }
  | {
      weights: number[] | { column: string } | { balance: string }
      samples?: number
      seed?: number
      group?: GroupJson
    }

/** Parts of `batch` that say how many tokens it has, in place of rows. */
export interface BinsJson {
  /** Tokens of a batch on one rank at most: padding included, where the field is padded. */
  tokens?: number
  /** Rows of a batch at most. By default four times as many as fit on average. */
  rows?: number
  /** The field whose length counts; by default the first whose rows vary in length. */
  field?: string
  /** A column of the index that has the lengths, so that they need not be measured. */
  by?: string
}

/** Part of an order: batches of like length. */
export interface GroupJson {
  /** "tokens": the length of the field (the default). Anything else is a column of the index. */
  by?: string
  /** Batches of a window within which samples are sorted. */
  batches?: number
}

export interface NormalBins extends BinsJson {
  tokens: number
  field: string
}

export interface NormalGroup {
  by: string
  batches: number
  /** By "tokens": whose length that is. */
  field?: string
}

export type NormalOrder = (
  | { kind: 'none' }
  | { kind: 'global'; seed: number }
  | { kind: 'window'; window: number; seed: number }
  | {
      kind: 'weights'
      weights: number[] | { column: string } | { balance: string }
      samples?: number
      seed: number
    }
) & { group?: NormalGroup }
