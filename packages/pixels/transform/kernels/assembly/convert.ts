// Elements of one type to another, exactly as NumPy casts them (bf16 as ml_dtypes does). Integers that the target does not
// hold are not written: the kernel stops there. The twin is packages/pixels/test/transform/twins/convert.ts.

// Types by number: as in ../codes.ts.
const U8: i32 = 0
const I8: i32 = 1
const U16: i32 = 2
const I16: i32 = 3
const I32: i32 = 4
const U32: i32 = 5
const I64: i32 = 6
const F16: i32 = 7
const BF16: i32 = 8
const F32: i32 = 9
const F64: i32 = 10
const BOOL: i32 = 11
const U64: i32 = 12

/** Converts `count` elements; returns how many were written: fewer than `count` where the next one does not fit. */
export function convert(source: i32, from: usize, target: i32, to: usize, count: i32): i32 {
  switch (source) {
    case U8: return ofInts<u8>(from, target, to, count)
    case I8: return ofInts<i8>(from, target, to, count)
    case U16: return ofInts<u16>(from, target, to, count)
    case I16: return ofInts<i16>(from, target, to, count)
    case I32: return ofInts<i32>(from, target, to, count)
    case U32: return ofInts<u32>(from, target, to, count)
    case I64: return ofInts<i64>(from, target, to, count)
    case U64: return ofInts<u64>(from, target, to, count)
    case F16: return ofHalves(from, target, to, count)
    case BF16: return ofBrains(from, target, to, count)
    case F32: return ofSingles(from, target, to, count)
    case F64: return ofDoubles(from, target, to, count)
    case BOOL: {
      for (let i: i32 = 0; i < count; i++) store<u8>(from + i, <u8>(load<u8>(from + i) != 0))
      return ofInts<u8>(from, target, to, count)
    }
  }
  return 0
}

/** Reverses the bytes of each element, in place. */
export function swap(at: usize, size: i32, count: i32): void {
  const end = at + <usize>size * count
  const whole = at + ((end - at) & ~15)
  if (size == 2) {
    for (; at < whole; at += 16)
      v128.store(at, i8x16.shuffle(v128.load(at), v128.load(at), 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14))
    for (; at < end; at += 2) store<u16>(at, bswap<u16>(load<u16>(at)))
  } else if (size == 4) {
    for (; at < whole; at += 16)
      v128.store(at, i8x16.shuffle(v128.load(at), v128.load(at), 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12))
    for (; at < end; at += 4) store<u32>(at, bswap<u32>(load<u32>(at)))
  } else if (size == 8) {
    for (; at < whole; at += 16)
      v128.store(at, i8x16.shuffle(v128.load(at), v128.load(at), 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8))
    for (; at < end; at += 8) store<u64>(at, bswap<u64>(load<u64>(at)))
  }
}

/** Copies within the memory: typed arrays over shared memory are several times slower. */
export function move(from: usize, to: usize, bytes: usize): void {
  memory.copy(to, from, bytes)
}

// ---------------------------------------------------------------- integers

function ofInts<S>(from: usize, target: i32, to: usize, count: i32): i32 {
  switch (target) {
    case U8: return ints<S, u8>(from, to, count)
    case I8: return ints<S, i8>(from, to, count)
    case U16: return ints<S, u16>(from, to, count)
    case I16: return ints<S, i16>(from, to, count)
    case I32: return ints<S, i32>(from, to, count)
    case U32: return ints<S, u32>(from, to, count)
    case I64: return ints<S, i64>(from, to, count)
    case F16: {
      for (let i: i32 = 0; i < count; i++) store<u16>(to + (i << 1), halfOf(<f32>element<S>(from, i)))
      return count
    }
    case BF16: {
      for (let i: i32 = 0; i < count; i++) store<u16>(to + (i << 1), brainOf(<f32>element<S>(from, i)))
      return count
    }
    case F32: {
      for (let i: i32 = 0; i < count; i++) store<f32>(to + (i << 2), <f32>element<S>(from, i))
      return count
    }
    case F64: {
      for (let i: i32 = 0; i < count; i++) store<f64>(to + (i << 3), <f64>element<S>(from, i))
      return count
    }
    case BOOL: {
      for (let i: i32 = 0; i < count; i++) store<u8>(to + i, <u8>(element<S>(from, i) != 0))
      return count
    }
  }
  return 0
}

@inline
function element<S>(from: usize, i: i32): S {
  return load<S>(from + <usize>i * sizeof<S>())
}

function ints<S, D>(from: usize, to: usize, count: i32): i32 {
  let i: i32 = 0
  if (sizeof<S>() == 2 && sizeof<D>() == 8 && !isSigned<S>()) i = wideOf16(from, to, count)
  for (; i < count; i++) {
    const value = element<S>(from, i)
    if (!fits<S, D>(value)) return i
    store<D>(to + <usize>i * sizeof<D>(), <D>value)
  }
  return count
}

/** Whether D holds the value. Comparisons that S can't fail are left out when this is compiled. */
@inline
function fits<S, D>(value: S): bool {
  if (isSigned<S>()) {
    if (!isSigned<D>()) {
      if (value < <S>0) return false
      if (sizeof<S>() > sizeof<D>()) return <u64>value <= <u64>(~(<D>0))
      return true
    }
    if (sizeof<S>() > sizeof<D>()) return <S>(<D>value) == value
    return true
  }
  if (isSigned<D>()) {
    if (sizeof<S>() >= sizeof<D>()) return <u64>value <= (<u64>1 << (<u64>(sizeof<D>() * 8 - 1))) - 1
    return true
  }
  if (sizeof<S>() > sizeof<D>()) return <S>(<D>value) == value
  return true
}

/** u16 to 64 bits, eight at a time: token ids. */
@inline
function wideOf16(from: usize, to: usize, count: i32): i32 {
  const whole = count & ~7
  for (let i: i32 = 0; i < whole; i += 8) {
    const a = v128.load16x4_u(from)
    const b = v128.load16x4_u(from, 8)
    v128.store(to, i64x2.extend_low_i32x4_u(a))
    v128.store(to, i64x2.extend_high_i32x4_u(a), 16)
    v128.store(to, i64x2.extend_low_i32x4_u(b), 32)
    v128.store(to, i64x2.extend_high_i32x4_u(b), 48)
    from += 16
    to += 64
  }
  return whole
}

// ---------------------------------------------------------------- floats

function ofHalves(from: usize, target: i32, to: usize, count: i32): i32 {
  for (let i: i32 = 0; i < count; i++) {
    const bits = <u32>load<u16>(from + (<usize>i << 1))
    if (target == F32) store<f32>(to + (<usize>i << 2), halfValue(bits))
    else if (target == F64) store<f64>(to + (<usize>i << 3), halfDouble(bits))
    else if (target == BF16) store<u16>(to + (<usize>i << 1), brainOf(halfValue(bits)))
    else if (target == BOOL) store<u8>(to + i, <u8>((bits & 0x7fff) != 0))
    else return 0
  }
  return count
}

function ofBrains(from: usize, target: i32, to: usize, count: i32): i32 {
  for (let i: i32 = 0; i < count; i++) {
    const bits = <u32>load<u16>(from + (<usize>i << 1))
    const value = reinterpret<f32>(bits << 16)
    if (target == F32) store<u32>(to + (<usize>i << 2), bits << 16)
    else if (target == F64) store<f64>(to + (<usize>i << 3), <f64>value)
    else if (target == F16) {
      const half = value != value ? <u16>(0x7e00 | (bits & 0x8000)) : halfOf(value)
      store<u16>(to + (<usize>i << 1), half)
    } else if (target == BOOL) store<u8>(to + i, <u8>((bits & 0x7fff) != 0))
    else return 0
  }
  return count
}

function ofSingles(from: usize, target: i32, to: usize, count: i32): i32 {
  switch (target) {
    case F16: {
      for (let i: i32 = 0; i < count; i++) store<u16>(to + (<usize>i << 1), halfOf(element<f32>(from, i)))
      return count
    }
    case BF16: {
      for (let i: i32 = 0; i < count; i++) store<u16>(to + (<usize>i << 1), brainOf(element<f32>(from, i)))
      return count
    }
    case F64: {
      for (let i: i32 = 0; i < count; i++) store<f64>(to + (<usize>i << 3), <f64>element<f32>(from, i))
      return count
    }
    case BOOL: {
      for (let i: i32 = 0; i < count; i++) store<u8>(to + i, <u8>(element<f32>(from, i) != 0))
      return count
    }
  }
  return 0
}

function ofDoubles(from: usize, target: i32, to: usize, count: i32): i32 {
  switch (target) {
    case F16: {
      for (let i: i32 = 0; i < count; i++) store<u16>(to + (<usize>i << 1), halfOfDouble(element<f64>(from, i)))
      return count
    }
    case BF16: {
      for (let i: i32 = 0; i < count; i++) store<u16>(to + (<usize>i << 1), brainOf(<f32>element<f64>(from, i)))
      return count
    }
    case F32: {
      for (let i: i32 = 0; i < count; i++) store<f32>(to + (<usize>i << 2), <f32>element<f64>(from, i))
      return count
    }
    case BOOL: {
      for (let i: i32 = 0; i < count; i++) store<u8>(to + i, <u8>(element<f64>(from, i) != 0))
      return count
    }
  }
  return 0
}

/** bf16 of a float32, to nearest even. Every NaN becomes the plain one of its sign, as in ml_dtypes. */
@inline
function brainOf(value: f32): u16 {
  const bits = reinterpret<u32>(value)
  if (value != value) return <u16>(((bits >> 16) & 0x8000) | 0x7fc0)
  return <u16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)
}

/** f16 of a float32, to nearest even. A NaN keeps what fits of its payload. */
@inline
function halfOf(value: f32): u16 {
  const bits = reinterpret<u32>(value)
  const sign = (bits >> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return <u16>(sign | nanOf((magnitude & 0x7fffff) >> 13))
  if (magnitude >= 0x477ff000) return <u16>(sign | 0x7c00) // rounds to infinity
  if (magnitude < 0x38800000) // subnormal: in units of the least half
    return <u16>(sign | <u32>nearest<f32>(reinterpret<f32>(magnitude) * 16777216))
  return <u16>(sign | ((magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13))
}

/** The same of a float64, in one step. */
@inline
function halfOfDouble(value: f64): u16 {
  const bits = reinterpret<u64>(value)
  const sign = <u32>(bits >> 48) & 0x8000
  const magnitude = bits & 0x7fffffffffffffff
  if (magnitude > 0x7ff0000000000000) return <u16>(sign | doubleNan(magnitude & 0xfffffffffffff))
  if (magnitude >= 0x40effe0000000000) return <u16>(sign | 0x7c00) // 65520
  if (magnitude < 0x3f10000000000000) // 2^-14
    return <u16>(sign | <u32>nearest<f64>(reinterpret<f64>(magnitude) * 16777216))
  return <u16>(sign | <u32>((magnitude + 0x1ffffffffff + ((magnitude >> 42) & 1) - 0x3f00000000000000) >> 42))
}

@inline
function nanOf(payload: u32): u32 {
  return 0x7c00 | (payload == 0 ? 1 : payload)
}

@inline
function doubleNan(fraction: u64): u32 {
  return nanOf(<u32>(fraction >> 42))
}

@inline
function halfValue(bits: u32): f32 {
  const sign = (bits & 0x8000) << 16
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  if (exponent == 31) return reinterpret<f32>(sign | 0x7f800000 | (fraction << 13))
  if (exponent == 0) return reinterpret<f32>(sign | reinterpret<u32>(<f32>fraction * 5.9604644775390625e-8))
  return reinterpret<f32>(sign | ((exponent + 112) << 23) | (fraction << 13))
}

/** By the bits where it is NaN: a float64 made of a float32 would have another payload. */
@inline
function halfDouble(bits: u32): f64 {
  if ((bits & 0x7fff) > 0x7c00)
    return reinterpret<f64>((<u64>(bits & 0x8000) << 48) | 0x7ff0000000000000 | (<u64>(bits & 1023) << 42))
  return <f64>halfValue(bits)
}
