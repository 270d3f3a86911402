/**
 * Zstandard's frames, told apart by their headers: nothing is decompressed to find where one ends. Libraries differ in
 * what they do with several frames, or with half of one (Node's own returns what it has, and no error).
 *
 *   28 B5 2F FD  descriptor  [window u8]  [dictionary]  [content size]  blocks …  [checksum u32]
 *   block: header u24 (last: bit 0, type: bits 1–2, size: bits 3–23) and its bytes; type 1 is one byte, repeated
 */
import { DecodeError } from '../basics/errors.js'
import { decompressFrame, type Libzstd } from '../system/codecs/zstd.js'
import { damaged, tooLarge } from './faults.js'
import { libzstd } from './libraries.js'

const MAGIC = 0xfd2fb528
/** Frames of these 16 numbers hold something else, and are passed over. */
const SKIPPABLE = 0x184d2a50
const BLOCK_REPEATED = 1
const BLOCK_RESERVED = 3

export interface ZstdFrame {
  bytes: Uint8Array
  /** Decompressed bytes, where the frame says so: those made by a stream don't. */
  size: number | undefined
}

/** Frames in one value. Those who write several make them of a megabyte or more. */
const MOST_FRAMES = 1000

/** All frames, whole; throws where one is cut off, or none, and where they are too many. */
export function framesOf(bytes: Uint8Array): ZstdFrame[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const frames: ZstdFrame[] = []
  let found = 0
  for (let at = 0; at < bytes.length; ) {
    if (at + 8 > bytes.length) throw damaged(at, 'it is cut off')
    if (++found > MOST_FRAMES) {
      throw new DecodeError(`has more than ${MOST_FRAMES} frames: compress it in one`)
    }
    const magic = view.getUint32(at, true)
    if ((magic & 0xfffffff0) === SKIPPABLE) {
      at += 8 + view.getUint32(at + 4, true)
      continue
    }
    if (magic !== MAGIC) throw damaged(at, 'no Zstandard frame begins here')
    const { size, start } = readHeader(view, at)
    const end = endOf(view, at, start)
    frames.push({ bytes: bytes.subarray(at, end), size })
    at = end
  }
  return frames
}

function readHeader(view: DataView, at: number): { size: number | undefined; start: number } {
  const descriptor = view.getUint8(at + 4)
  if (descriptor & 3) throw new DecodeError('is Zstandard with a dictionary, which is not known here')
  const single = (descriptor & 32) !== 0
  const sizeAt = at + (single ? 5 : 6) // behind the window's size
  const width = [single ? 1 : 0, 2, 4, 8][descriptor >> 6]
  const start = sizeAt + width
  if (start > view.byteLength) throw damaged(at, 'it is cut off')
  switch (width) {
    case 0:
      return { size: undefined, start }
    case 1:
      return { size: view.getUint8(sizeAt), start }
    case 2:
      return { size: view.getUint16(sizeAt, true) + 256, start }
    case 4:
      return { size: view.getUint32(sizeAt, true), start }
    default:
      return { size: Number(view.getBigUint64(sizeAt, true)), start }
  }
}

/** Behind the last block, and the checksum. */
function endOf(view: DataView, frame: number, start: number): number {
  let at = start
  for (let last = false; !last; ) {
    if (at + 3 > view.byteLength) throw damaged(at, 'it is cut off')
    const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    const type = (header >> 1) & 3
    if (type === BLOCK_RESERVED) throw damaged(at, 'there is no such block')
    last = (header & 1) === 1
    at += 3 + (type === BLOCK_REPEATED ? 1 : header >> 3)
  }
  const end = at + ((view.getUint8(frame + 4) & 4) === 0 ? 0 : 4)
  if (end > view.byteLength) throw damaged(view.byteLength, 'it is cut off')
  return end
}

/** All bytes; undefined where they would be more than `most`. `usual` is how many there usually are. */
export function decompressZstd(bytes: Uint8Array, most: number, usual: number): Uint8Array | undefined {
  const frames = framesOf(bytes)
  const said = frames.reduce((sum, { size = 0 }) => sum + size, 0)
  if (said > most) return undefined
  const parts: Uint8Array[] = []
  let room = most
  for (const frame of frames) {
    const out = decompressFrame(frame.bytes, frame.size ?? room, Math.min(frame.size ?? usual, room))
    if ('problem' in out) {
      if (out.tooLarge && frame.size === undefined) return undefined
      throw new DecodeError(`can't be decompressed (${out.problem})`)
    }
    if (frame.size !== undefined && out.length !== frame.size) {
      throw new DecodeError(`says that it has ${frame.size} bytes, and has ${out.length}`)
    }
    room -= out.length
    if (room < 0) return undefined
    parts.push(out)
  }
  return parts.length === 1 ? parts[0] : Buffer.concat(parts)
}

/** All frames, into `into`. */
export function zstdInto(from: Uint8Array, into: Uint8Array): number {
  const native = libzstd()
  if (native !== null) return nativeZstd(native, from, into)
  const out = decompressZstd(from, into.length, into.length)
  if (out === undefined) throw tooLarge(into.length)
  into.set(out)
  return out.length
}

/** libzstd goes through all frames itself; their headers are looked at only to say what is wrong. */
function nativeZstd(native: Libzstd, from: Uint8Array, into: Uint8Array): number {
  const result = native(from, into)
  if (typeof result === 'number') return result
  framesOf(from)
  if (result.tooLarge) throw tooLarge(into.length)
  throw new DecodeError(`can't be decompressed (${result.problem})`)
}
