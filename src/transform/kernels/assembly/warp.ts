// Affine warp: each output pixel is fetched from where an inverse map says, by torch's grid_sample arithmetic
// (align_corners = false, zeros outside), so that ties fall where torchvision's fall. Coordinates are made for four
// pixels at a time; where all four lie well inside they are fetched without further questions, otherwise one by one.
//
//   map    f32[6]: output → input, both relative to the centre and in units of half the input's size
//   fill   f32[4]: the colour outside, ignored unless `filled`
//   to     outWidth × outHeight pixels without gaps, and 16 bytes to spare

export function nearest(
  from: usize, stride: usize, width: i32, height: i32, channels: i32,
  to: usize, outWidth: i32, outHeight: i32, map: usize, fill: usize, filled: bool,
): void {
  const colour = filled ? toPixel(v128.load(fill)) : 0
  const pixel = <usize>channels
  for (let y = 0; y < outHeight; y++) {
    const v = <f32>y + (1 - <f32>outHeight) * 0.5
    for (let x = 0; x < outWidth; x += 4) {
      const u = fourFrom(<f32>x + (1 - <f32>outWidth) * 0.5)
      const ix = i32x4.trunc_sat_f32x4_s(f32x4.nearest(four(u, v, map, width)))
      const iy = i32x4.trunc_sat_f32x4_s(f32x4.nearest(four(u, v, map + 12, height)))
      const at = offsets(ix, iy, stride, channels)
      const inside = v128.and(
        i32x4.lt_u(ix, i32x4.splat(width)),
        i32x4.lt_u(iy, i32x4.splat(height)),
      )
      const count = min(4, outWidth - x)
      const i0 = i32x4.extract_lane(inside, 0)
      const i1 = i32x4.extract_lane(inside, 1)
      const i2 = i32x4.extract_lane(inside, 2)
      const i3 = i32x4.extract_lane(inside, 3)
      put(to, i0, from + address(at, 0), channels, colour)
      if (count > 1) put(to + pixel, i1, from + address(at, 1), channels, colour)
      if (count > 2) put(to + pixel * 2, i2, from + address(at, 2), channels, colour)
      if (count > 3) put(to + pixel * 3, i3, from + address(at, 3), channels, colour)
      to += pixel * <usize>count
    }
  }
}

/** Writes one pixel, the input's or the colour; of three channels the byte after it is written too. */
@inline
function put(to: usize, inside: i32, p: usize, channels: i32, colour: u32): void {
  if (channels == 3) store<u32>(to, inside ? three(p) : colour)
  else store<u8>(to, inside ? load<u8>(p) : <u8>colour)
}

export function bilinear(
  from: usize, stride: usize, width: i32, height: i32, channels: i32,
  to: usize, outWidth: i32, outHeight: i32, map: usize, fill: usize, filled: bool,
): void {
  const pixel = <usize>channels
  for (let y = 0; y < outHeight; y++) {
    const v = <f32>y + (1 - <f32>outHeight) * 0.5
    let x = 0
    while (x < outWidth) {
      const u = <f32>x + (1 - <f32>outWidth) * 0.5
      if (channels == 3 && x + 4 <= outWidth) {
        const us = fourFrom(u)
        const px = four(us, v, map, width)
        const py = four(us, v, map + 12, height)
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
          to += 12
          x += 4
          continue
        }
      }
      // Some of the four need care: do this one alone, and the next three, before four are tried again.
      const end = min(x + 4, outWidth)
      for (; x < end; x++, to += pixel) {
        const w = <f32>x + (1 - <f32>outWidth) * 0.5
        const px = f32x4.extract_lane(four(f32x4.splat(w), v, map, width), 0)
        const py = f32x4.extract_lane(four(f32x4.splat(w), v, map + 12, height), 0)
        const value = careful(from, stride, width, height, channels, px, py, fill, filled)
        if (channels == 3) store<u32>(to, value)
        else store<u8>(to, <u8>value)
      }
    }
  }
}

/** Four output coordinates, one apart. */
@inline
function fourFrom(u: f32): v128 {
  return f32x4.add(f32x4.splat(u), f32x4(0, 1, 2, 3))
}

/** Where four output pixels come from, in input pixels, along one axis. */
@inline
function four(u: v128, v: f32, map: usize, size: i32): v128 {
  const g = f32x4.add(
    f32x4.add(f32x4.mul(u, v128.load_splat<u32>(map)), f32x4.splat(v * load<f32>(map, 4))),
    v128.load_splat<u32>(map, 8),
  )
  return f32x4.sub(
    f32x4.mul(f32x4.add(g, f32x4.splat(1)), f32x4.splat(<f32>size / 2)),
    f32x4.splat(0.5),
  )
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
function toPixel(lanes: v128): u32 {
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
