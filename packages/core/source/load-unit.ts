/** Reads and loads one unit of a leaf. */
import { MillraceError, SourceError } from '../basics/errors.js'
import { after, attempt, type Maybe, togetherToTheEnd } from '../basics/maybe.js'
import { pack, packed, packedBytes } from '../store/block-cache.js'
import type { ReadMemory } from '../store/read-memory.js'
import type { Reader } from '../store/reader.js'
import { LARGEST_RANGE, tooLarge } from '../store/store.js'
import type { ByteRange, UnitRef } from './source.js'

/**
 * Reads ranges, one behind the other, into memory that has `packedBytes` of them. When this has failed, no read writes there any
 * more: the memory may be the cache's, which gives it to others.
 */
export function readPacked(
  reader: Reader,
  ranges: readonly ByteRange[],
  into: Uint8Array,
): Maybe<Uint8Array[]> {
  const pieces = packed(
    into,
    ranges.map(({ length }) => length),
  )
  const reads = ranges.map((range, i) => () => reader.readInto(range, pieces[i]))
  return after(togetherToTheEnd<void>(reads), () => pieces)
}

/** Bytes that ranges take when they are packed. */
export function bytesOf(ranges: readonly ByteRange[]): number {
  return packedBytes(ranges.map(({ length }) => length))
}

/** The bytes that a unit takes while it is kept. */
export function unitBytes({ leaf, unit, columns }: UnitRef, ranges: readonly ByteRange[]): number {
  if (leaf.load === undefined) return bytesOf(ranges)
  const bytes = leaf.unitBytes(unit, columns)
  if (bytes >= 0) return bytes
  throw new SourceError(`unitBytes of unit ${unit} gave ${bytes}: it should be a number of bytes`)
}

/** The ranges of a unit. */
export function plannedUnit({ leaf, unit, columns }: UnitRef): ByteRange[] {
  const ranges = leaf.planUnit(unit, columns)
  if (!Array.isArray(ranges))
    throw new SourceError(`planUnit of unit ${unit} gave ${ranges}: it should be a list of ranges`)
  ranges.forEach(checkRange)
  return ranges
}

/** A range that can't be one would be read from anywhere. */
export function checkRange(range: ByteRange): void {
  const { file, offset, length } = range
  if (length > LARGEST_RANGE) throw new SourceError(tooLarge(file, offset, length), { file, offset })
  if (typeof file === 'string' && offset >= 0 && length >= 0) return
  throw new SourceError(
    `a range should have a file, an offset and a length, not ${JSON.stringify({ file, offset, length })}`,
  )
}

/** Brings a unit into `into`, which has `unitBytes` bytes: the pieces that are kept. */
export function loadUnit(
  reader: Reader,
  ref: UnitRef,
  ranges: readonly ByteRange[],
  into: Uint8Array,
  memory: ReadMemory,
): Maybe<readonly Uint8Array[]> {
  if (ref.leaf.load === undefined) return readPacked(reader, ranges, into)
  const mark = memory.mark()
  const loaded = loadRead(reader, ref, ranges, into, memory.take(bytesOf(ranges)))
  // What is still being read or loaded has taken this memory, and others may have taken what is behind it.
  if (!(loaded instanceof Promise)) memory.release(mark)
  return loaded
}

function loadRead(
  reader: Reader,
  { leaf, unit, columns }: UnitRef,
  ranges: readonly ByteRange[],
  into: Uint8Array,
  read: Uint8Array,
): Maybe<readonly Uint8Array[]> {
  const loaded = after(readPacked(reader, ranges, read), pieces =>
    attempt(
      () => leaf.load!(unit, pieces, into, columns),
      error => {
        if (error instanceof MillraceError) throw error
        throw new SourceError(`load of unit ${unit} failed: ${error.message}`, { cause: error })
      },
    ),
  )
  return after(loaded, pieces => {
    if (!Array.isArray(pieces) || !pieces.every(piece => piece instanceof Uint8Array))
      throw new Error(`load of unit ${unit} returned no list of Uint8Arrays`)
    return pieces.every(piece => piece.buffer === into.buffer) ? pieces : pack(into, pieces)
  })
}
