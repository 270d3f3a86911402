// Neighbourhood kernels, from one picture into another: sharpness (3×3) and the Gaussian blur (separable).

/** Four u8 lanes of sixteen, as f32: part 0…3. */
@inline
function quarter(low: v128, high: v128, part: i32): v128 {
  if (part == 0) return f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(low))
  if (part == 1) return f32x4.convert_i32x4_u(i32x4.extend_high_i16x8_u(low))
  if (part == 2) return f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(high))
  return f32x4.convert_i32x4_u(i32x4.extend_high_i16x8_u(high))
}

/** Four vectors of f32 as sixteen bytes, clamped to 0…255, rounded towards zero. */
@inline
function toBytes(a: v128, b: v128, c: v128, d: v128): v128 {
  return i8x16.narrow_i16x8_u(
    i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(a), i32x4.trunc_sat_f32x4_s(b)),
    i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(c), i32x4.trunc_sat_f32x4_s(d)),
  )
}

@inline
function low(p: usize): v128 {
  return v128.load_ext<u8>(p)
}

/** Neighbours and the middle: a weighted sum of nine u16 lanes, at most 13 × 255. */
@inline
function nine(p: usize, stride: usize, step: usize): v128 {
  const above = p - stride
  const below = p + stride
  const ring = i16x8.add(
    i16x8.add(
      i16x8.add(low(above - step), low(above)),
      i16x8.add(low(above + step), low(p - step)),
    ),
    i16x8.add(
      i16x8.add(low(p + step), low(below - step)),
      i16x8.add(low(below), low(below + step)),
    ),
  )
  return i16x8.add(ring, i16x8.mul(low(p), i16x8.splat(5)))
}

/** sum / 13 rounded to nearest: (sum + 6) × 5042 >> 16 is exact up to 13 × 255. */
@inline
function thirteenth(sum: v128): v128 {
  const plus = i16x8.add(sum, i16x8.splat(6))
  const by = i16x8.splat(5042)
  return i16x8.narrow_i32x4_s(
    i32x4.shr_u(i32x4.extmul_low_i16x8_u(plus, by), 16),
    i32x4.shr_u(i32x4.extmul_high_i16x8_u(plus, by), 16),
  )
}

/** value + (blurred - value) × rest, for four lanes. */
@inline
function blend(value: v128, blurred: v128, rest: v128): v128 {
  const v = f32x4.convert_i32x4_s(value)
  return f32x4.add(v, f32x4.mul(f32x4.convert_i32x4_s(i32x4.sub(blurred, value)), rest))
}

/**
 * Blends each inner pixel with the mean of its neighbourhood (weights 1, the middle 5), rest = 1 - factor.
 * The outermost pixels are not written. Both pictures have the same size; width and height are at least 3.
 */
export function sharpness(
  from: usize, fromStride: usize, to: usize, toStride: usize,
  width: usize, height: i32, channels: usize, rest: f32,
): void {
  const end = (width - 1) * channels
  const many = f32x4.splat(rest)
  for (let y = 1; y < height - 1; y++) {
    const source = from + <usize>y * fromStride
    const target = to + <usize>y * toStride
    let i = channels
    for (; i + 8 <= end; i += 8) {
      const p = source + i
      const blurred = thirteenth(nine(p, fromStride, channels))
      const value = low(p)
      const a = blend(i32x4.extend_low_i16x8_u(value), i32x4.extend_low_i16x8_u(blurred), many)
      const b = blend(i32x4.extend_high_i16x8_u(value), i32x4.extend_high_i16x8_u(blurred), many)
      v128.store_lane<u64>(target + i, toBytes(a, b, a, b), 0)
    }
    for (; i < end; i++) {
      const p = source + i
      let sum: i32 = 4 * <i32>load<u8>(p)
      for (let q = p - fromStride; q <= p + fromStride; q += fromStride)
        sum += <i32>load<u8>(q - channels) + <i32>load<u8>(q) + <i32>load<u8>(q + channels)
      const value = <i32>load<u8>(p)
      const blended = <f32>value + <f32>((sum + 6) / 13 - value) * rest
      store<u8>(target + i, <u8>min<f32>(max<f32>(blended, 0), 255))
    }
  }
}

/** Mirrors an index into 0…n-1 without repeating the edge, as often as needed. */
function fold(i: i32, n: i32): i32 {
  if (n == 1) return 0
  const period = 2 * (n - 1)
  i %= period
  if (i < 0) i += period
  return i < n ? i : period - i
}

/**
 * Gaussian blur. Row by row: the column filter makes one line of f32 out of the rows around it, the edges are
 * mirrored into its margins, the row filter makes bytes of it, rounded to nearest.
 *
 *   weightsX, weightsY   f32[radius + 1], the middle first
 *   rows                 u32[2 × radiusY + 2]: where the rows of a pair start
 *   line                 f32[(width + 2 × radiusX) × channels + 16]
 *   to                   width × channels × height bytes without gaps, and 16 to spare
 */
export function blur(
  from: usize, stride: usize, width: i32, height: i32, channels: i32, to: usize,
  weightsX: usize, radiusX: i32, weightsY: usize, radiusY: i32, rows: usize, line: usize,
): void {
  const bytes = <usize>(width * channels)
  const middle = line + (<usize>(radiusX * channels) << 2)
  for (let y = 0; y < height; y++, to += bytes) {
    for (let k = 0; k <= radiusY; k++) {
      store<u32>(rows + (<usize>k << 3), <u32>(from + <usize>fold(y - k, height) * stride))
      store<u32>(rows + (<usize>k << 3), <u32>(from + <usize>fold(y + k, height) * stride), 4)
    }
    columns(bytes, rows, weightsY, radiusY, middle)
    for (let x = 1; x <= radiusX; x++)
      for (let c = 0; c < channels; c++) {
        const left = load<f32>(middle + (<usize>(fold(-x, width) * channels + c) << 2))
        store<f32>(middle - (<usize>(x * channels - c) << 2), left)
        const right = load<f32>(middle + (<usize>(fold(width - 1 + x, width) * channels + c) << 2))
        store<f32>(middle + (<usize>((width - 1 + x) * channels + c) << 2), right)
      }
    along(bytes, middle, <usize>channels << 2, weightsX, radiusX, to)
  }
}

/** One line of the column filter: Σ weight[k] × (row[-k] + row[k]). */
function columns(bytes: usize, rows: usize, weights: usize, radius: i32, out: usize): void {
  let i: usize = 0
  for (; i + 16 <= bytes; i += 16) {
    const m = v128.load(<usize>load<u32>(rows) + i)
    const ml = i16x8.extend_low_i8x16_u(m)
    const mh = i16x8.extend_high_i8x16_u(m)
    const w0 = v128.load_splat<u32>(weights)
    let a = f32x4.mul(quarter(ml, mh, 0), w0)
    let b = f32x4.mul(quarter(ml, mh, 1), w0)
    let c = f32x4.mul(quarter(ml, mh, 2), w0)
    let d = f32x4.mul(quarter(ml, mh, 3), w0)
    for (let k = 1; k <= radius; k++) {
      const up = v128.load(<usize>load<u32>(rows + (<usize>k << 3)) + i)
      const down = v128.load(<usize>load<u32>(rows + (<usize>k << 3), 4) + i)
      const sl = i16x8.add(i16x8.extend_low_i8x16_u(up), i16x8.extend_low_i8x16_u(down))
      const sh = i16x8.add(i16x8.extend_high_i8x16_u(up), i16x8.extend_high_i8x16_u(down))
      const w = v128.load_splat<u32>(weights + (<usize>k << 2))
      a = f32x4.add(a, f32x4.mul(quarter(sl, sh, 0), w))
      b = f32x4.add(b, f32x4.mul(quarter(sl, sh, 1), w))
      c = f32x4.add(c, f32x4.mul(quarter(sl, sh, 2), w))
      d = f32x4.add(d, f32x4.mul(quarter(sl, sh, 3), w))
    }
    const p = out + (i << 2)
    v128.store(p, a)
    v128.store(p, b, 16)
    v128.store(p, c, 32)
    v128.store(p, d, 48)
  }
  for (; i < bytes; i++) {
    let sum = <f32>load<u8>(<usize>load<u32>(rows) + i) * load<f32>(weights)
    for (let k = 1; k <= radius; k++) {
      const up = <i32>load<u8>(<usize>load<u32>(rows + (<usize>k << 3)) + i)
      const down = <i32>load<u8>(<usize>load<u32>(rows + (<usize>k << 3), 4) + i)
      sum += <f32>(up + down) * load<f32>(weights + (<usize>k << 2))
    }
    store<f32>(out + (i << 2), sum)
  }
}

/** One line of the row filter, sixteen bytes at a time; writes up to 15 bytes past the line's end. */
function along(bytes: usize, middle: usize, step: usize, weights: usize, radius: i32, to: usize): void {
  for (let i: usize = 0; i < bytes; i += 16) {
    const p = middle + (i << 2)
    const w0 = v128.load_splat<u32>(weights)
    let a = f32x4.mul(v128.load(p), w0)
    let b = f32x4.mul(v128.load(p, 16), w0)
    let c = f32x4.mul(v128.load(p, 32), w0)
    let d = f32x4.mul(v128.load(p, 48), w0)
    let before = p
    let after = p
    for (let k = 1; k <= radius; k++) {
      before -= step
      after += step
      const w = v128.load_splat<u32>(weights + (<usize>k << 2))
      a = f32x4.add(a, f32x4.mul(f32x4.add(v128.load(before), v128.load(after)), w))
      b = f32x4.add(b, f32x4.mul(f32x4.add(v128.load(before, 16), v128.load(after, 16)), w))
      c = f32x4.add(c, f32x4.mul(f32x4.add(v128.load(before, 32), v128.load(after, 32)), w))
      d = f32x4.add(d, f32x4.mul(f32x4.add(v128.load(before, 48), v128.load(after, 48)), w))
    }
    v128.store(to + i, toBytes(f32x4.nearest(a), f32x4.nearest(b), f32x4.nearest(c), f32x4.nearest(d)))
  }
}
