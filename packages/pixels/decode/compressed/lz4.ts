/**
 * LZ4, as a frame or as a bare block, for a field's `compression`.
 *
 * A bare block says nothing of its size. python-lz4 and numcodecs write it in front, as a u32: that is taken as such
 * if the rest decompresses to exactly as many bytes.
 */
import { DecodeError } from '../../../core/basics/errors.js'
import { cut, TooLarge } from '../../../core/codec/faults.js'
import { blockInto } from '../../../core/codec/lz/blocks.js'
import { type FrameBlock, forEachBlock, isFrame } from '../../../core/codec/lz/lz4-frame.js'

const LEGACY = 0x184c2102
/** One byte of a match's length stands for this many at most: nothing is compressed better. */
const MOST_RATIO = 255
const MIN_MATCH = 4

/** Blocks of which the output consists, in their order. */
interface Block extends Omit<FrameBlock, 'most'> {
  /** Decompressed bytes. */
  size: number
}

/** All bytes of a frame or a block, if they are not more than `most`. */
export function decompressLz4(bytes: Uint8Array, most: number): Uint8Array {
  const blocks = blocksOf(bytes, most)
  const size = blocks.reduce((sum, block) => sum + block.size, 0)
  if (size > most) throw new TooLarge(size)
  const out = new Uint8Array(size)
  let at = 0
  for (const { from, to, stored, linked, size } of blocks) {
    const block = bytes.subarray(from, to)
    if (stored) out.set(block, at)
    else if (linked) blockInto(block, out, at, at + size)
    else blockInto(block, out.subarray(at), 0, size)
    at += size
  }
  return out
}

/** Where the one block lies that the bytes consist of, and what size it has; undefined where they are more, or stored. */
export function singleBlock(bytes: Uint8Array): { block: Uint8Array; size: number } | undefined {
  const blocks = blocksOf(bytes, Infinity)
  if (blocks.length !== 1 || blocks[0].stored) return undefined
  const [{ from, to, size }] = blocks
  return { block: bytes.subarray(from, to), size }
}

/** The blocks that are not empty; as soon as they are more than `most` bytes, it ends. */
function blocksOf(bytes: Uint8Array, most: number): Block[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const first = bytes.length < 4 ? 0 : view.getUint32(0, true)
  if (first === LEGACY) {
    throw new DecodeError('is an LZ4 frame of the legacy format (lz4 -l): compress it without -l')
  }
  if (isFrame(first)) return framesOf(bytes, most)
  return [bareBlock(bytes, first)]
}

function bareBlock(bytes: Uint8Array, first: number): Block {
  const block = (from: number): Block => ({
    from,
    to: bytes.length,
    stored: false,
    linked: false,
    size: count(bytes, from, bytes.length),
  })
  try {
    if (bytes.length > 4 && first <= MOST_RATIO * bytes.length) {
      const behind = block(4)
      if (behind.size === first) return behind
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
  }
  return block(0)
}

/** The blocks of all frames, one after the other. */
function framesOf(bytes: Uint8Array, most: number): Block[] {
  const blocks: Block[] = []
  forEachBlock(bytes, most, block => {
    const { from, to, stored } = block
    const size = stored ? to - from : count(bytes, from, to)
    if (size > 0) blocks.push({ ...block, size })
    return size
  })
  return blocks
}

/** Decompressed bytes of a block; every length of its sequences is within the input. */
function count(bytes: Uint8Array, from: number, to: number): number {
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
