/** Undoes shuffles by the kernel `shuffle`, a piece at a time: what it works on stays in the cache. */
import { copyBytes } from '../../system/memory/copy.js'
import { kernel, SLACK, START, workspace } from './load.js'

interface Kernel {
  unshuffle(from: number, stride: number, to: number, some: number, width: number): void
  unbits(from: number, to: number, count: number, width: number): void
}

/** Bytes that are done at a time: in and out, they fit a core's second cache. */
const PIECE = 128 << 10
/** Bit-shuffled blocks, with what becomes of them, take three times their size. */
const MOST_BLOCK = 16 << 20

/** `count` elements of `width` bytes, of which `from` has the first bytes, the second ones, and so on. */
export function unshuffleElements(from: Uint8Array, into: Uint8Array, count: number, width: number): void {
  const memory = workspace(2 * (PIECE + 16 * 255 + SLACK)) as Uint8Array
  const { unshuffle } = kernel<Kernel>('shuffle')
  const some = Math.max(16, Math.floor(PIECE / width) & ~15)
  const out = START + some * width + SLACK
  for (let first = 0; first < count; first += some) {
    const now = Math.min(some, count - first)
    for (let b = 0; b < width; b++) {
      const at = b * count + first
      copyBytes(from.subarray(at, at + now), memory.subarray(START + b * some))
    }
    unshuffle(START, some, out, now, width)
    copyBytes(memory.subarray(out, out + now * width), into.subarray(first * width))
  }
}

/**
 * `count` elements (a multiple of 8), bit-shuffled in blocks of `block` (a multiple of 8), the last of which may be shorter. False: blocks
 * are too large for the kernel's memory.
 */
export function unbitshuffleElements(
  from: Uint8Array,
  into: Uint8Array,
  count: number,
  width: number,
  block: number,
): boolean {
  const blockBytes = block * width
  if (blockBytes > MOST_BLOCK) return false
  // As many blocks as make a piece, but one at least.
  const some = Math.max(1, Math.floor(PIECE / blockBytes)) * block
  const bytes = some * width + SLACK
  const memory = workspace(3 * bytes)
  if (memory === undefined) return false
  const { unbits, unshuffle } = kernel<Kernel>('shuffle')
  const [middle, out] = [START + bytes, START + 2 * bytes]
  for (let first = 0; first < count; first += some) {
    const now = Math.min(some, count - first)
    copyBytes(from.subarray(first * width, (first + now) * width), memory.subarray(START))
    for (let i = 0; i < now; i += block) {
      const elements = Math.min(block, now - i)
      unbits(START + i * width, middle, elements, width)
      unshuffle(middle, elements, out + i * width, elements, width)
    }
    copyBytes(memory.subarray(out, out + now * width), into.subarray(first * width))
  }
  return true
}
