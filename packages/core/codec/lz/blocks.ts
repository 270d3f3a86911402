/**
 * LZ4's blocks, Snappy, LZF and BloscLZ, by the kernel `lz` (kernels/assembly/lz.ts tells the formats); LZ4 by liblz4 where the system
 * has it, which is 2.0 to 2.8 times as fast.
 */
import type { DecodeError } from '../../basics/errors.js'
import { copyBytes } from '../../system/memory/copy.js'
import { cut, damaged, tooFarBack, tooLarge } from '../faults.js'
import { kernel, release, SLACK, START, workspace } from '../kernels/load.js'
import { liblz4 } from '../libraries.js'

type Format = 'lz4' | 'snappy' | 'lzf' | 'blosclz'
type Kernel = Record<
  Format,
  (from: number, length: number, to: number, room: number, before: number) => number
> &
  Record<'fault' | 'faultAt' | 'faultOffset' | 'faultThere', { value: number }>

/** A match of LZ4 reaches no further back. */
const LZ4_WINDOW_BYTES = 64 << 10
const NONE: Uint8Array = new Uint8Array(0)

/** A bare block of LZ4, into `into`. */
export function lz4BlockInto(from: Uint8Array, into: Uint8Array): number {
  return blockInto(from, into, 0, into.length)
}

/**
 * A block of LZ4, into `into` from `put` to `stop` at most; its matches may refer to what is there before. Returns the bytes
 * written.
 */
export function blockInto(from: Uint8Array, into: Uint8Array, put: number, stop: number): number {
  const room = into.subarray(put, stop)
  const before = into.subarray(Math.max(0, put - LZ4_WINDOW_BYTES), put)
  const native = liblz4()?.(from, room, before)
  // liblz4 doesn't say what is wrong: the kernel does, and is asked then.
  return native !== undefined && native >= 0 ? native : lzInto('lz4', from, room, before)
}

/** Snappy, the bare format: the length of the output (varint), then the elements. */
export function snappyInto(from: Uint8Array, into: Uint8Array): number {
  let size = 0
  for (let at = 0; at < 5; at++) {
    if (at >= from.length) throw cut(at)
    size += (from[at] & 127) * 2 ** (7 * at)
    if (from[at] >= 128) continue
    if (size > into.length) throw tooLarge(into.length)
    return lzInto('snappy', from.subarray(at + 1), into.subarray(0, size), NONE, at + 1)
  }
  throw damaged(0, 'its length has more than 5 bytes')
}

/** LZF: liblzf's bare stream, as HDF5's filter of h5py has it. */
export function lzfInto(from: Uint8Array, into: Uint8Array): number {
  return lzInto('lzf', from, into)
}

export function blosclzInto(from: Uint8Array, into: Uint8Array): number {
  return lzInto('blosclz', from, into)
}

/** Decompresses into `into`, and returns the bytes written. What came `before` is copied: LZ4 may refer to it. `start`: where `from` begins. */
function lzInto(format: Format, from: Uint8Array, into: Uint8Array, before = NONE, start = 0): number {
  const out = (START + from.length + SLACK + before.length + 15) & ~15
  const memory = workspace(out - START + into.length + SLACK)
  copyBytes(from, memory.subarray(START))
  if (before.length > 0) copyBytes(before, memory.subarray(out - before.length))
  const lz = kernel<Kernel>('lz')
  const written = lz[format](START, from.length, out, into.length, before.length)
  if (written >= 0) copyBytes(memory.subarray(out, out + written), into)
  release()
  if (written < 0) throw faultOf(lz, format, into.length, start)
  return written
}

function faultOf(lz: Kernel, format: Format, room: number, start: number): DecodeError {
  const [kind, at, offset, there] = [lz.fault, lz.faultAt, lz.faultOffset, lz.faultThere].map(
    ({ value }) => value >>> 0,
  )
  if (kind === 1) return cut(start + at)
  if (kind === 2) return tooFarBack(start + at, offset, there)
  if (format !== 'snappy') return tooLarge(room)
  // The length that it says it has is the room.
  const more = kind === 3
  const why = more
    ? `it has more than the ${room} bytes that it says it has`
    : `it has ${there} bytes, and says that it has ${room}`
  return damaged(start + at, why)
}
