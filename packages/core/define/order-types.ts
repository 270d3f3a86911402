/**
 * Orders, blends, batches by tokens, and batches of like lengths: what is written of them, and the normal form. The last two go by
 * the lengths of a field: of the one that is named, or of the first whose rows vary in length.
 */

export type OrderJson =
  | 'none'
  | 'megatron'
  | { megatron: MegatronJson; group?: never }
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
  | NormalMegatron
  | {
      kind: 'weights'
      weights: number[] | { column: string } | { balance: string }
      samples?: number
      seed: number
    }
) & { group?: NormalGroup }

/** One source of a blend. */
export interface BlendEntry<Source> {
  source: Source
  /** How often it is drawn, against the others. Left out only where `epochs` says it, or the order is Megatron's. */
  weight?: number
  /** In place of weights: how often the whole source is seen in an epoch of the blend. */
  epochs?: number
  name?: string
  /** Entries of the same corpus are joined first; corpora are blended. */
  corpus?: string
  /** New names of columns by old ones. */
  rename?: Record<string, string>
}

/** How the sources of a blend take turns. */
export interface BlendRules {
  per?: 'sample' | 'batch'
  /** Draws in an epoch. */
  epoch?: number
  /** What weights are shares of: rows (the default), or tokens, where rows are not full. */
  by?: 'rows' | 'tokens'
  /** shuffled (the default), or always the source that lags most behind its share. */
  schedule?: 'shuffled' | 'deficit'
  /** More epochs of a source than these are worth a warning. 4 by default. */
  maxEpochs?: number
}

/** A source of a zip, with new names for its columns by the old ones, or without. */
export type ZipEntry<Source> = Source | { source: Source; rename?: Record<string, string> }

/** How rows of sources find each other: those that are files by the key of the file, unless it is said otherwise. */
export interface ZipRules {
  by?: 'position'
  /** For each source a regular expression for its whole keys: its one group is what must be equal. */
  key?: string[]
}

/** Sources side by side. */
export type ZipOf<Source> = ZipEntry<Source>[] | ({ sources: ZipEntry<Source>[] } & ZipRules)

/** Sources that are mixed: entries, or those that a list of token files names. */
export interface BlendOf<Source, Tokens> extends BlendRules {
  entries?: BlendEntry<Source>[]
  /** A file with lines `<weight> <prefix> <corpus>`, as blendcorpus writes it. */
  list?: string
  /** With a list: the folder in which its files may lie, besides its own. */
  root?: string
  /** With a list: what its files are, apart from their path. */
  tokens?: Omit<Tokens, 'path' | 'name'>
  /** With a list, in place of its weights: how often each corpus is seen in an epoch of the blend. */
  epochs?: Record<string, number>
}

/** Megatron's order, by the names that its options have there: see docs/language-models.md. */
export interface MegatronJson {
  /** Samples of the whole run: global batch · iterations. Null or absent: one epoch of each file. */
  samples?: number | null
  /** 1234 by default, as there. */
  seed?: number
  /** Shares of train, valid and test; "969,30,1" by default. */
  split?: string | number[]
  /** train by default. */
  take?: MegatronPart
  /** Whether samples overlap by one token, the last target (add_extra_token_to_sequence). True by default. */
  extra?: boolean
  /** Validation with its last sample, which is not full (not drop_last_partial_validation_sequence). False by default. */
  keepPartial?: boolean
  /** What sources of a blend are built larger than needed (mid_level_dataset_surplus). 0.005 by default. */
  surplus?: number
}

export type MegatronPart = 'train' | 'valid' | 'test'

/** The same with all defaults filled in. */
export interface NormalMegatron {
  kind: 'megatron'
  samples?: number
  seed: number
  split: number[]
  take: number
  extra: boolean
  keepPartial: boolean
  surplus: number
}
