/**
 * LZF: liblzf's bare stream, as HDF5's filter of h5py has it.
 *
 *   000lllll                     l + 1 literals
 *   lllooooo oooooooo            match of l + 2 bytes, o + 1 bytes back
 *   111ooooo llllllll oooooooo   match of l + 9 bytes
 */

import { cut, tooFarBack, tooLarge } from '../faults.js'
import { lzInto } from '../kernels/lz.js'
import { copyMatch } from './copy-match.js'

export function lzfInto(from: Uint8Array, into: Uint8Array): number {
  return lzInto('lzf', from, into) ?? plainLzf(from, into)
}

/** The same without a kernel. */
export function plainLzf(from: Uint8Array, into: Uint8Array): number {
  const end = from.length
  const room = into.length
  let at = 0
  let put = 0
  while (at < end) {
    const control = from[at++]
    if (control < 32) {
      const count = control + 1
      if (at + count > end) throw cut(at)
      if (put + count > room) throw tooLarge(room)
      for (let i = 0; i < count; i++) into[put++] = from[at++]
      continue
    }
    let count = control >> 5
    if (count === 7) {
      if (at >= end) throw cut(at)
      count += from[at++]
    }
    count += 2
    if (at >= end) throw cut(at)
    const offset = ((control & 31) << 8) + from[at++] + 1
    if (offset > put) throw tooFarBack(at, offset, put)
    if (put + count > room) throw tooLarge(room)
    copyMatch(into, put, offset, count)
    put += count
  }
  return put
}
