/**
 * Shards of MDS and chunks of LitData are laid out alike:
 *
 *   u32 n, u32 offsets[n + 1] from the beginning of the file, …, the samples one after another
 *
 * A shard that is not compressed is read sample by sample. The offsets of all such shards lie in one table that threads share. A
 * shard that is compressed as a whole is a unit, with its offsets in it; so is each frame of a shard that is compressed in frames.
 */
import type { CodecName } from '../../core/codec/codec.js'
import type { ColumnLayout } from '../../core/source/layout.js'
import type { Manifest } from '../../core/source/source.js'
import type { Version } from '../../core/store/store.js'

export interface Shard {
  file: string
  /** Name in ids. */
  name: string
  count: number
  /** The file as it was when the feed was opened. */
  was: Version
  /** Where its offsets begin in the table; absent where they lie in its unit. */
  table?: number
}

/** What is loaded at once. */
export interface Unit {
  shard: number
  /** Its first sample, counted in the shard, and their number. */
  first: number
  count: number
  offset: number
  length: number
  /** Bytes that it has when it is unpacked: exactly so many, or at most. */
  bytes: number
  exact: boolean
  /** The offset in the table at which it begins. */
  base: number
  codec?: CodecName
}

export interface ShardManifest extends Manifest {
  shards: Shard[]
  /** u32. */
  table: SharedArrayBuffer
  /** Absent: samples are read one by one. */
  units?: Unit[]
  schema: ColumnLayout[]
  /** Those that can be read. */
  columns: string[]
}
