// Fetching pixels from where coordinates say, by torch's grid_sample arithmetic (align_corners = false, zeros outside).
// Coordinates come four at a time, in input pixels; where all four lie well inside they are fetched without further
// questions, otherwise one by one. Of three channels the byte after the last pixel is written too.

/** Writes `count` of four pixels, each the one nearest to its place. `colour` is what lies outside. */
@inline
export function pickFour(
  to: usize, from: usize, stride: usize, width: i32, height: i32, channels: i32,
  px: v128, py: v128, count: i32, colour: u32,
): void {
  const pixel = <usize>channels
  const ix = i32x4.trunc_sat_f32x4_s(f32x4.nearest(px))
  const iy = i32x4.trunc_sat_f32x4_s(f32x4.nearest(py))
  const at = offsets(ix, iy, stride, channels)
  const inside = v128.and(i32x4.lt_u(ix, i32x4.splat(width)), i32x4.lt_u(iy, i32x4.splat(height)))
  const i0 = i32x4.extract_lane(inside, 0)
  const i1 = i32x4.extract_lane(inside, 1)
  const i2 = i32x4.extract_lane(inside, 2)
  const i3 = i32x4.extract_lane(inside, 3)
  put(to, i0, from + address(at, 0), channels, colour)
  if (count > 1) put(to + pixel, i1, from + address(at, 1), channels, colour)
  if (count > 2) put(to + pixel * 2, i2, from + address(at, 2), channels, colour)
  if (count > 3) put(to + pixel * 3, i3, from + address(at, 3), channels, colour)
}

/** Writes one pixel, the input's or the colour; of three channels the byte after it is written too. */
@inline
function put(to: usize, inside: i32, p: usize, channels: i32, colour: u32): void {
  if (channels == 3) store<u32>(to, inside ? three(p) : colour)
  else store<u8>(to, inside ? load<u8>(p) : <u8>colour)
}

/** Writes `count` of four pixels, each blended from the four around its place. */
@inline
export function blendFour(
  to: usize, from: usize, stride: usize, width: i32, height: i32, channels: i32,
  px: v128, py: v128, count: i32, fill: usize, filled: bool,
): void {
  if (channels == 3 && count == 4) {
    const fx = f32x4.floor(px)
    const fy = f32x4.floor(py)
    const ix = i32x4.trunc_sat_f32x4_s(fx)
    const iy = i32x4.trunc_sat_f32x4_s(fy)
    // Two columns to spare, so that two pixels can be read as eight bytes; max(…, 0) for pictures of one column.
    const inside = v128.and(
      i32x4.lt_u(ix, i32x4.splat(max(width - 2, 0))),
      i32x4.lt_u(iy, i32x4.splat(height - 1)),
    )
    if (i32x4.all_true(inside)) {
      const one = f32x4.splat(1)
      const right = f32x4.sub(px, fx)
      const down = f32x4.sub(py, fy)
      const left = f32x4.sub(one, right)
      const up = f32x4.sub(one, down)
      const a = f32x4.mul(left, up)
      const b = f32x4.mul(right, up)
      const c = f32x4.mul(left, down)
      const d = f32x4.mul(right, down)
      const at = offsets(ix, iy, stride, 3)
      store<u32>(to, blend(from + address(at, 0), stride, lane(a, 0), lane(b, 0), lane(c, 0), lane(d, 0)))
      store<u32>(to, blend(from + address(at, 1), stride, lane(a, 1), lane(b, 1), lane(c, 1), lane(d, 1)), 3)
      store<u32>(to, blend(from + address(at, 2), stride, lane(a, 2), lane(b, 2), lane(c, 2), lane(d, 2)), 6)
      store<u32>(to, blend(from + address(at, 3), stride, lane(a, 3), lane(b, 3), lane(c, 3), lane(d, 3)), 9)
      return
    }
  }
  for (let n = 0; n < count; n++, to += <usize>channels) {
    const x = first4(px)
    const y = first4(py)
    px = v128.shuffle<f32>(px, px, 1, 2, 3, 0)
    py = v128.shuffle<f32>(py, py, 1, 2, 3, 0)
    const value = careful(from, stride, width, height, channels, x, y, fill, filled)
    if (channels == 3) store<u32>(to, value)
    else store<u8>(to, <u8>value)
  }
}

@inline
function first4(x: v128): f32 {
  return f32x4.extract_lane(x, 0)
}

@inline
function offsets(ix: v128, iy: v128, stride: usize, channels: i32): v128 {
  return i32x4.add(i32x4.mul(iy, i32x4.splat(<i32>stride)), i32x4.mul(ix, i32x4.splat(channels)))
}

/** One of four offsets; `n` is constant. */
@inline
function address(offsets: v128, n: i32): usize {
  if (n == 0) return <usize>i32x4.extract_lane(offsets, 0)
  if (n == 1) return <usize>i32x4.extract_lane(offsets, 1)
  if (n == 2) return <usize>i32x4.extract_lane(offsets, 2)
  return <usize>i32x4.extract_lane(offsets, 3)
}

/** One lane of four in all of them; `n` is constant. */
@inline
function lane(x: v128, n: i32): v128 {
  if (n == 0) return v128.shuffle<f32>(x, x, 0, 0, 0, 0)
  if (n == 1) return v128.shuffle<f32>(x, x, 1, 1, 1, 1)
  if (n == 2) return v128.shuffle<f32>(x, x, 2, 2, 2, 2)
  return v128.shuffle<f32>(x, x, 3, 3, 3, 3)
}

/** The weighted sum of the pixel at p, its right neighbour, and the two below. */
@inline
function blend(p: usize, stride: usize, a: v128, b: v128, c: v128, d: v128): u32 {
  const above = v128.load_zero<u64>(p)
  const below = v128.load_zero<u64>(p + stride)
  let sum = f32x4.mul(first(above), a)
  sum = f32x4.add(sum, f32x4.mul(second(above), b))
  sum = f32x4.add(sum, f32x4.mul(first(below), c))
  sum = f32x4.add(sum, f32x4.mul(second(below), d))
  return toPixel(sum)
}

/** Bytes 0…2 as f32 lanes. */
@inline
function first(bytes: v128): v128 {
  return f32x4.convert_i32x4_s(i8x16.swizzle(bytes, i8x16(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, -1, -1, -1, -1)))
}

/** Bytes 3…5 as f32 lanes. */
@inline
function second(bytes: v128): v128 {
  return f32x4.convert_i32x4_s(i8x16.swizzle(bytes, i8x16(3, -1, -1, -1, 4, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1, -1)))
}

/** Lanes from 0 to 255 as packed bytes, rounded to even by adding 2^23, which leaves no bits for a fraction. */
@inline
export function toPixel(lanes: v128): u32 {
  const rounded = f32x4.add(lanes, f32x4.splat(8388608))
  return i32x4.extract_lane(
    i8x16.swizzle(rounded, i8x16(0, 4, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)), 0,
  )
}

/** Three bytes as the low ones of a word. */
@inline
function three(p: usize): u32 {
  return <u32>load<u16>(p) | (<u32>load<u8>(p, 2) << 16)
}

/** One pixel whose neighbours may lie outside. */
function careful(
  from: usize, stride: usize, width: i32, height: i32, channels: i32,
  px: f32, py: f32, fill: usize, filled: bool,
): u32 {
  const fx = floor(px)
  const fy = floor(py)
  const ix = <i32>fx
  const iy = <i32>fy
  const right = px - fx
  const down = py - fy
  const left: f32 = 1 - right
  const up: f32 = 1 - down
  let share: f32 = 0
  let sum = f32x4.splat(0)
  for (let corner = 0; corner < 4; corner++) {
    const cx = ix + (corner & 1)
    const cy = iy + (corner >> 1)
    if (<u32>cx >= <u32>width || <u32>cy >= <u32>height) continue
    const weight = (corner & 1 ? right : left) * (corner >> 1 ? down : up)
    const p = from + <usize>cy * stride + <usize>(cx * channels)
    const value = first(i32x4.splat(channels == 3 ? three(p) : <u32>load<u8>(p)))
    sum = f32x4.add(sum, f32x4.mul(value, f32x4.splat(weight)))
    share += weight
  }
  // torchvision's way with a fill: the sum, already thinned by what lies outside, is blended once more.
  if (filled && !inner(ix, iy, width, height)) {
    const colour = v128.load(fill)
    sum = f32x4.add(f32x4.mul(f32x4.sub(sum, colour), f32x4.splat(share)), colour)
  }
  return toPixel(sum)
}

@inline
function inner(ix: i32, iy: i32, width: i32, height: i32): bool {
  return ix >= 0 && iy >= 0 && ix + 1 < width && iy + 1 < height
}
