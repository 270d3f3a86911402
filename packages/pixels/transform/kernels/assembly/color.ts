// Colour kernels over pictures of interleaved bytes, in place unless said otherwise. Numbers are float32 in
// torchvision's order of operations, so that results agree with it to the last bit but for rare ties.

import { HUE_SCALE, LUMINANCE_BLUE, LUMINANCE_GREEN, LUMINANCE_RED } from './generated/facts'

/** Every byte becomes table[byte]. */
export function table(at: usize, stride: usize, bytes: usize, height: i32, tableAt: usize): void {
  for (let y = 0; y < height; y++, at += stride) {
    let i: usize = 0
    for (; i + 8 <= bytes; i += 8) {
      const eight = load<u64>(at + i)
      const low =
        <u32>load<u8>(tableAt + <usize>(eight & 255)) |
        (<u32>load<u8>(tableAt + <usize>((eight >> 8) & 255)) << 8) |
        (<u32>load<u8>(tableAt + <usize>((eight >> 16) & 255)) << 16) |
        (<u32>load<u8>(tableAt + <usize>((eight >> 24) & 255)) << 24)
      const high =
        <u32>load<u8>(tableAt + <usize>((eight >> 32) & 255)) |
        (<u32>load<u8>(tableAt + <usize>((eight >> 40) & 255)) << 8) |
        (<u32>load<u8>(tableAt + <usize>((eight >> 48) & 255)) << 16) |
        (<u32>load<u8>(tableAt + <usize>(eight >> 56)) << 24)
      store<u64>(at + i, <u64>low | (<u64>high << 32))
    }
    for (; i < bytes; i++) store<u8>(at + i, load<u8>(tableAt + <usize>load<u8>(at + i)))
  }
}

/** Each of three channels has its own table: 3 × 256 bytes. */
export function tables(at: usize, stride: usize, width: usize, height: i32, tablesAt: usize): void {
  for (let y = 0; y < height; y++, at += stride) {
    const end = at + width * 3
    for (let p = at; p < end; p += 3) {
      store<u8>(p, load<u8>(tablesAt + <usize>load<u8>(p)))
      store<u8>(p, load<u8>(tablesAt + <usize>load<u8>(p, 1), 256), 1)
      store<u8>(p, load<u8>(tablesAt + <usize>load<u8>(p, 2), 512), 2)
    }
  }
}

/** Counts the values of each channel into u32[channels][256], which it clears first. */
export function histogram(
  at: usize, stride: usize, width: usize, height: i32, channels: usize, counts: usize,
): void {
  memory.fill(counts, 0, channels * 1024)
  for (let y = 0; y < height; y++, at += stride) {
    for (let c: usize = 0; c < channels; c++) {
      const end = at + width * channels
      const base = counts + c * 1024
      for (let p = at + c; p < end; p += channels) {
        const slot = base + (<usize>load<u8>(p) << 2)
        store<u32>(slot, load<u32>(slot) + 1)
      }
    }
  }
}

// ---------------------------------------------------------------- four RGB pixels at a time

/** Twelve bytes, four pixels. */
@inline
function loadFour(p: usize): v128 {
  return v128.load_lane<u32>(p, v128.load_zero<u64>(p), 2, 8)
}

@inline
function storeFour(p: usize, pixels: v128): void {
  v128.store_lane<u64>(p, pixels, 0)
  v128.store_lane<u32>(p, pixels, 2, 8)
}

/** The last one to three pixels of a row, without reading past it. */
function loadRest(p: usize, bytes: usize): v128 {
  let low: u64 = 0
  let high: u64 = 0
  for (let i: usize = 0; i < bytes; i++) {
    const byte = <u64>load<u8>(p + i)
    if (i < 8) low |= byte << (i * 8)
    else high |= byte << ((i - 8) * 8)
  }
  return i64x2.replace_lane(i64x2.splat(low), 1, high)
}

function storeRest(p: usize, bytes: usize, pixels: v128): void {
  const low = <u64>i64x2.extract_lane(pixels, 0)
  const high = <u64>i64x2.extract_lane(pixels, 1)
  for (let i: usize = 0; i < bytes; i++)
    store<u8>(p + i, <u8>(i < 8 ? low >> (i * 8) : high >> ((i - 8) * 8)))
}

@inline
function red(pixels: v128): v128 {
  return f32x4.convert_i32x4_s(i8x16.swizzle(pixels, i8x16(0, -1, -1, -1, 3, -1, -1, -1, 6, -1, -1, -1, 9, -1, -1, -1)))
}

@inline
function green(pixels: v128): v128 {
  return f32x4.convert_i32x4_s(i8x16.swizzle(pixels, i8x16(1, -1, -1, -1, 4, -1, -1, -1, 7, -1, -1, -1, 10, -1, -1, -1)))
}

@inline
function blue(pixels: v128): v128 {
  return f32x4.convert_i32x4_s(i8x16.swizzle(pixels, i8x16(2, -1, -1, -1, 5, -1, -1, -1, 8, -1, -1, -1, 11, -1, -1, -1)))
}

/** Three channels of whole numbers 0…255, as i32 lanes, back to twelve bytes. */
@inline
function join(r: v128, g: v128, b: v128): v128 {
  const lanes = v128.or(v128.or(r, i32x4.shl(g, 8)), i32x4.shl(b, 16))
  return i8x16.swizzle(lanes, i8x16(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1))
}

/** Luminance, rounded down, as i32 lanes. */
@inline
function luminance(pixels: v128): v128 {
  const r = f32x4.mul(red(pixels), f32x4.splat(LUMINANCE_RED))
  const rg = f32x4.add(r, f32x4.mul(green(pixels), f32x4.splat(LUMINANCE_GREEN)))
  return i32x4.trunc_sat_f32x4_s(f32x4.add(rg, f32x4.mul(blue(pixels), f32x4.splat(LUMINANCE_BLUE))))
}

/** Clamps to 0…255 and rounds down. */
@inline
function toByte(x: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.pmin(f32x4.pmax(x, f32x4.splat(0)), f32x4.splat(255)))
}

@inline
function grayFour(pixels: v128): v128 {
  const l = luminance(pixels)
  return join(l, l, l)
}

/** value × factor + luminance × rest, where rest = 1 - factor. */
@inline
function saturateFour(pixels: v128, factor: f32, rest: f32): v128 {
  const f = f32x4.splat(factor)
  const l = f32x4.mul(f32x4.convert_i32x4_s(luminance(pixels)), f32x4.splat(rest))
  return join(
    toByte(f32x4.add(f32x4.mul(red(pixels), f), l)),
    toByte(f32x4.add(f32x4.mul(green(pixels), f), l)),
    toByte(f32x4.add(f32x4.mul(blue(pixels), f), l)),
  )
}

/** One channel from the hue in sixths (k, with the channel's offset added): max - range × clamp(min(k, 4 - k), 0, 1). */
@inline
function channel(k: v128, max: v128, range: v128): v128 {
  const six = f32x4.splat(6)
  k = f32x4.sub(k, f32x4.mul(six, f32x4.floor(f32x4.mul(k, f32x4.splat(1.0 / 6.0)))))
  const down = f32x4.pmin(k, f32x4.sub(f32x4.splat(4), k))
  const share = f32x4.pmin(f32x4.pmax(down, f32x4.splat(0)), f32x4.splat(1))
  return toByte(f32x4.mul(f32x4.sub(max, f32x4.mul(range, share)), f32x4.splat(HUE_SCALE)))
}

/** Turns the hue by `turn` sixths of the circle; saturation and value stay. */
@inline
function hueFour(pixels: v128, turn: f32): v128 {
  const r = red(pixels)
  const g = green(pixels)
  const b = blue(pixels)
  const max = f32x4.pmax(f32x4.pmax(r, g), b)
  const range = f32x4.sub(max, f32x4.pmin(f32x4.pmin(r, g), b))
  const divisor = f32x4.pmax(range, f32x4.splat(1)) // grey has range 0, and any hue
  const fromRed = f32x4.div(f32x4.sub(g, b), divisor)
  const fromGreen = f32x4.add(f32x4.div(f32x4.sub(b, r), divisor), f32x4.splat(2))
  const fromBlue = f32x4.add(f32x4.div(f32x4.sub(r, g), divisor), f32x4.splat(4))
  const sixths = v128.bitselect(
    fromRed,
    v128.bitselect(fromGreen, fromBlue, f32x4.eq(max, g)),
    f32x4.eq(max, r),
  )
  const h = f32x4.add(sixths, f32x4.splat(turn))
  return join(
    channel(f32x4.add(h, f32x4.splat(5)), max, range),
    channel(f32x4.add(h, f32x4.splat(3)), max, range),
    channel(f32x4.add(h, f32x4.splat(1)), max, range),
  )
}

const GRAY = 0
const SATURATE = 1
const HUE = 2

/** `what` is constant at every call and folds away. */
@inline
function change(what: i32, pixels: v128, a: f32, b: f32): v128 {
  if (what == GRAY) return grayFour(pixels)
  if (what == SATURATE) return saturateFour(pixels, a, b)
  return hueFour(pixels, a)
}

@inline
function changeAll(what: i32, at: usize, stride: usize, width: usize, height: i32, a: f32, b: f32): void {
  const bytes = width * 3
  const whole = bytes - (bytes % 12)
  for (let y = 0; y < height; y++, at += stride) {
    for (let i: usize = 0; i < whole; i += 12) storeFour(at + i, change(what, loadFour(at + i), a, b))
    if (whole < bytes) {
      const rest = at + whole
      storeRest(rest, bytes - whole, change(what, loadRest(rest, bytes - whole), a, b))
    }
  }
}

/** All three channels become the luminance. */
export function grayscale(at: usize, stride: usize, width: usize, height: i32): void {
  changeAll(GRAY, at, stride, width, height, 0, 0)
}

export function saturation(
  at: usize, stride: usize, width: usize, height: i32, factor: f32, rest: f32,
): void {
  changeAll(SATURATE, at, stride, width, height, factor, rest)
}

export function hue(at: usize, stride: usize, width: usize, height: i32, turn: f32): void {
  changeAll(HUE, at, stride, width, height, turn, 0)
}

/** Channel c becomes what channel first, second or third was, for c = 0, 1, 2. */
export function permute(
  at: usize, stride: usize, width: usize, height: i32, first: i32, second: i32, third: i32,
): void {
  const bytes = width * 3
  const whole = bytes - (bytes % 12)
  // Where each byte of four pixels comes from.
  const low = i32x4(first, second, third, first + 3)
  const middle = i32x4(second + 3, third + 3, first + 6, second + 6)
  const high = i32x4(third + 6, first + 9, second + 9, third + 9)
  const from = i8x16.narrow_i16x8_u(
    i16x8.narrow_i32x4_u(low, middle),
    i16x8.narrow_i32x4_u(high, i32x4.splat(255)),
  )
  for (let y = 0; y < height; y++, at += stride) {
    for (let i: usize = 0; i < whole; i += 12) storeFour(at + i, i8x16.swizzle(loadFour(at + i), from))
    if (whole < bytes) {
      const rest = at + whole
      storeRest(rest, bytes - whole, i8x16.swizzle(loadRest(rest, bytes - whole), from))
    }
  }
}

/** The sum of all luminances; exact below 2^53. */
export function luminanceSum(at: usize, stride: usize, width: usize, height: i32): f64 {
  const bytes = width * 3
  const whole = bytes - (bytes % 12)
  let total: u64 = 0
  for (let y = 0; y < height; y++, at += stride) {
    let sums = i32x4.splat(0)
    for (let i: usize = 0; i < whole; i += 12) sums = i32x4.add(sums, luminance(loadFour(at + i)))
    // Pixels that aren't there are black and add nothing.
    if (whole < bytes) sums = i32x4.add(sums, luminance(loadRest(at + whole, bytes - whole)))
    total += <u64>i32x4.extract_lane(sums, 0) + <u64>i32x4.extract_lane(sums, 1)
    total += <u64>i32x4.extract_lane(sums, 2) + <u64>i32x4.extract_lane(sums, 3)
  }
  return <f64>total
}
