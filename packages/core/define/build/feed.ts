/**
 * A feed: the definition in TypeScript's spelling. It is its JSON, plus the functions that the JSON refers to, plus
 * a type from which the type of a batch follows.
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DefinitionError } from '../../basics/errors.js'
import { isObject } from '../../basics/shape.js'
import { validateFeed } from '../check/validate.js'
import { patchBetween } from '../check/variants.js'
import type {
  BatchJson,
  CallJson,
  FeedJson,
  FieldJson,
  KernelJson,
  KernelOf,
  OnErrorJson,
  OpJson,
  OrderJson,
  SourceJson,
} from '../types.js'
import type {
  BatchSize,
  FeedFacts,
  FieldMap,
  KernelFields,
  OnlyKnownKeys,
  Variant,
  VariantMap,
} from './batch-types.js'
import { callerFile, functionHash, type UserFunction } from './call.js'
import { Field } from './field.js'
import type { PlainSource, TokenFieldMap, TokenFields } from './token-batch.js'

/** Bytes as they are in the source, or a value from its index. */
export type SampleColumns = Record<string, Uint8Array | number | string>

/** An operator over whole batches. `Label` is the field that becomes shares of classes; `undefined`: the only label. */
export interface BatchOperator<Label extends string | undefined = string | undefined> {
  json: OpJson
  label: Label
}

/** What `feed` takes. */
export interface FeedOptions<
  Fields extends FieldMap,
  Label extends string | undefined,
  Variants extends VariantMap = VariantMap,
> {
  source: SourceJson
  /** By default the source's own. */
  order?: OrderJson
  fields: Fields
  /** A function over the sample's columns, before fields are made of them. */
  map?: UserFunction<SampleColumns, SampleColumns>
  batch: number | (BatchSize & { last?: BatchJson['last']; apply?: BatchOperator<Label>[] })
  onError?: OnErrorJson['policy'] | OnErrorJson
  variants?: Variants & OnlyKnownKeys<Variants>
}

/** What `feed` takes where the source is a kernel: the fields are the kernel's, all of them or those that are named. */
export interface KernelFeedOptions<
  Made extends KernelJson['fields'] = KernelJson['fields'],
  Named extends Record<string, { from: string }> | undefined = undefined,
  Variants extends VariantMap = VariantMap,
> extends Omit<FeedOptions<FieldMap, never, Variants>, 'source' | 'fields' | 'map' | 'batch'> {
  source: { kernel: KernelOf<Made> }
  fields?: Named
  batch: number | (BatchSize & { last?: BatchJson['last'] })
}

/** What `feed` takes where the source is tokens: fields follow from the columns. */
export interface TokensFeedOptions<
  Source extends PlainSource = PlainSource,
  Columns extends readonly string[] | TokenFieldMap | undefined = undefined,
  Variants extends VariantMap = VariantMap,
> extends Omit<FeedOptions<FieldMap, never, Variants>, 'source' | 'fields' | 'batch'> {
  source: Source
  fields?: Columns
  batch: number | (BatchSize & { last?: BatchJson['last'] })
}

/** Marks a feed that `feed()` put together. JSON has no symbols, so that it can't claim this of itself. */
const BUILT = Symbol.for('millrace.built')

export class Feed<
  Fields extends FieldMap = FieldMap,
  Label extends string | undefined = string | undefined,
  Variants extends VariantMap = VariantMap,
> {
  /** For the types of a batch only; never there. */
  declare readonly is: FeedFacts<Fields, Label, Variants>

  constructor(
    /** The canonical form. */
    readonly json: FeedJson,
    /** The functions that the JSON refers to, by their path in it. */
    readonly functions: ReadonlyMap<string, UserFunction> = new Map(),
    /** The folder against which relative paths are resolved; undefined: the working directory. */
    readonly root?: string,
  ) {}

  /** `JSON.stringify(feed)` is the definition, as `millrace run` and every language read it. */
  toJSON(): FeedJson {
    return this.json
  }
}

/** Defines a feed. A mistake is a DefinitionError at once. */
export function feed<
  Made extends KernelJson['fields'],
  Named extends Record<string, { from: keyof Made & string }> | undefined = undefined,
  Variants extends VariantMap = Record<never, Variant>,
>(options: KernelFeedOptions<Made, Named, Variants>): Feed<KernelFields<Made, Named>, never, Variants>
export function feed<
  const Source extends PlainSource,
  const Columns extends readonly string[] | TokenFieldMap | undefined = undefined,
  Variants extends VariantMap = Record<never, Variant>,
>(options: TokensFeedOptions<Source, Columns, Variants>): Feed<TokenFields<Source, Columns>, never, Variants>
export function feed<
  Fields extends FieldMap,
  const Label extends string | undefined = never,
  Variants extends VariantMap = Record<never, Variant>,
>(options: FeedOptions<Fields, Label, Variants>): Feed<Fields, Label, Variants>
export function feed(
  options:
    | FeedOptions<FieldMap, string | undefined>
    | KernelFeedOptions
    | TokensFeedOptions<PlainSource, readonly string[] | TokenFieldMap | undefined>,
): Feed {
  const module = callerFile(import.meta.url)
  const functions = new Map<string, UserFunction>()
  const call = (fn: UserFunction, path: string): CallJson => {
    if (module === undefined)
      throw new DefinitionError(path, 'functions need a feed in a file, which workers can import')
    functions.set(path, fn)
    return { call: { module, path, hash: functionHash(fn) } }
  }
  const fieldJson = (field: Field | { from: string }, path: string): FieldJson => {
    // A field of a kernel is its name and nothing else, one of tokens its column.
    if (!(field instanceof Field)) return field as FieldJson
    return field.fn === undefined ? field.json : { ...field.json, map: call(field.fn, `${path}.map`) }
  }
  const fieldsJson = (
    fields: FieldMap | Record<string, { from: string }> | readonly string[],
    path: string,
  ): Record<string, FieldJson> => {
    // Columns of tokens, by their names.
    if (Array.isArray(fields)) return fields as never
    const entries = Object.entries(fields as FieldMap)
    return Object.fromEntries(entries.map(([name, field]) => [name, fieldJson(field, `${path}.${name}`)]))
  }

  const { variants, fields, batch, map, ...rest } = options as FeedOptions<FieldMap, string | undefined>
  const base: FeedJson = {
    ...rest,
    // Left out, they are the source's.
    ...((fields && { fields: fieldsJson(fields, 'fields') }) as Pick<FeedJson, 'fields'>),
    ...(map && { map: call(map as UserFunction, 'map') }),
    batch: batchJson(batch),
  }
  const patches = Object.entries(variants ?? {}).map(([name, variant]): [string, Record<string, unknown>] => [
    name,
    variantPatch(base, variant, fieldsJson(variant.fields ?? {}, `variants.${name}.fields`)),
  ])
  const json = tidy(patches.length === 0 ? base : { ...base, variants: Object.fromEntries(patches) })
  const root = module === undefined ? undefined : dirname(fileURLToPath(module))
  const made = new Feed(validateFeed(json), functions, root)
  Object.defineProperty(made, BUILT, { value: true })
  return made
}

/** Whether the program built this feed itself, by `feed({ … })`: then it may run the code that it names. */
export function isBuilt(value: unknown): boolean {
  return isFeed(value) && (value as { [BUILT]?: boolean })[BUILT] === true
}

/** A feed from its canonical form. Its batches are only known to have fields of some kind; its code must be allowed. */
export function fromJson(json: unknown, root?: string): Feed {
  return new Feed(validateFeed(tidy(json)), new Map(), root)
}

/** Whether a module's default export is a feed, of this copy of Millrace or of another. */
export function isFeed(value: unknown): value is Feed {
  return (
    typeof value === 'object' &&
    value !== null &&
    isObject((value as Feed).json) &&
    (value as Feed).functions instanceof Map
  )
}

function batchJson(batch: number | { apply?: readonly { json: OpJson }[] }): number | BatchJson {
  if (typeof batch === 'number' || batch.apply === undefined) return batch as number | BatchJson
  return { ...batch, apply: batch.apply.map(op => op.json) }
}

/** The merge patch that makes the variant of the base. Whole values replace whole values: nothing of the old remains. */
function variantPatch(
  base: FeedJson,
  variant: Variant,
  fields: Record<string, FieldJson>,
): Record<string, unknown> {
  const all = Array.isArray(base.fields) ? base.fields : { ...base.fields, ...fields }
  const target = {
    ...base,
    ...tidy(variant),
    ...(variant.batch !== undefined && { batch: batchJson(variant.batch) }),
    ...(Object.keys(all).length > 0 && { fields: all }),
  }
  return (patchBetween(tidy(base), tidy(target)) ?? {}) as Record<string, unknown>
}

/** A copy as JSON has it: without what is undefined, and sharing nothing with the original. */
function tidy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(tidy) as T
  if (!isObject(value) || value instanceof Field) return value
  const kept = Object.entries(value).filter(([, v]) => v !== undefined)
  return Object.fromEntries(kept.map(([key, v]) => [key, tidy(v)])) as T
}
