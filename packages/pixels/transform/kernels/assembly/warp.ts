// Warps: each output pixel is fetched from where a map says (rows/fetch.ts), so that ties fall where torchvision's fall.
//
//   map    f32: output → input, in units of half the input's size
//   fill   f32[4]: the colour outside, ignored unless `filled`
//   to     outWidth × outHeight pixels without gaps, and 16 bytes to spare
import { blendFour, pickFour, toPixel } from './rows/fetch'

const NEAREST = 0

/** Affine: `map` has six numbers, relative to the centres of both pictures. `filter` is 0 for nearest, else bilinear. */
export function affine(
  from: usize, stride: usize, width: i32, height: i32, channels: i32,
  to: usize, outWidth: i32, outHeight: i32, map: usize, fill: usize, filled: bool, filter: i32,
): void {
  const colour = filled ? toPixel(v128.load(fill)) : 0
  for (let y = 0; y < outHeight; y++) {
    const v = <f32>y + (1 - <f32>outHeight) * 0.5
    for (let x = 0; x < outWidth; x += 4) {
      const u = fourFrom(<f32>x + (1 - <f32>outWidth) * 0.5)
      const px = toPixels(sum(u, v, map), width)
      const py = toPixels(sum(u, v, map + 12), height)
      const count = min(4, outWidth - x)
      if (filter == NEAREST) pickFour(to, from, stride, width, height, channels, px, py, count, colour)
      else blendFour(to, from, stride, width, height, channels, px, py, count, fill, filled)
      to += <usize>(channels * count)
    }
  }
}

/** Perspective: `map` has nine numbers, two sums and what both are divided by, of pixels' middles. The size stays. */
export function perspective(
  from: usize, stride: usize, width: i32, height: i32, channels: i32,
  to: usize, map: usize, fill: usize, filled: bool, filter: i32,
): void {
  const colour = filled ? toPixel(v128.load(fill)) : 0
  const one = f32x4.splat(1)
  for (let y = 0; y < height; y++) {
    const v = <f32>y + 0.5
    for (let x = 0; x < width; x += 4) {
      const u = fourFrom(<f32>x + 0.5)
      const divisor = sum(u, v, map + 24)
      const px = near(toPixels(f32x4.sub(f32x4.div(sum(u, v, map), divisor), one), width))
      const py = near(toPixels(f32x4.sub(f32x4.div(sum(u, v, map + 12), divisor), one), height))
      const count = min(4, width - x)
      if (filter == NEAREST) pickFour(to, from, stride, width, height, channels, px, py, count, colour)
      else blendFour(to, from, stride, width, height, channels, px, py, count, fill, filled)
      to += <usize>(channels * count)
    }
  }
}

/**
 * Each pixel is fetched from its own place and a displacement: `gridX` f32[width] and `gridY` f32[height] have the
 * places, `shiftX` and `shiftY` f32[height][width] the displacements; 16 bytes to spare behind each.
 */
export function displaced(
  from: usize, stride: usize, width: i32, height: i32, channels: i32,
  to: usize, gridX: usize, gridY: usize, shiftX: usize, shiftY: usize, fill: usize, filled: bool, filter: i32,
): void {
  const colour = filled ? toPixel(v128.load(fill)) : 0
  for (let y = 0; y < height; y++) {
    const v = v128.load_splat<u32>(gridY + (<usize>y << 2))
    const row = <usize>(y * width) << 2
    for (let x = 0; x < width; x += 4) {
      const at = <usize>x << 2
      const px = near(toPixels(f32x4.add(v128.load(gridX + at), v128.load(shiftX + row + at)), width))
      const py = near(toPixels(f32x4.add(v, v128.load(shiftY + row + at)), height))
      const count = min(4, width - x)
      if (filter == NEAREST) pickFour(to, from, stride, width, height, channels, px, py, count, colour)
      else blendFour(to, from, stride, width, height, channels, px, py, count, fill, filled)
      to += <usize>(channels * count)
    }
  }
}

/** Four output coordinates, one apart. */
@inline
function fourFrom(u: f32): v128 {
  return f32x4.add(f32x4.splat(u), f32x4(0, 1, 2, 3))
}

/** u × map[0] + v × map[1] + map[2]. */
@inline
function sum(u: v128, v: f32, map: usize): v128 {
  return f32x4.add(
    f32x4.add(f32x4.mul(u, v128.load_splat<u32>(map)), f32x4.splat(v * load<f32>(map, 4))),
    v128.load_splat<u32>(map, 8),
  )
}

/** From -1…1 to pixels. */
@inline
function toPixels(g: v128, size: i32): v128 {
  return f32x4.sub(f32x4.mul(f32x4.add(g, f32x4.splat(1)), f32x4.splat(<f32>size / 2)), f32x4.splat(0.5))
}

/** What lies far outside, or nowhere (NaN), is moved near, and is outside still: whole numbers have 32 bits. */
@inline
function near(p: v128): v128 {
  return f32x4.pmin(f32x4.pmax(f32x4.splat(-4), p), f32x4.splat(1000000))
}
