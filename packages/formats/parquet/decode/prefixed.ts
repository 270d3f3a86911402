/**
 * Byte arrays whose lengths stand before them all: DELTA_LENGTH_BYTE_ARRAY, and DELTA_BYTE_ARRAY, where each value begins like
 * the one before it. They are written behind each other, each behind a gap.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import { delta, readDelta } from './delta.js'
import { scratch } from './scratch.js'

/** Told where each value ends. */
export type OnEnd = (i: number, end: number) => void

/** Reads `n` values of DELTA_LENGTH_BYTE_ARRAY into `out`, from byte `first` on and not beyond `limit`. */
export function readLengths(
  content: Uint8Array,
  at: number,
  n: number,
  out: Uint8Array,
  first: number,
  limit: number,
  gap: number,
  ended: OnEnd,
): void {
  const lengths = scratch.lengths.words(n)
  readDelta(content, at, content.length, 1, lengths, 0, n)
  const [from, to] = [bufferOf(content), bufferOf(out)]
  let source = delta.at
  let end = first
  for (let i = 0; i < n; i++) {
    const length = lengths[i]
    if (length > content.length - source || length > limit - end - gap) throw tooLong(i, length)
    out.fill(0, end, end + gap)
    from.copy(to, end + gap, source, source + length)
    source += length
    end += gap + length
    ended(i, end)
  }
}

/** Reads `n` values of DELTA_BYTE_ARRAY. */
export function readPrefixed(
  content: Uint8Array,
  at: number,
  n: number,
  out: Uint8Array,
  first: number,
  limit: number,
  gap: number,
  ended: OnEnd,
): void {
  const prefixes = scratch.codes.words(n)
  readDelta(content, at, content.length, 1, prefixes, 0, n)
  const lengths = scratch.lengths.words(n)
  readDelta(content, delta.at, content.length, 1, lengths, 0, n)
  const [from, to] = [bufferOf(content), bufferOf(out)]
  let source = delta.at
  let end = first
  let before = first
  for (let i = 0; i < n; i++) {
    const prefix = prefixes[i]
    const length = lengths[i]
    if (prefix > end - before)
      throw new DecodeError(`value ${i} begins with ${prefix} bytes of the one before, which has fewer`)
    if (length > content.length - source || prefix + length > limit - end - gap)
      throw tooLong(i, prefix + length)
    const start = end + gap
    out.fill(0, end, start)
    out.copyWithin(start, before, before + prefix)
    from.copy(to, start + prefix, source, source + length)
    source += length
    before = start
    end = start + prefix + length
    ended(i, end)
  }
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}

function tooLong(i: number, length: number): DecodeError {
  return new DecodeError(`value ${i} would have ${length} bytes, more than there are`)
}
