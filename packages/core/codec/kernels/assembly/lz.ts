/**
 * Four formats of the LZ77 kind, each in one function: it decompresses `length` bytes at `from` to at most `room` bytes at `to`, and returns
 * how many they are, or −1 where something is wrong: `fault` and what follows it then say what.
 *
 * Copies go 16 bytes at a time, and write up to 31 bytes over their end, which is written again or is slack: behind the
 * output there must be SLACK bytes, and behind the input too.
 */

/** The kinds of faults: the input is cut off; a match reaches before the output; the output is larger, or smaller, than `room`. */
const CUT: i32 = 1
const FAR: i32 = 2
const LARGE: i32 = 3
const SMALL: i32 = 4

export let fault: i32 = 0
/** The byte of the input where it was found. */
export let faultAt: usize = 0
/** Of a match that reaches too far back: its offset, and the bytes that there are. Of too little output: its bytes. */
export let faultOffset: usize = 0
export let faultThere: usize = 0

function bad(kind: i32, at: usize, offset: usize = 0, there: usize = 0): i32 {
  fault = kind
  faultAt = at
  faultOffset = offset
  faultThere = there
  return -1
}

@inline
function copyAhead(to: usize, from: usize, bytes: usize): void {
  const end = to + bytes
  do {
    v128.store(to, v128.load(from))
    to += 16
    from += 16
  } while (to < end)
}

/** For offsets 1–7: the smallest multiple that is 8 or more, a byte each. */
@inline
const MULTIPLES: u64 = 0x0e0c0a0809080800

/** Copies what was written `offset` bytes before; where they overlap, the bytes repeat. */
@inline
function copyBack(to: usize, offset: usize, bytes: usize): void {
  let from = to - offset
  const end = to + bytes
  if (offset >= 16) {
    do {
      v128.store(to, v128.load(from))
      to += 16
      from += 16
    } while (to < end)
    return
  }
  if (offset < 8) {
    for (let i: usize = 0; i < 8; i++) store<u8>(to + i, load<u8>(from + i))
    to += 8
    from = to - <usize>((MULTIPLES >> (offset << 3)) & 255)
  }
  while (to < end) {
    store<u64>(to, load<u64>(from))
    to += 8
    from += 8
  }
}

/**
 * A block of LZ4: sequences of a token (literals << 4 | match − 4), longer lengths in bytes of 255, literals, offset u16. `before` bytes
 * before the output belong to it.
 */
export function lz4(from: usize, length: usize, to: usize, room: usize, before: usize): i32 {
  let at = from
  const end = from + length
  let put = to
  const stop = to + room
  while (true) {
    if (at >= end) return bad(CUT, at - from)
    const token: usize = load<u8>(at++)
    let literals = token >> 4
    if (literals === 15) {
      let more: usize
      do {
        if (at >= end) return bad(CUT, at - from)
        if (literals > room) return bad(LARGE, at - from)
        more = load<u8>(at++)
        literals += more
      } while (more === 255)
    }
    if (literals > end - at) return bad(CUT, length)
    if (literals > stop - put) return bad(LARGE, at - from)
    if (literals !== 0) copyAhead(put, at, literals)
    at += literals
    put += literals
    if (at === end) return <i32>(put - to)
    if (end - at < 2) return bad(CUT, at - from)
    const offset: usize = load<u16>(at)
    if (offset === 0 || offset > put - to + before) return bad(FAR, at - from, offset, put - to + before)
    at += 2
    let match = (token & 15) + 4
    if (match === 19) {
      let more: usize
      do {
        if (at >= end) return bad(CUT, at - from)
        if (match > room) return bad(LARGE, at - from)
        more = load<u8>(at++)
        match += more
      } while (more === 255)
    }
    if (match > stop - put) return bad(LARGE, at - from)
    copyBack(put, offset, match)
    put += match
  }
}

/**
 * Snappy's elements, without the length in front of them, which is `room`: a tag byte, whose low two bits say which
 *   00  literals; their count − 1 in the upper six bits, or 60–63: in the 1–4 bytes that follow
 *   01  match of 4–11 bytes, offset of 11 bits      10  match of 1–64, offset u16      11  the same, offset u32
 */
export function snappy(from: usize, length: usize, to: usize, room: usize): i32 {
  let at = from
  const end = from + length
  let put = to
  const stop = to + room
  while (at < end) {
    const tag: usize = load<u8>(at++)
    const kind = tag & 3
    let count = (tag >> 2) + 1
    if (kind === 0) {
      if (count > 60) {
        const width = count - 60
        if (end - at < width) return bad(CUT, at - from)
        // `width` bytes of the four, which may reach into the slack.
        const minusOne = load<u32>(at) & <u32>(0xffffffff >> ((4 - <u32>width) << 3))
        if (minusOne >= <u32>room) return bad(LARGE, at - from)
        count = <usize>minusOne + 1
        at += width
      }
      if (count > end - at) return bad(CUT, at - from)
      if (count > stop - put) return bad(LARGE, at - from)
      copyAhead(put, at, count)
      at += count
      put += count
      continue
    }
    const before = at
    let offset: usize
    if (kind === 1) {
      if (at >= end) return bad(CUT, at - from)
      count = ((tag >> 2) & 7) + 4
      offset = ((tag >> 5) << 8) | <usize>load<u8>(at)
      at += 1
    } else if (kind === 2) {
      if (end - at < 2) return bad(CUT, at - from)
      offset = load<u16>(at)
      at += 2
    } else {
      if (end - at < 4) return bad(CUT, at - from)
      offset = load<u32>(at)
      at += 4
    }
    if (offset === 0 || offset > put - to) return bad(FAR, before - from, offset, put - to)
    if (count > stop - put) return bad(LARGE, at - from)
    copyBack(put, offset, count)
    put += count
  }
  return put === stop ? <i32>room : bad(SMALL, length, 0, put - to)
}

/**
 * LZF.
 *
 *   000lllll                     l + 1 literals
 *   lllooooo oooooooo            match of l + 2 bytes, o + 1 bytes back
 *   111ooooo llllllll oooooooo   match of l + 9 bytes
 */
export function lzf(from: usize, length: usize, to: usize, room: usize): i32 {
  let at = from
  const end = from + length
  let put = to
  const stop = to + room
  while (at < end) {
    const control: usize = load<u8>(at++)
    if (control < 32) {
      const count = control + 1
      if (count > end - at) return bad(CUT, at - from)
      if (count > stop - put) return bad(LARGE, at - from)
      copyAhead(put, at, count)
      at += count
      put += count
      continue
    }
    let count = control >> 5
    if (count === 7) {
      if (at >= end) return bad(CUT, at - from)
      count += load<u8>(at++)
    }
    count += 2
    if (at >= end) return bad(CUT, at - from)
    const offset: usize = (((control & 31) << 8) | <usize>load<u8>(at)) + 1
    at += 1
    if (offset > put - to) return bad(FAR, at - from, offset, put - to)
    if (count > stop - put) return bad(LARGE, at - from)
    copyBack(put, offset, count)
    put += count
  }
  return <i32>(put - to)
}

/**
 * BloscLZ, the codec of Blosc's own, a relative of FastLZ. The first control byte is a literal's.
 *
 *   000lllll                               l + 1 literals
 *   lllooooo [255 …] [llllllll] oooooooo   match of l + 2 bytes (l = 7: more bytes of length follow), o + 1 bytes back
 *   lll11111 [255 …] … 255 hi lo           the same, offset u16 (upper byte first) + 8191 + 1
 */
export function blosclz(from: usize, length: usize, to: usize, room: usize): i32 {
  let at = from
  const end = from + length
  let put = to
  const stop = to + room
  if (length === 0) return bad(CUT, 0)
  let control: usize = load<u8>(at++) & 31
  while (true) {
    if (control < 32) {
      const count = control + 1
      if (count > end - at) return bad(CUT, at - from)
      if (count > stop - put) return bad(LARGE, at - from)
      copyAhead(put, at, count)
      at += count
      put += count
    } else {
      let count = (control >> 5) - 1
      let offset = (control & 31) << 8
      if (count === 6) {
        let more: usize
        do {
          if (at >= end) return bad(CUT, at - from)
          if (count > room) return bad(LARGE, at - from)
          more = load<u8>(at++)
          count += more
        } while (more === 255)
      }
      if (at >= end) return bad(CUT, at - from)
      offset += load<u8>(at++)
      if (offset === 8191) {
        if (end - at < 2) return bad(CUT, at - from)
        offset = (<usize>load<u8>(at) << 8) + <usize>load<u8>(at + 1) + 8191
        at += 2
      }
      offset += 1
      count += 3
      if (offset > put - to) return bad(FAR, at - from, offset, put - to)
      if (count > stop - put) return bad(LARGE, at - from)
      copyBack(put, offset, count)
      put += count
    }
    if (at >= end) return <i32>(put - to)
    control = load<u8>(at++)
  }
}
