/**
 * LZ4, as a frame or as a bare block.
 *
 *   frame  04 22 4D 18  flags  sizes  [content size u64]  [dictionary u32]  check  blocks …  00 00 00 00  [checksum]
 *   block  sequences: token (literals << 4 | match − 4), longer lengths in bytes of 255, literals, offset u16
 *
 * A bare block says nothing of its size. python-lz4 and numcodecs write it in front, as a u32: that is taken as such
 * if the rest decompresses to exactly as many bytes.
 *
 * Every length and offset is checked before it is used: the sequences are first counted, then the output is taken, then
 * filled. Checksums (xxHash, of header, blocks and content) are not looked at.
 */
import { DecodeError } from '../basics/errors.js'
import { cut, damaged, TooLarge, tooFarBack, tooLarge } from './faults.js'

const MAGIC = 0x184d2204
const LEGACY = 0x184c2102
/** Frames of these 16 numbers hold something else, and are passed over. */
const SKIPPABLE = 0x184d2a50
const MIN_MATCH = 4
/** One byte of a match's length stands for this many at most: nothing is compressed better. */
const MOST_RATIO = 255
/** Bytes that are copied at a time, where they don't overlap. */
const WORD = 4
/** Shorter stretches are copied faster byte by byte than by a call. */
const WORTH_A_CALL = 48

/** Blocks of which the output consists, in their order. */
interface Block {
  from: number
  to: number
  /** Not compressed. */
  stored: boolean
  /** Matches may reach back to the block before. */
  linked: boolean
  /** Decompressed bytes. */
  size: number
}

/** All bytes of a frame or a block, if they are not more than `most`. */
export function decompressLz4(bytes: Uint8Array, most: number): Uint8Array {
  const blocks = blocksOf(bytes, most)
  const size = blocks.reduce((sum, block) => sum + block.size, 0)
  if (size > most) throw new TooLarge(size)
  const out = new Uint8Array(size)
  fillAll(bytes, blocks, out)
  return out
}

/** All frames, into `into`. */
export function lz4FrameInto(from: Uint8Array, into: Uint8Array): number {
  const view = new DataView(from.buffer, from.byteOffset, from.byteLength)
  const magic = from.length < 4 ? 0 : view.getUint32(0, true)
  if (magic !== MAGIC && !isSkippable(magic)) throw damaged(0, 'no LZ4 frame begins here')
  try {
    return fillAll(from, framesOf(from, view, into.length), into)
  } catch (error) {
    throw error instanceof TooLarge ? tooLarge(into.length) : error
  }
}

/** A bare block, into `into`. */
export function lz4BlockInto(from: Uint8Array, into: Uint8Array): number {
  const size = count(from, 0, from.length)
  if (size > into.length) throw tooLarge(into.length)
  fill(from, { from: 0, to: from.length, stored: false, linked: false, size }, into, 0)
  return size
}

function fillAll(bytes: Uint8Array, blocks: readonly Block[], out: Uint8Array): number {
  let at = 0
  for (const block of blocks) {
    if (block.stored) out.set(bytes.subarray(block.from, block.to), at)
    else fill(bytes, block, out, at)
    at += block.size
  }
  return at
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
  if (first === MAGIC || isSkippable(first)) return framesOf(bytes, view, most)
  return [bareBlock(bytes, first)]
}

const isSkippable = (magic: number): boolean => (magic & 0xfffffff0) === SKIPPABLE

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
function framesOf(bytes: Uint8Array, view: DataView, most: number): Block[] {
  const blocks: Block[] = []
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
    const before = blocks.length
    const totalBefore = total
    for (let word = u32(); word !== 0; word = u32()) {
      const [length, stored] = [word & 0x7fffffff, word >>> 31 === 1]
      const to = at + length
      if (to > bytes.length) throw cut(at)
      const size = stored ? length : count(bytes, at, to)
      total += size
      if (total > most) throw new TooLarge()
      if (size > 0) blocks.push({ from: at, to, stored, linked: linked && blocks.length > before, size })
      at = to + (blockChecksum ? 4 : 0)
    }
    if (checksum) at += 4
    const size = total - totalBefore
    if (hasSize && view.getBigUint64(sizeAt, true) !== BigInt(size)) {
      throw damaged(sizeAt, `it says that it has ${view.getBigUint64(sizeAt, true)} bytes, and has ${size}`)
    }
  }
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

/** Writes a block that was counted before; only what matches refer to is still to be checked. */
function fill(bytes: Uint8Array, { from, to, linked }: Block, out: Uint8Array, start: number): void {
  const first = linked ? 0 : start
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
