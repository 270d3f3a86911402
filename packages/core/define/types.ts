/**
 * The feed as JSON: the canonical form that every spelling (TypeScript, Python, a file) comes down to, and the
 * normal form, in which every shorthand is written out and every default is filled in. Inert data.
 */
import type { Dtype } from '../basics/dtype.js'
import type { ConditionJson, WhereJson } from './check/where.js'
import type { BinsJson, BlendOf, NormalBins, NormalOrder, OrderJson, ZipOf } from './order-types.js'
import type { ChatOptions, TokensJson } from './token-types.js'

export type { NormalOrder, OrderJson } from './order-types.js'
export type { ConditionJson, WhereJson }

/**
 * What a value may be decoded as. The package that decodes it adds itself:
 * `declare module '…/core/define/types.js' { interface KindTypes extends PictureKinds {} }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: packages above fill it
export interface KindTypes {}

export type Kind = keyof KindTypes

/** How a member's bytes are compressed. `deflate` is the bare stream, `zlib` and `gzip` are that with header and checksum. */
export type Compression = 'zstd' | 'lz4' | 'deflate' | 'zlib' | 'gzip'

/** A reference to a function of the user's: the workers import the module and take it from there. */
export interface CallJson {
  call: {
    /** A module that workers import; or `python:PATH`, a pickled function that a Python process loads. */
    module: string
    export?: string
    path?: string
    hash: string
  }
}

// ------------------------------------------------------------------ as written

/**
 * What may be written for each format, by its name. Each format adds itself, in its own folder:
 * `declare module '…/core/define/types.js' { interface FormatTypes extends TarTypes {} }`.
 */
export interface FormatTypes {
  concat: SourceJson[]
  zip: ZipOf<SourceJson>
  subset: SubsetJson
  split: SplitJson
  blend: BlendJson
  synthetic: SyntheticJson
  python: PythonJson
  kernel: KernelJson
  tokens: TokensJson
  chat: ChatJson
}

/** What a source is called in a definition: `tar`, `concat`. */
export type SourceName = keyof FormatTypes

export type SourceJson = { [Name in SourceName]: { [N in Name]: FormatTypes[N] } }[SourceName]

/** Conversations that become rows of tokens, or pairs of answers. */
export interface ChatJson extends ChatOptions {
  /** Where they are: columns `messages`, or `prompt` and `completion`, or `conversations`; `tools`. */
  source: SourceJson
}

/** A path or pattern, or a list of them. */
export type PathsJson = string | string[]

/** Deterministic by index: `images` gives JPEG bytes (columns jpg, cls), `tensors` npy-less raw bytes (column data), `tokens` u16/u32 bytes (column tokens). */
export interface SyntheticJson {
  count: number
  seed?: number
  images?: { width: number; height: number; quality?: number; classes?: number }
  tensors?: { shape: number[]; dtype?: Dtype }
  tokens?: { length: number; vocabulary?: number }
}

/** A dataset of the user's, which runs in Python processes. Written by `millrace.dataset(…)` of the Python package. */
export interface PythonJson {
  /** Where the pickled dataset can be read, and a hash of its bytes. */
  payload: string
  hash: string
  count: number
  /** What it is called; together with `count` all that is known of its contents. */
  name: string
  columns?: string[]
  /** It can only be gone through from its beginning. */
  iterable?: boolean
}

/** A CUDA kernel of the user's that fills batches on the GPU: nothing is read and nothing is transferred. Only at the top. */
export interface KernelJson {
  /** The .cu file, and the `extern "C" __global__` function in it. */
  file: string
  entry: string
  /** Samples of an epoch. */
  count: number
  /** What it makes, in the order of its arguments: the element type and the shape of one row. */
  fields: Record<string, { dtype: Dtype; shape: number[] }>
  /** Threads for each row; by default one for each element of the largest field's. */
  threads?: number
  /** The key of its random numbers; by default the order's seed. */
  seed?: number
  /** What it is called: together with `count` all that the order hash knows of it. */
  name?: string
}

/** A kernel whose fields are known by name. */
export interface KernelOf<Fields extends KernelJson['fields']> extends Omit<KernelJson, 'fields'> {
  fields: Fields
}

/** Some rows of a source: exactly one of the keys says which. */
export interface SubsetJson {
  source: SourceJson
  range?: [number, number]
  indices?: number[]
  where?: WhereJson
}

export interface SplitJson {
  source: SourceJson
  /** Named fractions, such as {"train": 0.9, "val": 0.1} … */
  parts?: Record<string, number>
  /** … or a number of equal folds. */
  folds?: number
  /** The part's name; for folds the fold's number, or {"not": k} for all the others. */
  take: string | number | { not: number }
  groupBy?: string
  stratifyBy?: string
  seed?: number
}

export type BlendJson = BlendOf<SourceJson, TokensJson>

/** An operator with its parameters: `{"flip": {"p": 0.5}}`, or with a shorthand: `{"resize": 256}`, `"grayscale"`. */
export type OpJson = string | Record<string, unknown>

/** What stands for a value that a sample lacks: a number (or "nan", "inf", "-inf"), a text, or [] for a row without elements. */
export type MissingJson = number | string | never[]

export interface FieldJson {
  /** A column, or alternatives such as "jpg|png". vector: columns, or patterns of their names. */
  from: string | string[]
  as: Kind
  apply?: OpJson[]
  dtype?: Dtype
  layout?: 'chw' | 'hwc'
  /** image: 3, RGB (the default), or 1: gray as it is stored, and of colours their luma. */
  channels?: 1 | 3
  follow?: string
  /**
   * Greatest shape of a value that has no fixed one. npy: as in the file. image, mask: [height, width], smaller
   * ones are filled up at the right and below. boxes: [n, 4] or, with labels, [n, 5]. points: [n, 2].
   */
  shape?: number[]
  /** Values of varying length, one after the other: `max` of one row (or shape[0]), `total` of a batch. */
  ragged?: { max?: number; total?: number }
  /** Values of varying length, filled up with `value` to a fixed length or to the batch's longest. */
  pad?: { to: number | 'longest'; multiple?: number; value?: number; max?: number }
  /** Names in the order of their numbers, for `class`. Absent: those that the main source has, sorted. */
  classes?: string[]
  /** 1, 2, 4, 8 or "auto": decode JPEG at a fraction of its size (changes values). */
  scale?: 'auto' | 1 | 2 | 4 | 8
  /**
   * image, mask: turned upright by EXIF (the default), or as stored, as torchvision's loaders leave them. Those that follow
   * another take its word.
   */
  orientation?: 'exif' | 'stored'
  /** Boxes: those that are left with less area than this (in pixels) are dropped, with their labels. */
  minArea?: number
  /** npy, bytes: the column's bytes are compressed by this. */
  compression?: Compression
  /** What stands for the value where a sample has none of the columns. Absent: such a sample is bad. */
  missing?: MissingJson
  map?: CallJson
}

export interface BatchJson extends BinsJson {
  size?: number
  global?: number
  last?: 'drop' | 'keep' | 'pad'
  apply?: OpJson[]
}

export interface OnErrorJson {
  policy: 'fail' | 'drop' | 'mask'
  budget?: number
}

export interface FeedJson {
  source: SourceJson
  order?: OrderJson
  fields: Record<string, FieldJson>
  map?: CallJson
  batch: number | BatchJson
  onError?: OnErrorJson['policy'] | OnErrorJson
  /** Where statistics, vocabularies and patterns of columns come from: by default `source`, in a variant that of its base. */
  main?: SourceJson
  variants?: Record<string, Record<string, unknown>>
}

/** A feed from a kernel has the kernel's fields: all of them, or those that are named. */
export interface KernelFeedJson extends Omit<FeedJson, 'source' | 'fields' | 'map'> {
  source: { kernel: KernelJson }
  fields?: Record<string, { from: string }>
}

// ------------------------------------------------------------------ normal form

/** An operator with every parameter filled in, and its place among those of its name (part of its random key). */
export interface NormalOp {
  name: string
  ordinal: number
  params: Record<string, unknown>
}

/** How a field lies in a batch. Known before the first byte is read. */
export interface FieldLayout {
  name: string
  dtype: Dtype
  /** Shape of one row: for dense fields exact, for padded and ragged ones without the varying axis 0. */
  shape: number[]
  /** dense: [B, …shape]; padded: [B, n ≤ max, …shape]; ragged: values [≤ total, …shape] and offsets [B+1]; text: ragged u8 that arrives as strings. */
  form: 'dense' | 'padded' | 'ragged' | 'text'
  /** Padded and ragged: greatest length of one row along the varying axis. */
  max?: number
  /** Greatest length of one sample, where a row is made of several. */
  each?: number
  /** Ragged and text: greatest length of all rows of a batch together. */
  total?: number
  /** Padded: "longest" rounds up to `multiple`; a number is the fixed length. */
  to?: number | 'longest'
  multiple?: number
  value?: number
  /** Images: where the channels are. */
  layout?: 'chw' | 'hwc'
  /**
   * Dense i32 of one axis, delivered as one array [B · shape[0]]: borders of segments in the batch's rows laid end to end, rows of so
   * many places. A row writes where its own segments begin: ascending from 0, the rest filled with this number
   * (batch/document-boundaries.ts).
   */
  flat?: number
  /** A kernel of the user's makes the field on the device. (Who makes other fields is not said here: making.ts.) */
  device?: DeviceGenerated
}

/** A field that is made on the device, out of nothing but epoch, positions and rows. In the slot it takes no bytes. */
export interface DeviceGenerated {
  kind: 'generated'
  dtype: Dtype
  /** Of one row. */
  shape: number[]
}

export interface NormalField {
  name: string
  /** Alternatives, first present wins; of a vector all of its columns. */
  from: string[]
  as: Kind
  apply: NormalOp[]
  follow?: string
  classes?: string[]
  scale: 'auto' | 1 | 2 | 4 | 8
  /** Absent: upright by EXIF. */
  orientation?: 'stored'
  minArea: number
  compression?: Compression
  missing?: MissingJson
  map?: CallJson
  layout: FieldLayout
}

export interface NormalBatch {
  size?: number
  global?: number
  /** In place of both: batches are bins of so many tokens. */
  bins?: NormalBins
  last: 'drop' | 'keep' | 'pad'
  apply: NormalOp[]
}

export interface NormalFeed {
  source: SourceJson
  /** Where statistics, vocabularies and patterns of columns come from; absent: the source. */
  main?: SourceJson
  order: NormalOrder
  /** Seed of every random choice: the order's, or 0. */
  seed: number
  /** In the order of the definition, but those that follow another come after all that don't. */
  fields: NormalField[]
  map?: CallJson
  batch: NormalBatch
  onError: { policy: 'fail' | 'drop' | 'mask'; budget: number }
  /** Folder against which relative paths are resolved. */
  root: string
  /** The command of a Python process, by the program that opens the feed; undefined: the usual one. */
  python?: readonly string[]
  /** URLs of the plugins that the program loads for it: their sources and stores may be named. Every thread loads them. */
  plugins?: readonly string[]
  /** Feeds of tokens: places of a row. */
  rowTokens?: number
}
