/** Plain twins of the kernels `lz` and `shuffle`: tests compare the kernels with them. */
import { cut, damaged, tooFarBack, tooLarge } from '../../codec/faults.js'

/** Shorter stretches are copied faster byte by byte than by a call. */
const WORTH_A_CALL = 48

/** The caller has checked that both lie within `out`. */
function copyMatch(out: Uint8Array, put: number, offset: number, count: number): void {
  if (count >= WORTH_A_CALL && offset >= count) {
    out.copyWithin(put, put - offset, put - offset + count)
    return
  }
  if (count >= WORTH_A_CALL && offset === 1) {
    out.fill(out[put - 1], put, put + count)
    return
  }
  for (const end = put + count; put < end; put++) out[put] = out[put - offset]
}

const MIN_MATCH = 4

/** A block of LZ4. */
export function plainBlock(from: Uint8Array, into: Uint8Array): number {
  const size = count(from, 0, from.length)
  if (size > into.length) throw tooLarge(into.length)
  fill(from, into)
  return size
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

/** Writes a block that was counted before: only what matches refer to is still to be checked. */
function fill(bytes: Uint8Array, out: Uint8Array): void {
  let at = 0
  let put = 0
  for (;;) {
    const token = bytes[at++]
    let literals = token >> 4
    if (literals === 15) {
      let more: number
      do literals += more = bytes[at++]
      while (more === 255)
    }
    out.set(bytes.subarray(at, at + literals), put)
    at += literals
    put += literals
    if (at === bytes.length) return
    const offset = bytes[at] | (bytes[at + 1] << 8)
    if (offset === 0 || offset > put) throw tooFarBack(at, offset, put)
    at += 2
    let match = (token & 15) + MIN_MATCH
    if (match === 15 + MIN_MATCH) {
      let more: number
      do match += more = bytes[at++]
      while (more === 255)
    }
    copyMatch(out, put, offset, match)
    put += match
  }
}

/** Snappy's elements. */
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

/** Offsets of BloscLZ that take 13 bits; those of two bytes begin above. */
const NEAR = 8191

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

export function plainUnbitshuffle(
  from: Uint8Array,
  into: Uint8Array,
  whole: number,
  elementBytes: number,
  block: number,
): void {
  for (let first = 0; first < whole; first += block) {
    const count = Math.min(block, whole - first)
    const at = first * elementBytes
    unbitshuffleBlock(from.subarray(at), into.subarray(at), elementBytes, count)
  }
}

/** Row b * 8 + k has bit k of byte b of all elements, eight elements a byte. */
function unbitshuffleBlock(from: Uint8Array, into: Uint8Array, elementBytes: number, count: number): void {
  const row = count / 8
  for (let b = 0; b < elementBytes; b++) {
    for (let i = 0; i < row; i++) {
      for (let j = 0; j < 8; j++) {
        let byte = 0
        for (let k = 0; k < 8; k++) byte |= ((from[(b * 8 + k) * row + i] >> j) & 1) << k
        into[(i * 8 + j) * elementBytes + b] = byte
      }
    }
  }
}
