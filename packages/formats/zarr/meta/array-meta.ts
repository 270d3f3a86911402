/** The metadata of an array in one form, for Zarr 2 and 3: metadata.ts and metadata-v3.ts make it. */
import type { ChunkStep } from '../decode-chunk.js'
import type { Element } from './element.js'
import { shown } from './element.js'
import { ZarrFault } from './fault.js'

/** How the key of a chunk is made of its place in the grid. */
export interface ChunkKeys {
  /** `c` comes first in Zarr 3. */
  lead: '' | 'c'
  separator: '.' | '/'
  /** Axes at the front that keys leave out: that of the groups which are rows. */
  skip: number
}

/** A level of sharding: what an object, or an inner shard, is cut into. */
export interface ShardLevel {
  /** Elements of a shard along each axis. */
  shape: number[]
  /** Where its index lies, and in which form. */
  index: 'start' | 'end'
  checksum: boolean
  bigEndian: boolean
}

/** All that arrays of one make have in common, whatever their shape. */
export interface ArrayKind {
  element: Element
  /** Elements of a chunk along each axis: of the innermost chunks, where there are shards. */
  chunk: number[]
  /** The axes in the order in which they lie in a chunk, the outermost first. */
  order: number[]
  /** What has to be done to a stored chunk, in this order. */
  steps: ChunkStep[]
  /** One element, little-endian. */
  fill: Uint8Array
  /** The outermost first. None: an object is a chunk. */
  shards: ShardLevel[]
  keys: ChunkKeys
  /** What it is compressed by, for messages. */
  codecs: string[]
}

export interface ArrayMeta {
  shape: number[]
  kind: ArrayKind
}

/** NumPy has no more axes either. */
const MOST_AXES = 64
/** Bytes of a chunk: what a cache could never hold is not tried. */
export const MOST_CHUNK_BYTES = 2 ** 31

/** A list of whole numbers, one for each axis. */
export function sidesOf(json: unknown, what: string, least: number, rank?: number): number[] {
  if (!Array.isArray(json) || json.length > MOST_AXES)
    throw new ZarrFault(`its ${what} is ${shown(json)}, no shape`)
  if (rank !== undefined && json.length !== rank)
    throw new ZarrFault(`its ${what} has ${json.length} axes, and its shape ${rank}`)
  for (const side of json)
    if (!Number.isSafeInteger(side) || side < least) throw new ZarrFault(`its ${what} is ${shown(json)}`)
  return [...(json as number[])]
}

/** Bytes of a chunk; 0 where its elements have no fixed size. */
export function chunkBytes({ chunk, element }: Pick<ArrayKind, 'chunk' | 'element'>): number {
  return chunk.reduce((product, side) => product * side, element.bytes)
}

/** Elements of a chunk. */
export function chunkElements({ chunk }: Pick<ArrayKind, 'chunk'>): number {
  return chunk.reduce((product, side) => product * side, 1)
}

export function checkedKind(kind: ArrayKind): ArrayKind {
  const bytes = Math.max(chunkBytes(kind), chunkElements(kind))
  if (bytes > MOST_CHUNK_BYTES)
    throw new ZarrFault(
      `a chunk of shape [${kind.chunk}] has ${bytes} bytes, more than ${MOST_CHUNK_BYTES}: write it with smaller chunks`,
    )
  return kind
}

/** The same array as one row: with an axis of 1 before the others. */
export function asOneRow({ shape, kind }: ArrayMeta): ArrayMeta {
  return {
    shape: [1, ...shape],
    kind: {
      ...kind,
      chunk: [1, ...kind.chunk],
      order: [0, ...kind.order.map(axis => axis + 1)],
      shards: kind.shards.map(level => ({ ...level, shape: [1, ...level.shape] })),
      keys: { ...kind.keys, skip: kind.keys.skip + 1 },
    },
  }
}

/** The key of the chunk, or shard, at a place of the grid. */
export function keyOf({ lead, separator, skip }: ChunkKeys, place: readonly number[]): string {
  const own = place.slice(skip)
  if (own.length === 0) return lead === '' ? '0' : lead
  return lead === '' ? own.join(separator) : `${lead}${separator}${own.join(separator)}`
}

/** The place that a key stands for; undefined where it is no chunk's. */
export function placeOf(
  { lead, separator, skip }: ChunkKeys,
  key: string,
  rank: number,
): number[] | undefined {
  const zeros = new Array<number>(skip).fill(0)
  if (rank === skip) return key === (lead === '' ? '0' : lead) ? zeros : undefined
  const parts = key.split(separator)
  if (lead !== '' && parts.shift() !== lead) return undefined
  if (parts.length !== rank - skip) return undefined
  for (const part of parts) if (!/^(0|[1-9]\d{0,14})$/.test(part)) return undefined
  return [...zeros, ...parts.map(Number)]
}
