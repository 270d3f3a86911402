/** The filters that chunks went through when they were written, undone in turn. */
import { DecodeError } from '../../core/basics/errors.js'
import { fletcher32 } from '../../core/codec/checksum.js'
import { type CodecName, decompressInto } from '../../core/codec/codec.js'
import { bitshuffleBlock, unbitshuffle, unshuffle } from '../../core/codec/shuffle.js'
import type { Filter } from './structure/messages.js'

/** By their numbers at the HDF Group. */
const CODECS: Readonly<Record<number, CodecName>> = { 1: 'zlib', 32000: 'lzf', 32001: 'blosc', 32015: 'zstd' }
const SHUFFLE = 2
const FLETCHER = 3
const LZ4 = 32004
const BITSHUFFLE = 32008

const NAMES: Readonly<Record<number, string>> = {
  1: 'gzip',
  2: 'shuffle',
  3: 'fletcher32',
  4: 'szip',
  5: 'nbit',
  6: 'scaleoffset',
  32000: 'lzf',
  32001: 'blosc',
  32004: 'lz4',
  32008: 'bitshuffle',
  32013: 'zfp',
  32015: 'zstd',
  32017: 'sz',
  32026: 'blosc2',
}

export function filterName({ id, name }: Filter): string {
  return NAMES[id] ?? (name || `filter ${id}`)
}

/** Why chunks with these filters can't be read; undefined where they can. */
export function refusedFilters(filters: readonly Filter[]): string | undefined {
  const known = [...Object.keys(CODECS).map(Number), SHUFFLE, FLETCHER, LZ4, BITSHUFFLE]
  const wrong = filters.find(({ id }) => !known.includes(id))
  if (wrong === undefined) return undefined
  return `its filter ${filterName(wrong)} (${wrong.id}) is not read: write it with gzip, lzf, zstd, lz4, blosc or bitshuffle (\`h5repack -f GZIP=1\`)`
}

/** Room for what stands between two filters: two buffers of a thread, which grow. */
const between = [Buffer.alloc(0), Buffer.alloc(0)]

function room(which: number, bytes: number): Uint8Array {
  if (between[which].length < bytes)
    between[which] = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * between[which].length))
  return between[which].subarray(0, bytes)
}

/** Checksum of a filter fletcher32, behind the data. */
const SUM_BYTES = 4

/**
 * Undoes the filters of a chunk, the last one first; bit i of `mask` says that filter i was left out. `out` has the bytes of a
 * whole chunk.
 */
export function unfilter(filters: readonly Filter[], mask: number, from: Uint8Array, out: Uint8Array): void {
  let data = from
  let which = 0
  // What is made by the step before the last one lies in `out` already, if that step made it.
  for (let i = filters.length - 1; i >= 0; i--) {
    if (i < 32 && (mask & (1 << i)) !== 0) continue
    const filter = filters[i]
    if (filter.id === FLETCHER) {
      data = withoutSum(data)
      continue
    }
    const sums = filters.slice(0, i).filter(({ id }) => id === FLETCHER).length
    const last = filters.slice(0, i).every(({ id }, k) => id === FLETCHER || (mask & (1 << k)) !== 0)
    const into = last && sums === 0 ? out : room(which, out.length + sums * SUM_BYTES)
    which = 1 - which
    data = into.subarray(0, undo(filter, data, into))
  }
  if (data.length !== out.length)
    throw new DecodeError(
      `a chunk has ${data.length} bytes, and should have ${out.length}: the file is damaged`,
    )
  if (data.buffer !== out.buffer || data.byteOffset !== out.byteOffset) out.set(data)
}

function withoutSum(data: Uint8Array): Uint8Array {
  if (data.length < SUM_BYTES) throw new DecodeError('a chunk has no checksum: the file is damaged')
  const bare = data.subarray(0, data.length - SUM_BYTES)
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const stored = view.getUint32(bare.length, true)
  const sum = fletcher32(bare)
  // Versions before 1.6.3 wrote the bytes of each half the other way round.
  const old = (((sum & 0x00ff00ff) << 8) | ((sum >>> 8) & 0x00ff00ff)) >>> 0
  if (stored !== sum && stored !== old)
    throw new DecodeError('the checksum (fletcher32) of a chunk is wrong: the file is damaged')
  return bare
}

/** Undoes one filter; gives the bytes written. */
function undo({ id, values }: Filter, from: Uint8Array, into: Uint8Array): number {
  if (id === SHUFFLE) {
    fits(from, into)
    unshuffle(from, into.subarray(0, from.length), Math.max(1, values[0] ?? 1))
    return from.length
  }
  if (id === LZ4) return lz4(from, into)
  if (id === BITSHUFFLE) return bitshuffle(values, from, into)
  return decompressInto(CODECS[id], from, into)
}

function fits(from: Uint8Array, into: Uint8Array): void {
  if (from.length > into.length)
    throw new DecodeError(
      `a chunk has ${from.length} bytes, and should have ${into.length}: the file is damaged`,
    )
}

/** The filter's own frame: bytes in all, bytes of a block, then each block with its size; the numbers big-endian. */
function lz4(from: Uint8Array, into: Uint8Array): number {
  const view = new DataView(from.buffer, from.byteOffset, from.byteLength)
  if (from.length < 12) throw torn()
  const total = Number(view.getBigUint64(0))
  const block = Math.min(view.getUint32(8), total)
  if (total > into.length || (block === 0 && total > 0)) throw torn()
  let at = 12
  for (let done = 0; done < total; ) {
    const bytes = Math.min(block, total - done)
    if (at + 4 > from.length) throw torn()
    const packed = view.getUint32(at)
    at += 4
    if (at + packed > from.length) throw torn()
    const data = from.subarray(at, at + packed)
    const part = into.subarray(done, done + bytes)
    // A block that could not be made smaller stands as it is.
    if (packed === bytes) part.set(data)
    else if (decompressInto('lz4-block', data, part) !== bytes) throw torn()
    at += packed
    done += bytes
  }
  return total
}

const torn = (): DecodeError =>
  new DecodeError('a compressed chunk ends too early, or its header is wrong: the file is damaged')

/** Bits of the elements together, in blocks; compressed by LZ4 or zstd, or not at all. */
function bitshuffle(values: readonly number[], from: Uint8Array, into: Uint8Array): number {
  const element = Math.max(1, values[2] ?? 1)
  const blockOf = (elements: number): number => (elements > 0 ? elements : bitshuffleBlock(element))
  const codec = values[4] === 2 ? 'lz4-block' : values[4] === 3 ? 'zstd' : undefined
  if (codec === undefined) {
    fits(from, into)
    unbitshuffle(from, into.subarray(0, from.length), element, blockOf(values[3] ?? 0))
    return from.length
  }
  const view = new DataView(from.buffer, from.byteOffset, from.byteLength)
  if (from.length < 12) throw torn()
  const total = Number(view.getBigUint64(0))
  const block = blockOf(Math.floor(view.getUint32(8) / element)) * element
  if (total > into.length) throw torn()
  const packed = new Uint8Array(Math.min(block, total))
  // What does not make up 8 elements at the end stands as it is.
  const whole = Math.floor(total / element / 8) * 8 * element
  let at = 12
  for (let done = 0; done < whole; ) {
    const bytes = Math.min(block, whole - done)
    if (at + 4 > from.length) throw torn()
    const size = view.getUint32(at)
    at += 4
    if (at + size > from.length) throw torn()
    const part = packed.subarray(0, bytes)
    if (decompressInto(codec, from.subarray(at, at + size), part) !== bytes) throw torn()
    unbitshuffle(part, into.subarray(done, done + bytes), element)
    at += size
    done += bytes
  }
  if (from.length - at < total - whole) throw torn()
  into.set(from.subarray(at, at + total - whole), whole)
  return total
}
