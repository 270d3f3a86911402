/** A job: everything a maker needs to know of one ring, as plain data that is posted to its thread once. */

import type { SampleWhere } from '../../basics/errors.js'
import type { SlotLayout } from '../../batch/layout.js'
import type { FieldMaking } from '../../define/making.js'
import type { OpenedTokenizer } from '../../define/tokenizer.js'
import type { NormalFeed } from '../../define/types.js'
import type { OrderData } from '../../order/compile.js'
import type { Manifest } from '../../source/source.js'
import type { SpanLevel } from '../../spans/span-words.js'
import type { BlockCacheData } from '../../store/block-cache.js'

/** One of the sources that a feed draws from: exactly one, unless it blends. */
export interface JobSource {
  manifest: Manifest
  /** Blend only: the entry's name. */
  name?: string
}

export interface Job {
  /** The ring's number in this process. */
  id: number
  /** Counts the orders that this ring has had: changed weights of a blend make another. */
  version: number
  memory: WebAssembly.Memory
  layout: SlotLayout
  capacity: number
  /** Where the workspaces of the first `count` makers begin, and the bytes of each; they may grow to `limit`. */
  workspaces: { at: number; bytes: number; count: number; limit: number }
  /** The definition in its normal form. */
  feed: NormalFeed
  /** Who makes each of its fields, in their order; `layout` follows from it. */
  making: FieldMaking[]
  sources: JobSource[]
  order: OrderData
  /** Which part of each step is this ring's. */
  share: { length: number; world: number; rank: number; batch: number }
  /** Only makers with a smaller number serve this ring: 1 where samples can only be had one after the other. */
  makers?: number
  /** The tokenizers of fields that have one, by field. */
  tokenizers?: Readonly<Record<string, OpenedTokenizer>>
  /** How much its spans say. Undefined: none are written. */
  observe: SpanLevel | undefined
  /** Seconds that loading the user's functions may take. */
  timeout: number
  /** A pipe that is told, by one byte, of every batch that is ready: for a consumer in another process. */
  ready?: number
  /** Where rows share units, or the order reads by blocks: the cache that loads each once. */
  cache?: CacheHandle
}

/** A cache, and the place of a ring in it. */
export interface CacheHandle {
  data: BlockCacheData
  ring: number
  /** The rows are made in the calling thread, which must not be blocked. */
  alone?: true
}

/** A bad sample, as a maker reports it. Row −1: the batch as a whole. */
export interface BadReport {
  ring: number
  generation: number
  batch: number
  row: number
  where: SampleWhere
  problem: string
  /** The sample is not to blame: the definition is wrong, something is not installed, or data changed. */
  mistake?: Mistake
  /** Why the definition may be to blame, if no sample can be made: it lacks a column, or code of the user's threw. */
  suspect?: 'column' | 'code'
}

/** The tag of the error for what is no bad sample. */
export type Mistake = 'Definition' | 'Missing' | 'Changed'
