// Tokens as a file has them (u16, i32, u32) to the elements of a batch (i32, i64). Inputs and targets, which are the same
// tokens one place apart, are written in one pass. The twin is packages/llm/test/tokens/widen.ts.

// Types of the file by number: as in ../load.ts.
const U16: i32 = 0
const I32: i32 = 1

/**
 * Writes tokens `first`…`last` − 1 of those at `from` to `to` on, from its beginning, 4 or 8 bytes each. Returns the greatest as an
 * unsigned number: a negative one is greater than any other.
 */
export function widen(source: i32, size: i32, from: usize, first: i32, last: i32, to: usize): u32 {
  if (source == U16) return size == 8 ? one<u16, i64>(from, first, last, to) : one<u16, i32>(from, first, last, to)
  if (source == I32) return size == 8 ? one<i32, i64>(from, first, last, to) : one<i32, i32>(from, first, last, to)
  return size == 8 ? one<u32, i64>(from, first, last, to) : one<u32, i32>(from, first, last, to)
}

/** Writes tokens 0…count − 2 to `input` on, and 1…count − 1 to `target` on. Returns the greatest of all. */
export function widenPair(source: i32, size: i32, from: usize, count: i32, input: usize, target: usize): u32 {
  if (source == U16) return size == 8 ? pair<u16, i64>(from, count, input, target) : pair<u16, i32>(from, count, input, target)
  if (source == I32) return size == 8 ? pair<i32, i64>(from, count, input, target) : pair<i32, i32>(from, count, input, target)
  return size == 8 ? pair<u32, i64>(from, count, input, target) : pair<u32, i32>(from, count, input, target)
}

/** The greatest of so many tokens, as an unsigned number. */
export function greatest(source: i32, from: usize, count: i32): u32 {
  return source == U16 ? greatestOf<u16>(from, count) : greatestOf<u32>(from, count)
}

/** Writes one number `count` times, as an element of 1, 4 or 8 bytes. */
export function fill(size: i32, at: usize, count: i32, value: i32): void {
  if (size == 1) {
    memory.fill(at, <u8>value, count)
    return
  }
  const lanes = size == 8 ? i64x2.splat(<i64>value) : i32x4.splat(value)
  const end = at + <usize>count * size
  for (; at + 16 <= end; at += 16) v128.store(at, lanes)
  for (; at < end; at += size) {
    if (size == 8) store<i64>(at, <i64>value)
    else store<i32>(at, value)
  }
}

@inline
function most<S>(greatest: v128, tokens: v128): v128 {
  return sizeof<S>() == 2 ? i16x8.max_u(greatest, tokens) : i32x4.max_u(greatest, tokens)
}

/** The greatest of all lanes. */
@inline
function reduced<S>(lanes: v128): u32 {
  let pairs = lanes
  if (sizeof<S>() == 2)
    pairs = i32x4.max_u(i32x4.extend_low_i16x8_u(lanes), i32x4.extend_high_i16x8_u(lanes))
  const a = max<u32>(i32x4.extract_lane(pairs, 0), i32x4.extract_lane(pairs, 1))
  return max<u32>(a, max<u32>(i32x4.extract_lane(pairs, 2), i32x4.extract_lane(pairs, 3)))
}

/** Four tokens in lanes of 32 bits, to one place or two. */
@inline
function put4<S, T>(four: v128, to: usize): void {
  if (sizeof<T>() == 4) {
    v128.store(to, four)
  } else if (isSigned<S>()) {
    v128.store(to, i64x2.extend_low_i32x4_s(four))
    v128.store(to, i64x2.extend_high_i32x4_s(four), 16)
  } else {
    v128.store(to, i64x2.extend_low_i32x4_u(four))
    v128.store(to, i64x2.extend_high_i32x4_u(four), 16)
  }
}

/** A vector of tokens: eight of u16, or four. */
@inline
function put<S, T>(tokens: v128, to: usize): void {
  if (sizeof<S>() == 2) {
    put4<u32, T>(i32x4.extend_low_i16x8_u(tokens), to)
    put4<u32, T>(i32x4.extend_high_i16x8_u(tokens), to + 4 * sizeof<T>())
  } else put4<S, T>(tokens, to)
}

function greatestOf<S>(from: usize, count: i32): u32 {
  const lanes = 16 / <i32>sizeof<S>()
  let vector = i32x4.splat(0)
  let i: i32 = 0
  for (; i + lanes <= count; i += lanes) vector = most<S>(vector, v128.load(from + <usize>i * sizeof<S>()))
  let top = reduced<S>(vector)
  for (; i < count; i++) top = max<u32>(top, <u32>load<S>(from + <usize>i * sizeof<S>()))
  return top
}

function one<S, T>(from: usize, first: i32, last: i32, to: usize): u32 {
  const lanes = 16 / <i32>sizeof<S>()
  let greatest = i32x4.splat(0)
  let i = first
  for (; i + lanes <= last; i += lanes) {
    const tokens = v128.load(from + <usize>i * sizeof<S>())
    greatest = most<S>(greatest, tokens)
    put<S, T>(tokens, to)
    to += <usize>lanes * sizeof<T>()
  }
  let top = reduced<S>(greatest)
  for (; i < last; i++) {
    const token = load<S>(from + <usize>i * sizeof<S>())
    top = max<u32>(top, <u32>token)
    store<T>(to, <T>token)
    to += sizeof<T>()
  }
  return top
}

function pair<S, T>(from: usize, count: i32, input: usize, target: usize): u32 {
  if (count < 1) return 0
  const lanes = 16 / <i32>sizeof<S>()
  // The first token is no target, the last no input.
  const before = load<S>(from)
  let top = <u32>before
  if (count > 1) store<T>(input, <T>before)
  let greatest = i32x4.splat(0)
  let i: i32 = 1
  for (; i + lanes < count; i += lanes) {
    const tokens = v128.load(from + <usize>i * sizeof<S>())
    greatest = most<S>(greatest, tokens)
    put<S, T>(tokens, input + <usize>i * sizeof<T>())
    put<S, T>(tokens, target + <usize>(i - 1) * sizeof<T>())
  }
  top = max<u32>(top, reduced<S>(greatest))
  for (; i < count; i++) {
    const token = load<S>(from + <usize>i * sizeof<S>())
    top = max<u32>(top, <u32>token)
    if (i + 1 < count) store<T>(input + <usize>i * sizeof<T>(), <T>token)
    store<T>(target + <usize>(i - 1) * sizeof<T>(), <T>token)
  }
  return top
}

/** Writes first, first + 1, … */
export function ascend(size: i32, at: usize, count: i32, first: i32): void {
  let i: i32 = 0
  if (size == 8) {
    let two = i64x2(<i64>first, <i64>first + 1)
    for (; i + 2 <= count; i += 2) {
      v128.store(at + (<usize>i << 3), two)
      two = i64x2.add(two, i64x2.splat(2))
    }
    for (; i < count; i++) store<i64>(at + (<usize>i << 3), <i64>(first + i))
  } else {
    let four = i32x4.add(i32x4.splat(first), i32x4(0, 1, 2, 3))
    for (; i + 4 <= count; i += 4) {
      v128.store(at + (<usize>i << 2), four)
      four = i32x4.add(four, i32x4.splat(4))
    }
    for (; i < count; i++) store<i32>(at + (<usize>i << 2), first + i)
  }
}
