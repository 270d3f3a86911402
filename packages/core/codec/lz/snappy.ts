/**
 * Snappy, the bare format.
 *
 *   length of the output (varint), then elements: tag byte, its low two bits say which
 *   00  literals; their count − 1 in the upper six bits, or 60–63: in the 1–4 bytes that follow
 *   01  match of 4–11 bytes, offset of 11 bits      10  match of 1–64, offset u16      11  the same, offset u32
 */

import { cut, damaged, tooFarBack, tooLarge } from '../faults.js'
import { lzInto } from '../kernels/lz.js'
import { copyMatch } from './copy-match.js'

/** The length that the data begins with, and where the elements begin. */
function header(from: Uint8Array): { size: number; start: number } {
  let size = 0
  for (let at = 0; at < 5; at++) {
    if (at >= from.length) throw cut(at)
    size += (from[at] & 127) * 2 ** (7 * at)
    if (from[at] < 128) return { size, start: at + 1 }
  }
  throw damaged(0, 'its length has more than 5 bytes')
}

export function snappyInto(from: Uint8Array, into: Uint8Array): number {
  const { size, start } = header(from)
  if (size > into.length) throw tooLarge(into.length)
  const out = into.subarray(0, size)
  return lzInto('snappy', from.subarray(start), out) ?? plainSnappy(from, start, out)
}

/** The same without a kernel. */
export function plainSnappy(from: Uint8Array, start: number, into: Uint8Array): number {
  const size = into.length
  const end = from.length
  let at = start
  let put = 0
  while (at < end) {
    const tag = from[at++]
    const kind = tag & 3
    if (kind === 0) {
      let count = (tag >> 2) + 1
      if (count > 60) {
        const width = count - 60
        if (at + width > end) throw cut(at)
        count = 1
        for (let i = 0; i < width; i++) count += from[at++] * 2 ** (8 * i)
      }
      if (at + count > end) throw cut(at)
      if (put + count > size) throw damaged(at, `it has more than the ${size} bytes that it says it has`)
      if (count < 32) for (let i = 0; i < count; i++) into[put + i] = from[at + i]
      else into.set(from.subarray(at, at + count), put)
      at += count
      put += count
      continue
    }
    const width = kind === 3 ? 4 : kind
    if (at + width > end) throw cut(at)
    let count = (tag >> 2) + 1
    let offset = from[at]
    if (kind === 1) {
      count = ((tag >> 2) & 7) + 4
      offset |= (tag >> 5) << 8
    } else {
      offset |= from[at + 1] << 8
      if (kind === 3) offset = (offset | (from[at + 2] << 16) | (from[at + 3] << 24)) >>> 0
    }
    if (offset === 0 || offset > put) throw tooFarBack(at, offset, put)
    at += width
    if (put + count > size) throw damaged(at, `it has more than the ${size} bytes that it says it has`)
    copyMatch(into, put, offset, count)
    put += count
  }
  if (put !== size) throw damaged(end, `it has ${put} bytes, and says that it has ${size}`)
  return size
}
