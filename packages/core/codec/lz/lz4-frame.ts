/**
 * Frames of LZ4, one after the other.
 *
 *   04 22 4D 18  flags  sizes  [content size u64]  [dictionary u32]  check  blocks …  00 00 00 00  [checksum]
 *
 * Checksums (xxHash, of header, blocks and content) are not looked at.
 */
import { DecodeError } from '../../basics/errors.js'
import { copyBytes } from '../../system/memory/copy.js'
import { cut, damaged, TooLarge, tooLarge } from '../faults.js'
import { blockInto } from './blocks.js'

const MAGIC = 0x184d2204
/** Frames of these 16 numbers hold something else, and are passed over. */
const SKIPPABLE = 0x184d2a50

const isSkippable = (magic: number): boolean => (magic & 0xfffffff0) === SKIPPABLE

/** Whether a frame begins with these four bytes. */
export const isFrame = (magic: number): boolean => magic === MAGIC || isSkippable(magic)

/** A block at `from` to `to`: what is done with it gives its decompressed bytes. */
export interface FrameBlock {
  from: number
  to: number
  /** Not compressed. */
  stored: boolean
  /** Matches may reach back to the block before. */
  linked: boolean
  /** It has so many bytes at most. */
  most: number
}

/** Calls `each` for all blocks of all frames; more than `most` bytes in all are a TooLarge. */
export function forEachBlock(bytes: Uint8Array, most: number, each: (block: FrameBlock) => number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let total = 0
  let at = 0
  const u32 = (): number => {
    if (at + 4 > bytes.length) throw cut(at)
    at += 4
    return view.getUint32(at - 4, true)
  }
  while (at < bytes.length) {
    const magic = u32()
    if (isSkippable(magic)) {
      const length = u32()
      at += length
      continue
    }
    if (magic !== MAGIC) throw damaged(at - 4, 'no frame begins here')
    const flags = bytes[at]
    if (at + 2 > bytes.length) throw cut(at)
    if (flags >> 6 !== 1) throw damaged(at, `its version is ${flags >> 6}, and only 1 is known`)
    if (flags & 1) throw new DecodeError('is LZ4 with a dictionary, which is not known here')
    const hasSize = (flags & 8) !== 0
    const [linked, blockChecksum, checksum] = [(flags & 32) === 0, (flags & 16) !== 0, (flags & 4) !== 0]
    const sizeAt = at + 2
    at += hasSize ? 11 : 3
    if (at > bytes.length) throw cut(at)
    const mostInBlock = MOST_IN_BLOCK[(bytes[sizeAt - 1] >> 4) & 7]
    let first = true
    const totalBefore = total
    for (let word = u32(); word !== 0; word = u32()) {
      const [length, stored] = [word & 0x7fffffff, word >>> 31 === 1]
      const to = at + length
      if (to > bytes.length) throw cut(at)
      total += each({ from: at, to, stored, linked: linked && !first, most: mostInBlock })
      if (total > most) throw new TooLarge()
      first = false
      at = to + (blockChecksum ? 4 : 0)
    }
    if (checksum) at += 4
    const size = total - totalBefore
    if (hasSize && view.getBigUint64(sizeAt, true) !== BigInt(size)) {
      throw damaged(sizeAt, `it says that it has ${view.getBigUint64(sizeAt, true)} bytes, and has ${size}`)
    }
  }
}

/** By the number in the frame's header; others are not defined. */
const MOST_IN_BLOCK = [0, 0, 0, 0, 64 << 10, 256 << 10, 1 << 20, 4 << 20]

/** All frames, into `into`. */
export function lz4FrameInto(from: Uint8Array, into: Uint8Array): number {
  const { length } = into
  if (from.length < 4 || !isFrame(new DataView(from.buffer, from.byteOffset).getUint32(0, true))) {
    throw damaged(0, 'no LZ4 frame begins here')
  }
  let put = 0
  forEachBlock(from, length, block => {
    const { stored, linked, most } = block
    const bytes = from.subarray(block.from, block.to)
    let size = bytes.length
    if (stored) {
      if (size > length - put) throw tooLarge(length)
      copyBytes(bytes, into.subarray(put))
    } else if (linked) size = blockInto(bytes, into, put, Math.min(length, put + most))
    else size = blockInto(bytes, into.subarray(put), 0, Math.min(length - put, most))
    put += size
    return size
  })
  return put
}
