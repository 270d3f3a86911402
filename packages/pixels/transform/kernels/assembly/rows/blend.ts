// Several rows of bytes to one, along y: every byte is weighed like its neighbours, so layout does not matter.
// Exactly `length` bytes are written; up to 15 more are read.

/**
 * Two rows that together weigh one: a + (b − a) · weight, where `weight` is b's in 1/32768. pmulhrsw rounds as the
 * sum of two products does, so the result is that of `blend`, at two thirds of its price.
 */
export function lerp(a: usize, b: usize, weight: i32, target: usize, length: i32): void {
  const w = i16x8.splat(<i16>weight)
  const whole = target + (length & ~15)
  while (target < whole) {
    v128.store(target, lerped(a, b, w))
    a += 16
    b += 16
    target += 16
  }
  storePart(target, lerped(a, b, w), length & 15)
}

@inline
function lerped(a: usize, b: usize, w: v128): v128 {
  const a0 = v128.load8x8_u(a)
  const a1 = v128.load8x8_u(a, 8)
  const d0 = i16x8.sub(v128.load8x8_u(b), a0)
  const d1 = i16x8.sub(v128.load8x8_u(b, 8), a1)
  return i8x16.narrow_i16x8_u(
    i16x8.add(a0, i16x8.q15mulr_sat_s(d0, w)),
    i16x8.add(a1, i16x8.q15mulr_sat_s(d1, w)),
  )
}

/** Any even number of rows, found through `rows` (32-bit pointers), each from byte `skip` on, with 16-bit weights. */
export function blend(
  rows: usize, weights: usize, count: i32, shift: i32, skip: usize, target: usize, length: i32,
): void {
  const whole = target + (length & ~15)
  for (; target < whole; target += 16) {
    v128.store(target, blended(rows, weights, count, shift, skip))
    skip += 16
  }
  if (length & 15) storePart(target, blended(rows, weights, count, shift, skip), length & 15)
}

@inline
function blended(rows: usize, weights: usize, count: i32, shift: i32, i: usize): v128 {
  const half = i32x4.splat(1 << (shift - 1))
  let s0 = half
  let s1 = half
  let s2 = half
  let s3 = half
  for (let k: usize = 0; k < <usize>count; k += 2) {
    const a = load<u32>(rows + (k << 2)) + i
    const b = load<u32>(rows + (k << 2), 4) + i
    const w = v128.load32_splat(weights + (k << 1))
    const a0 = v128.load8x8_u(a)
    const a1 = v128.load8x8_u(a, 8)
    const b0 = v128.load8x8_u(b)
    const b1 = v128.load8x8_u(b, 8)
    s0 = i32x4.add(s0, i32x4.dot_i16x8_s(i16x8.shuffle(a0, b0, 0, 8, 1, 9, 2, 10, 3, 11), w))
    s1 = i32x4.add(s1, i32x4.dot_i16x8_s(i16x8.shuffle(a0, b0, 4, 12, 5, 13, 6, 14, 7, 15), w))
    s2 = i32x4.add(s2, i32x4.dot_i16x8_s(i16x8.shuffle(a1, b1, 0, 8, 1, 9, 2, 10, 3, 11), w))
    s3 = i32x4.add(s3, i32x4.dot_i16x8_s(i16x8.shuffle(a1, b1, 4, 12, 5, 13, 6, 14, 7, 15), w))
  }
  return i8x16.narrow_i16x8_u(
    i16x8.narrow_i32x4_s(i32x4.shr_s(s0, shift), i32x4.shr_s(s1, shift)),
    i16x8.narrow_i32x4_s(i32x4.shr_s(s2, shift), i32x4.shr_s(s3, shift)),
  )
}

/** The first `length` < 16 bytes of a vector. */
function storePart(target: usize, v: v128, length: i32): void {
  if (length & 8) {
    v128.store64_lane(target, v, 0)
    v = i8x16.shuffle(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)
    target += 8
  }
  if (length & 4) {
    v128.store32_lane(target, v, 0)
    v = i8x16.shuffle(v, v, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7)
    target += 4
  }
  if (length & 2) {
    v128.store16_lane(target, v, 0)
    v = i8x16.shuffle(v, v, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3)
    target += 2
  }
  if (length & 1) v128.store8_lane(target, v, 0)
}
