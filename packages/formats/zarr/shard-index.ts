/**
 * The index of a shard: for each of its chunks, in C order, offset and length as u64, then perhaps a CRC-32C. Both are
 * 2⁶⁴ − 1 for a chunk that is not there. A chunk may be a shard itself: then its own index is read, too.
 */
import { inFile, type SourceError } from '../../core/basics/errors.js'
import { crc32c } from '../../core/codec/checksum.js'
import { readRange } from '../../core/store/access.js'
import type { ByteRange } from '../../core/store/store.js'
import type { Stores } from '../../core/store/stores.js'
import { cells, gridOf, placeAt } from './grid.js'
import type { ArrayKind, ShardLevel } from './meta/array-meta.js'

const ENTRY = 16
const CHECKSUM = 4
/** Chunks of one shard: an index of 64 MiB. */
const MOST_IN_SHARD = 1 << 22

/** Told of each chunk of a shard: its place in the grid of all innermost chunks, and where its bytes lie. */
export type OnChunk = (place: readonly number[], offset: number, length: number) => void

/** Chunks of a shard along each axis, and the bytes of its index. */
function shapeOfIndex(kind: ArrayKind, level: number): { grid: number[]; bytes: number; inner: number[] } {
  const inner = kind.shards[level + 1]?.shape ?? kind.chunk
  const grid = gridOf(kind.shards[level].shape, inner)
  return { grid, inner, bytes: cells(grid) * ENTRY + (kind.shards[level].checksum ? CHECKSUM : 0) }
}

/** Reads the index of the shard that lies in `range`; `first` is the place of its first element, along each axis. */
export async function readShard(
  stores: Stores,
  kind: ArrayKind,
  range: ByteRange,
  first: readonly number[],
  shape: readonly number[],
  found: OnChunk,
  level = 0,
): Promise<void> {
  const { grid, bytes, inner } = shapeOfIndex(kind, level)
  const { file, offset, length, was } = range
  const wrong = (what: string, at = offset): SourceError =>
    inFile(file, `: the index of the shard at offset ${offset} ${what}: copy or write it again`, {
      offset: at,
    })
  if (cells(grid) > MOST_IN_SHARD) throw wrong(`has ${cells(grid)} chunks, more than ${MOST_IN_SHARD}`)
  if (bytes > length) throw wrong(`takes ${bytes} bytes, and the shard has ${length}`)
  const { index: side, checksum, bigEndian } = kind.shards[level]
  const at = side === 'start' ? offset : offset + length - bytes
  const index = Buffer.allocUnsafeSlow(bytes)
  await readRange(stores, { file, offset: at, length: bytes, was }, index)
  if (checksum) checkIndex(index, bytes, what => wrong(what, at))
  const read = entryReader(index, bigEndian)
  for (let i = 0; i < cells(grid); i++) {
    const [begin, size] = [read(ENTRY * i), read(ENTRY * i + 8)]
    if (begin === undefined || size === undefined) {
      if (begin !== size) throw wrong(`has half an entry for its chunk ${i}`, at + ENTRY * i)
      continue
    }
    if (begin + size > length)
      throw wrong(`has chunk ${i} at byte ${begin}, ${size} long, beyond its end`, at + ENTRY * i)
    const place = placeAt(grid, i).map((cell, axis) => first[axis] + cell * inner[axis])
    if (place.some((element, axis) => element >= shape[axis])) continue // a chunk beyond the edge of the array
    const part = { file, offset: offset + begin, length: size, was }
    if (level + 1 < kind.shards.length) await readShard(stores, kind, part, place, shape, found, level + 1)
    else
      found(
        place.map((element, axis) => element / kind.chunk[axis]),
        part.offset,
        size,
      )
  }
}

function checkIndex(index: Buffer, bytes: number, wrong: (what: string) => SourceError): void {
  const right = crc32c(index.subarray(0, bytes - CHECKSUM))
  const stored = index.readUInt32LE(bytes - CHECKSUM)
  if (right !== stored)
    throw wrong(`has the checksum ${stored.toString(16)}, and should have ${right.toString(16)}`)
}

/** Reads a u64: undefined for 2⁶⁴ − 1; what no number holds is larger than any file. */
function entryReader(index: Buffer, bigEndian: boolean): (at: number) => number | undefined {
  return at => {
    const [a, b] = bigEndian
      ? [index.readUInt32BE(at + 4), index.readUInt32BE(at)]
      : [index.readUInt32LE(at), index.readUInt32LE(at + 4)]
    return a === 0xffffffff && b === 0xffffffff ? undefined : b * 2 ** 32 + a
  }
}

/** Levels of shards, for `checkedKind`. */
export function shardShape({
  shards,
  chunk,
}: Pick<ArrayKind, 'chunk'> & { shards: readonly ShardLevel[] }): number[] {
  return shards[0]?.shape ?? chunk
}
