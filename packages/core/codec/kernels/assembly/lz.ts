/**
 * Four formats of the LZ77 kind, each in one function: it decompresses `length` bytes at `from` to at most `room` bytes at `to`, and returns
 * how many they are, or −1 where something is wrong: the plain version then says what.
 *
 * Copies go 16 bytes at a time, and write up to 31 bytes over their end, which is written again or is slack: behind the
 * output there must be SLACK bytes, and behind the input too.
 */

@inline
const BAD: i32 = -1

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

/** A block; `before` bytes before the output belong to it. */
export function lz4(from: usize, length: usize, to: usize, room: usize, before: usize): i32 {
  let at = from
  const end = from + length
  let put = to
  const stop = to + room
  while (true) {
    if (at >= end) return BAD
    const token: usize = load<u8>(at++)
    let literals = token >> 4
    if (literals === 15) {
      let more: usize
      do {
        if (at >= end || literals > room) return BAD
        more = load<u8>(at++)
        literals += more
      } while (more === 255)
    }
    if (literals > end - at || literals > stop - put) return BAD
    if (literals !== 0) copyAhead(put, at, literals)
    at += literals
    put += literals
    if (at === end) return <i32>(put - to)
    if (end - at < 2) return BAD
    const offset: usize = load<u16>(at)
    at += 2
    if (offset === 0 || offset > put - to + before) return BAD
    let match = (token & 15) + 4
    if (match === 19) {
      let more: usize
      do {
        if (at >= end || match > room) return BAD
        more = load<u8>(at++)
        match += more
      } while (more === 255)
    }
    if (match > stop - put) return BAD
    copyBack(put, offset, match)
    put += match
  }
}

/** The elements alone, without the length in front of them, which is `room`. */
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
        if (end - at < width) return BAD
        // `width` bytes of the four, which may reach into the slack.
        const minusOne = load<u32>(at) & <u32>(0xffffffff >> ((4 - <u32>width) << 3))
        if (minusOne >= <u32>room) return BAD
        count = <usize>minusOne + 1
        at += width
      }
      if (count > end - at || count > stop - put) return BAD
      copyAhead(put, at, count)
      at += count
      put += count
      continue
    }
    let offset: usize
    if (kind === 1) {
      if (at >= end) return BAD
      count = ((tag >> 2) & 7) + 4
      offset = ((tag >> 5) << 8) | <usize>load<u8>(at)
      at += 1
    } else if (kind === 2) {
      if (end - at < 2) return BAD
      offset = load<u16>(at)
      at += 2
    } else {
      if (end - at < 4) return BAD
      offset = load<u32>(at)
      at += 4
    }
    if (offset === 0 || offset > put - to || count > stop - put) return BAD
    copyBack(put, offset, count)
    put += count
  }
  return put === stop ? <i32>room : BAD
}

export function lzf(from: usize, length: usize, to: usize, room: usize): i32 {
  let at = from
  const end = from + length
  let put = to
  const stop = to + room
  while (at < end) {
    const control: usize = load<u8>(at++)
    if (control < 32) {
      const count = control + 1
      if (count > end - at || count > stop - put) return BAD
      copyAhead(put, at, count)
      at += count
      put += count
      continue
    }
    let count = control >> 5
    if (count === 7) {
      if (at >= end) return BAD
      count += load<u8>(at++)
    }
    count += 2
    if (at >= end) return BAD
    const offset: usize = (((control & 31) << 8) | <usize>load<u8>(at)) + 1
    at += 1
    if (offset > put - to || count > stop - put) return BAD
    copyBack(put, offset, count)
    put += count
  }
  return <i32>(put - to)
}

export function blosclz(from: usize, length: usize, to: usize, room: usize): i32 {
  let at = from
  const end = from + length
  let put = to
  const stop = to + room
  if (length === 0) return BAD
  let control: usize = load<u8>(at++) & 31
  while (true) {
    if (control < 32) {
      const count = control + 1
      if (count > end - at || count > stop - put) return BAD
      copyAhead(put, at, count)
      at += count
      put += count
    } else {
      let count = (control >> 5) - 1
      let offset = (control & 31) << 8
      if (count === 6) {
        let more: usize
        do {
          if (at >= end || count > room) return BAD
          more = load<u8>(at++)
          count += more
        } while (more === 255)
      }
      if (at >= end) return BAD
      offset += load<u8>(at++)
      if (offset === 8191) {
        if (end - at < 2) return BAD
        offset = (<usize>load<u8>(at) << 8) + <usize>load<u8>(at + 1) + 8191
        at += 2
      }
      offset += 1
      count += 3
      if (offset > put - to || count > stop - put) return BAD
      copyBack(put, offset, count)
      put += count
    }
    if (at >= end) return <i32>(put - to)
    control = load<u8>(at++)
  }
}
