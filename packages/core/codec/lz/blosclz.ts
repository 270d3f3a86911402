/**
 * BloscLZ, the codec of Blosc's own, a relative of FastLZ. The first control byte is a literal's.
 *
 *   000lllll                               l + 1 literals
 *   lllooooo [255 …] [llllllll] oooooooo   match of l + 2 bytes (l = 7: more bytes of length follow), o + 1 bytes back
 *   lll11111 [255 …] … 255 hi lo           the same, offset u16 (upper byte first) + 8191 + 1
 */

import { cut, tooFarBack, tooLarge } from '../faults.js'
import { lzInto } from '../kernels/lz.js'
import { copyMatch } from './copy-match.js'

/** Offsets that take 13 bits; those of two bytes begin above. */
const NEAR = 8191

export function blosclzInto(from: Uint8Array, into: Uint8Array): number {
  return lzInto('blosclz', from, into) ?? plainBlosclz(from, into)
}

/** The same without a kernel. */
export function plainBlosclz(from: Uint8Array, into: Uint8Array): number {
  const end = from.length
  const room = into.length
  let at = 0
  let put = 0
  let control = from[at++] & 31
  for (;;) {
    if (control < 32) {
      const count = control + 1
      if (at + count > end) throw cut(at)
      if (put + count > room) throw tooLarge(room)
      for (let i = 0; i < count; i++) into[put++] = from[at++]
    } else {
      let count = (control >> 5) - 1
      let offset = (control & 31) << 8
      if (count === 6) {
        let more: number
        do {
          if (at >= end) throw cut(at)
          more = from[at++]
          count += more
        } while (more === 255)
      }
      if (at >= end) throw cut(at)
      const low = from[at++]
      offset += low
      if (low === 255 && offset === 31 * 256 + 255) {
        if (at + 2 > end) throw cut(at)
        offset = (from[at] << 8) + from[at + 1] + NEAR
        at += 2
      }
      offset += 1
      count += 3
      if (offset > put) throw tooFarBack(at, offset, put)
      if (put + count > room) throw tooLarge(room)
      copyMatch(into, put, offset, count)
      put += count
    }
    if (at >= end) return put
    control = from[at++]
  }
}
