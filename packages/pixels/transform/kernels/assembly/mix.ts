// Mixing one row of a batch with another: row = row × share + other × rest, in the row's element type.

@inline
function mixed(row: v128, other: v128, share: v128, rest: v128): v128 {
  return f32x4.add(f32x4.mul(other, rest), f32x4.mul(row, share))
}

export function mixF32(row: usize, other: usize, count: usize, share: f32, rest: f32): void {
  const s = f32x4.splat(share)
  const r = f32x4.splat(rest)
  let i: usize = 0
  for (; i + 4 <= count; i += 4)
    v128.store(row + (i << 2), mixed(v128.load(row + (i << 2)), v128.load(other + (i << 2)), s, r))
  for (; i < count; i++)
    store<f32>(row + (i << 2), load<f32>(other + (i << 2)) * rest + load<f32>(row + (i << 2)) * share)
}

@inline
function quarter(bytes: v128, part: i32): v128 {
  const half = part < 2 ? i16x8.extend_low_i8x16_u(bytes) : i16x8.extend_high_i8x16_u(bytes)
  return f32x4.convert_i32x4_u(part & 1 ? i32x4.extend_high_i16x8_u(half) : i32x4.extend_low_i16x8_u(half))
}

@inline
function mixedBytes(row: v128, other: v128, part: i32, s: v128, r: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(mixed(quarter(row, part), quarter(other, part), s, r)))
}

/** Bytes are rounded to nearest, halves to even. */
export function mixU8(row: usize, other: usize, count: usize, share: f32, rest: f32): void {
  const s = f32x4.splat(share)
  const r = f32x4.splat(rest)
  let i: usize = 0
  for (; i + 16 <= count; i += 16) {
    const a = v128.load(row + i)
    const b = v128.load(other + i)
    v128.store(
      row + i,
      i8x16.narrow_i16x8_u(
        i16x8.narrow_i32x4_s(mixedBytes(a, b, 0, s, r), mixedBytes(a, b, 1, s, r)),
        i16x8.narrow_i32x4_s(mixedBytes(a, b, 2, s, r), mixedBytes(a, b, 3, s, r)),
      ),
    )
  }
  for (; i < count; i++)
    store<u8>(row + i, <u8>f32.nearest(<f32>load<u8>(other + i) * rest + <f32>load<u8>(row + i) * share))
}

/** Half bits in u32 lanes to f32. */
@inline
function fromF16(h: v128): v128 {
  const magnitude = i32x4.shl(v128.and(h, i32x4.splat(0x7fff)), 13)
  const infinite = v128.and(i32x4.ge_u(magnitude, i32x4.splat(0x0f800000)), i32x4.splat(0x7f800000))
  const scaled = f32x4.mul(magnitude, f32x4.splat(reinterpret<f32>(0x77800000))) // × 2^112: the exponents' difference
  return v128.or(v128.or(scaled, infinite), i32x4.shl(v128.and(h, i32x4.splat(0x8000)), 16))
}

/** f32 to half bits in u32 lanes, rounded to nearest even. */
@inline
function toF16(f: v128): v128 {
  const magnitude = v128.and(f, i32x4.splat(0x7fffffff))
  const odd = v128.and(i32x4.shr_u(magnitude, 13), i32x4.splat(1))
  const normal = i32x4.shr_u(i32x4.add(i32x4.add(magnitude, i32x4.splat(0xfff - 0x38000000)), odd), 13)
  // Adding a half leaves the least bit of the sum worth the least half number, so the addition rounds.
  const small = i32x4.sub(f32x4.add(magnitude, f32x4.splat(0.5)), i32x4.splat(0x3f000000))
  let bits = v128.bitselect(small, normal, i32x4.lt_u(magnitude, i32x4.splat(0x38800000)))
  bits = v128.bitselect(i32x4.splat(0x7c00), bits, i32x4.ge_u(magnitude, i32x4.splat(0x477ff000)))
  bits = v128.bitselect(i32x4.splat(0x7e00), bits, i32x4.gt_u(magnitude, i32x4.splat(0x7f800000)))
  return v128.or(bits, v128.and(i32x4.shr_u(f, 16), i32x4.splat(0x8000)))
}

@inline
function fromBf16(h: v128): v128 {
  return i32x4.shl(h, 16)
}

/** f32 to bfloat16 bits in u32 lanes, rounded to nearest even. */
@inline
function toBf16(f: v128): v128 {
  const odd = v128.and(i32x4.shr_u(f, 16), i32x4.splat(1))
  const rounded = i32x4.shr_u(i32x4.add(i32x4.add(f, i32x4.splat(0x7fff)), odd), 16)
  const nan = v128.or(i32x4.shr_u(f, 16), i32x4.splat(0x40))
  const isNan = i32x4.gt_u(v128.and(f, i32x4.splat(0x7fffffff)), i32x4.splat(0x7f800000))
  return v128.bitselect(nan, rounded, isNan)
}

@inline
function mixedHalf(brain: bool, row: v128, other: v128, s: v128, r: v128): v128 {
  return brain
    ? toBf16(mixed(fromBf16(row), fromBf16(other), s, r))
    : toF16(mixed(fromF16(row), fromF16(other), s, r))
}

@inline
function mixHalf(brain: bool, row: usize, other: usize, count: usize, share: f32, rest: f32): void {
  const s = f32x4.splat(share)
  const r = f32x4.splat(rest)
  let i: usize = 0
  for (; i + 8 <= count; i += 8) {
    const a = v128.load(row + (i << 1))
    const b = v128.load(other + (i << 1))
    const lower = mixedHalf(brain, i32x4.extend_low_i16x8_u(a), i32x4.extend_low_i16x8_u(b), s, r)
    const upper = mixedHalf(brain, i32x4.extend_high_i16x8_u(a), i32x4.extend_high_i16x8_u(b), s, r)
    v128.store(row + (i << 1), i16x8.narrow_i32x4_u(lower, upper))
  }
  for (; i < count; i++) {
    const a = i32x4.splat(load<u16>(row + (i << 1)))
    const b = i32x4.splat(load<u16>(other + (i << 1)))
    store<u16>(row + (i << 1), <u16>i32x4.extract_lane(mixedHalf(brain, a, b, s, r), 0))
  }
}

export function mixF16(row: usize, other: usize, count: usize, share: f32, rest: f32): void {
  mixHalf(false, row, other, count, share, rest)
}

export function mixBf16(row: usize, other: usize, count: usize, share: f32, rest: f32): void {
  mixHalf(true, row, other, count, share, rest)
}
