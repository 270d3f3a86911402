/**
 * A block of LZ4: sequences of a token (literals << 4 | match − 4), longer lengths in bytes of 255, literals, offset u16.
 *
 * It is decompressed by liblz4 where the system has it, else by a kernel. Where both refuse it, the plain version does it, or says what
 * is wrong: every length and offset is checked before it is used. The sequences are first counted, then the output is filled.
 */
import { cut, tooFarBack, tooLarge } from '../faults.js'
import { lzInto } from '../kernels/lz.js'
import { liblz4 } from '../libraries.js'

const MIN_MATCH = 4
/** Bytes that are copied at a time, where they don't overlap. */
const WORD = 4
/** Shorter stretches are copied faster byte by byte than by a call. */
const WORTH_A_CALL = 48
/** A match reaches no further back. */
const WINDOW = 64 << 10

/** A bare block, into `into`. */
export function lz4BlockInto(from: Uint8Array, into: Uint8Array): number {
  return blockInto(from, into, 0, into.length)
}

/**
 * A block, into `into` from `put` to `stop` at most; its matches may refer to what is there before. Returns the bytes
 * written.
 */
export function blockInto(from: Uint8Array, into: Uint8Array, put: number, stop: number): number {
  const room = into.subarray(put, stop)
  const before = into.subarray(Math.max(0, put - WINDOW), put)
  const native = liblz4()?.(from, room, before)
  if (native !== undefined && native >= 0) return native
  return lzInto('lz4', from, room, before) ?? plainBlock(from, into, put, stop)
}

/** The same without library and kernel. */
export function plainBlock(from: Uint8Array, into: Uint8Array, put: number, stop: number): number {
  const size = count(from, 0, from.length)
  if (size > stop - put) throw tooLarge(stop - put)
  fill(from, 0, from.length, into, put, 0)
  return size
}

/** Decompressed bytes of a block; every length of its sequences is within the input. */
export function count(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  let size = 0
  for (;;) {
    if (at >= to) throw cut(at)
    const token = bytes[at++]
    let literals = token >> 4
    if (literals === 15) {
      let more: number
      do {
        if (at >= to) throw cut(at)
        more = bytes[at++]
        literals += more
      } while (more === 255)
    }
    at += literals
    size += literals
    if (at > to) throw cut(to)
    if (at === to) return size // the last sequence has no match
    if (at + 2 > to) throw cut(at)
    at += 2
    let match = (token & 15) + MIN_MATCH
    if (match === 15 + MIN_MATCH) {
      let more: number
      do {
        if (at >= to) throw cut(at)
        more = bytes[at++]
        match += more
      } while (more === 255)
    }
    size += match
  }
}

/** Writes a block that was counted before; only what matches refer to, from `first` on, is still to be checked. */
export function fill(
  bytes: Uint8Array,
  from: number,
  to: number,
  out: Uint8Array,
  start: number,
  first: number,
): void {
  const words = new DataView(out.buffer, out.byteOffset, out.byteLength)
  /** From here on, a word over the end of a match could be one over the end of `out`. */
  const edge = out.length - WORD
  let at = from
  let put = start
  for (;;) {
    const token = bytes[at++]
    let literals = token >> 4
    if (literals === 15) {
      let more: number
      do literals += more = bytes[at++]
      while (more === 255)
    }
    if (literals < WORTH_A_CALL) for (let i = 0; i < literals; i++) out[put + i] = bytes[at + i]
    else out.set(bytes.subarray(at, at + literals), put)
    at += literals
    put += literals
    if (at === to) return
    const offset = bytes[at] | (bytes[at + 1] << 8)
    let source = put - offset
    if (offset === 0 || source < first) {
      throw tooFarBack(at, offset, put - first)
    }
    at += 2
    let match = (token & 15) + MIN_MATCH
    if (match === 15 + MIN_MATCH) {
      let more: number
      do match += more = bytes[at++]
      while (more === 255)
    }
    const stop = put + match
    if (offset >= match && match >= WORTH_A_CALL) out.copyWithin(put, source, source + match)
    else if (offset < WORD || stop > edge) while (put < stop) out[put++] = out[source++]
    else {
      // Word by word, the last one over the end: what comes next is written over it.
      for (; put < stop; put += WORD, source += WORD) words.setInt32(put, words.getInt32(source, true), true)
    }
    put = stop
  }
}
