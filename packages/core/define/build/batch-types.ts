/**
 * Types alone: what a batch of a feed has, from the fields, the operators over batches and the variants of the
 * definition. Nothing here exists at run time.
 */

import type { BinsJson } from '../order-types.js'
import type { BatchJson, KernelJson, OnErrorJson, OpJson, OrderJson, SourceJson } from '../types.js'
import type { Field, ValueOf } from './field.js'

export type FieldMap = Record<string, Field>

/** What a feed's type knows: see `Feed.is`. */
export interface FeedFacts<
  Fields extends FieldMap = FieldMap,
  Label extends string | undefined = string | undefined,
  Variants extends VariantMap = VariantMap,
> {
  fields: Fields
  label: Label
  variants: Variants
}

interface Known {
  is: FeedFacts
}

export type BatchSize =
  | { size: number; global?: undefined; tokens?: undefined }
  | { global: number; size?: undefined; tokens?: undefined }
  | (BinsJson & { tokens: number; size?: undefined; global?: undefined })

// ------------------------------------------------------------------ variants

/** What a variant has otherwise. Fields that are given replace those of the same name; all else replaces as a whole. */
export interface Variant {
  source?: SourceJson
  order?: OrderJson
  fields?: FieldMap
  // No type argument: it would be taken for the label of a mixup that names none.
  batch?: number | (BatchSize & { last?: BatchJson['last']; apply?: { json: OpJson }[] })
  onError?: OnErrorJson['policy'] | OnErrorJson
}

export type VariantMap = Record<string, Variant>

/** A type as which a misspelt key of a variant does not compile. */
export type OnlyKnownKeys<Variants> = {
  [Name in keyof Variants]: { [Key in Exclude<keyof Variants[Name], keyof Variant>]: never }
}

/** The names of a feed's variants; of a definition that is only known as JSON, any. */
export type VariantName<F> = F extends Known ? keyof F['is']['variants'] & string : string

/** What is known of a feed opened as one of its variants. `undefined` is the feed itself. */
export type AsVariant<F, Name> = Name extends undefined
  ? F
  : F extends Known
    ? Name extends keyof F['is']['variants']
      ? { is: Changed<F['is'], F['is']['variants'][Name]> }
      : F
    : F

interface Changed<Facts extends FeedFacts, By> {
  fields: By extends { fields: infer Fields } ? Replaced<Facts['fields'], Fields> : Facts['fields']
  label: By extends { batch: infer Batch } ? LabelOf<Batch> : Facts['label']
  variants: Record<never, Variant>
}

type Replaced<Old, New> = {
  [Name in keyof Old | keyof New]: Name extends keyof New
    ? New[Name]
    : Name extends keyof Old
      ? Old[Name]
      : never
}

/** The label that the operators of a batch mix; `never` without operators. */
type LabelOf<Batch> = Batch extends { apply: { label: infer Label extends string | undefined }[] }
  ? Label
  : never

// ------------------------------------------------------------------ batches

/** A batch of a feed: its fields, and what every batch has. */
export type BatchOf<F extends Known> = FieldsOf<F> & BatchFacts

/** Each field with its array. */
export type FieldsOf<F extends Known> = {
  [Name in keyof F['is']['fields']]: Name extends MixedLabel<F['is']['fields'], F['is']['label']>
    ? Float32Array
    : ValueOf<F['is']['fields'][Name]>
}

export interface BatchFacts {
  /** Stable names of the samples. */
  ids: string[]
  /** Position of each row in the epoch. */
  positions: Float64Array
  /** Rows in this batch. */
  count: number
  epoch: number
  /** Step within the epoch. */
  step: number
  /** 0 for rows that are no samples: fillers and masked ones. */
  valid?: Uint8Array
}

/** Labels that mixup or cutmix make shares of: the named ones; with no name, the only int or class there is. */
type MixedLabel<Fields extends FieldMap, Label extends string | undefined> =
  | Extract<Label, string>
  | (undefined extends Label ? OnlyLabel<Fields> : never)
type OnlyLabel<Fields extends FieldMap> = {
  [Name in keyof Fields]: Fields[Name]['is']['kind'] extends 'int' | 'class' ? Name : never
}[keyof Fields]

/** The fields of a feed that a kernel makes: all of them, or those that the feed names. */
export type KernelFields<
  Made extends KernelJson['fields'],
  Named extends Record<string, { from: string }> | undefined,
> = Named extends undefined
  ? { [Name in keyof Made]: Field<'npy', Made[Name]['dtype'], 'dense'> }
  : { [Name in keyof Named]: Field<'npy', Made[keyof Made]['dtype'], 'dense'> }
