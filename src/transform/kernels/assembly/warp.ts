// Affine warp: each output pixel is fetched from where an inverse map says, by torch's grid_sample arithmetic
// (align_corners = false, zeros outside), so that ties fall where torchvision's fall.

/**
 *   map    f32[6]: output → input, both relative to the centre and in units of half the input's size
 *   fill   f32[4]: the colour outside, ignored unless `filled`
 *   to     outWidth × outHeight pixels without gaps, and 16 bytes to spare
 */
export function nearest(
  from: usize, stride: usize, width: i32, height: i32, channels: i32,
  to: usize, outWidth: i32, outHeight: i32, map: usize, fill: usize, filled: bool,
): void {
  const halfX = <f32>width / 2
  const halfY = <f32>height / 2
  const colour = filled ? toPixel(f32x4.nearest(v128.load(fill))) : 0
  for (let y = 0; y < outHeight; y++) {
    const v = <f32>y + (1 - <f32>outHeight) * 0.5
    for (let x = 0; x < outWidth; x++, to += <usize>channels) {
      const u = <f32>x + (1 - <f32>outWidth) * 0.5
      const px = floating(u, v, map, halfX)
      const py = floating(u, v, map + 12, halfY)
      const ix = <i32>f32.nearest(px)
      const iy = <i32>f32.nearest(py)
      const inside = <u32>ix < <u32>width && <u32>iy < <u32>height
      if (channels == 3) {
        store<u32>(to, inside ? three(from + <usize>iy * stride + <usize>(ix * 3)) : colour)
      } else {
        store<u8>(to, inside ? load<u8>(from + <usize>iy * stride + <usize>ix) : <u8>colour)
      }
    }
  }
}

/** Where an output pixel comes from, in input pixels, along one axis. */
@inline
function floating(u: f32, v: f32, map: usize, half: f32): f32 {
  const g = u * load<f32>(map) + v * load<f32>(map, 4) + load<f32>(map, 8)
  return (g + 1) * half - 0.5
}

/** Three bytes as the low ones of a word. */
@inline
function three(p: usize): u32 {
  return <u32>load<u16>(p) | (<u32>load<u8>(p, 2) << 16)
}

/** Whole f32 lanes 0…255 as packed bytes. */
@inline
function toPixel(lanes: v128): u32 {
  const words = i32x4.trunc_sat_f32x4_s(lanes)
  const shorts = i16x8.narrow_i32x4_s(words, words)
  return i32x4.extract_lane(i8x16.narrow_i16x8_u(shorts, shorts), 0)
}

/** Four bytes as f32 lanes. */
@inline
function lanes(word: u32): v128 {
  const bytes = i32x4.splat(word)
  return f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(bytes)))
}

export function bilinear(
  from: usize, stride: usize, width: i32, height: i32, channels: i32,
  to: usize, outWidth: i32, outHeight: i32, map: usize, fill: usize, filled: bool,
): void {
  const halfX = <f32>width / 2
  const halfY = <f32>height / 2
  const colour = v128.load(fill)
  for (let y = 0; y < outHeight; y++) {
    const v = <f32>y + (1 - <f32>outHeight) * 0.5
    for (let x = 0; x < outWidth; x++, to += <usize>channels) {
      const u = <f32>x + (1 - <f32>outWidth) * 0.5
      const px = floating(u, v, map, halfX)
      const py = floating(u, v, map + 12, halfY)
      const fx = floor(px)
      const fy = floor(py)
      const ix = <i32>fx
      const iy = <i32>fy
      const right = px - fx
      const down = py - fy
      const left: f32 = 1 - right
      const up: f32 = 1 - down
      let sum: v128
      // Two columns to spare, so that a pixel can be read as four bytes.
      if (ix >= 0 && iy >= 0 && ix + 2 < width && iy + 1 < height && channels == 3) {
        const p = from + <usize>iy * stride + <usize>(ix * 3)
        const q = p + stride
        sum = f32x4.mul(lanes(load<u32>(p)), f32x4.splat(left * up))
        sum = f32x4.add(sum, f32x4.mul(lanes(load<u32>(p, 3)), f32x4.splat(right * up)))
        sum = f32x4.add(sum, f32x4.mul(lanes(load<u32>(q)), f32x4.splat(left * down)))
        sum = f32x4.add(sum, f32x4.mul(lanes(load<u32>(q, 3)), f32x4.splat(right * down)))
      } else {
        let share: f32 = 0
        sum = f32x4.splat(0)
        for (let corner = 0; corner < 4; corner++) {
          const cx = ix + (corner & 1)
          const cy = iy + (corner >> 1)
          if (<u32>cx >= <u32>width || <u32>cy >= <u32>height) continue
          const weight = (corner & 1 ? right : left) * (corner >> 1 ? down : up)
          const p = from + <usize>cy * stride + <usize>(cx * channels)
          sum = f32x4.add(sum, f32x4.mul(lanes(channels == 3 ? three(p) : <u32>load<u8>(p)), f32x4.splat(weight)))
          share += weight
        }
        // torchvision's way with a fill: the sum, already thinned by what lies outside, is blended once more.
        if (filled) sum = f32x4.add(f32x4.mul(f32x4.sub(sum, colour), f32x4.splat(share)), colour)
      }
      const pixel = toPixel(f32x4.nearest(sum))
      if (channels == 3) store<u32>(to, pixel)
      else store<u8>(to, <u8>pixel)
    }
  }
}
