// One row of a picture to one row of the wanted width: moves, mirrors, picks and weighs pixels along x. All
// functions write whole groups of 4 pixels in 16-byte stores: the row they write needs 16 spare bytes.
//
// Tables are made by packages/pixels/transform/place/axis.ts. Interleaved rows are r g b r g b …; planar rows are three rows,
// `plane` bytes apart.

/** Bytes of one group in the tables of `shuffle` (16 mask, 4 base) and `pairs` (16 mask, 16 weights, 4 base). */
const SHUFFLE_STEP: usize = 20
const PAIRS_STEP: usize = 36
const PAIRS_SHIFT: i32 = 14

/** Writes r0…3 g0…3 b0…3 as 4 planar pixels … */
@inline
function storePlanar(target: usize, plane: usize, v: v128): void {
  v128.store32_lane(target, v, 0)
  v128.store32_lane(target + plane, v, 1)
  v128.store32_lane(target + 2 * plane, v, 2)
}

/** … or as 4 interleaved ones. */
@inline
function storeInterleaved(target: usize, v: v128): void {
  v128.store(target, i8x16.swizzle(v, i8x16(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1)))
}

/** Moves bytes: each group of 4 pixels is a rearrangement of 16 bytes of the source, planes or not. */
export function shuffle(source: usize, groups: i32, table: usize, target: usize, plane: usize): void {
  const end = table + <usize>groups * SHUFFLE_STEP
  if (plane == 0) {
    for (; table < end; table += SHUFFLE_STEP) {
      v128.store(target, i8x16.swizzle(v128.load(source + load<u32>(table, 16)), v128.load(table)))
      target += 12
    }
  } else {
    for (; table < end; table += SHUFFLE_STEP) {
      storePlanar(target, plane, i8x16.swizzle(v128.load(source + load<u32>(table, 16)), v128.load(table)))
      target += 4
    }
  }
}

/** Moves single pixels from anywhere in the row: the table holds a byte offset for each. */
export function pick(source: usize, width: i32, channels: i32, table: usize, target: usize, plane: usize): void {
  const end = table + (<usize>width << 2)
  if (channels == 1) {
    for (; table < end; table += 4) store<u8>(target++, load<u8>(source + load<u32>(table)))
  } else if (plane == 0) {
    for (; table < end; table += 4) {
      const from = source + load<u32>(table)
      store<u16>(target, load<u16>(from))
      store<u8>(target, load<u8>(from, 2), 2)
      target += 3
    }
  } else {
    for (; table < end; table += 4) {
      const from = source + load<u32>(table)
      store<u8>(target, load<u8>(from))
      store<u8>(target + plane, load<u8>(from, 1))
      store<u8>(target + 2 * plane, load<u8>(from, 2))
      target++
    }
  }
}

/** Four pixels of one channel, each of two neighbours: the mask brings (left, right) into 16-bit lanes. */
@inline
function pairOf(v: v128, mask: v128, weights: v128): v128 {
  const sum = i32x4.dot_i16x8_s(i8x16.swizzle(v, mask), weights)
  return i32x4.shr_s(i32x4.add(sum, i32x4.splat(1 << (PAIRS_SHIFT - 1))), PAIRS_SHIFT)
}

/** r0…3 g0…3 b0…3 of one group. The mask is red's; green's and blue's lie 1 and 2 bytes further. */
@inline
function pairGroup(source: usize, table: usize): v128 {
  const v = v128.load(source + load<u32>(table, 32))
  const mask = v128.load(table)
  const weights = v128.load(table, 16)
  const r = pairOf(v, mask, weights)
  const g = pairOf(v, i8x16.add(mask, i8x16.splat(1)), weights)
  const b = pairOf(v, i8x16.add(mask, i8x16.splat(2)), weights)
  return i8x16.narrow_i16x8_u(i16x8.narrow_i32x4_s(r, g), i16x8.narrow_i32x4_s(b, b))
}

/** Weighs two neighbours, in groups of 4 pixels whose neighbours all lie within 16 bytes: enlarging, bilinear. */
export function pairs(
  source: usize, groups: i32, channels: i32, table: usize, target: usize, plane: usize,
): void {
  const end = table + <usize>groups * PAIRS_STEP
  if (channels == 1) {
    for (; table < end; table += PAIRS_STEP) {
      const v = pairOf(v128.load(source + load<u32>(table, 32)), v128.load(table), v128.load(table, 16))
      const narrow = i16x8.narrow_i32x4_s(v, v)
      v128.store32_lane(target, i8x16.narrow_i16x8_u(narrow, narrow), 0)
      target += 4
    }
  } else if (plane == 0) {
    for (; table < end; table += PAIRS_STEP) {
      storeInterleaved(target, pairGroup(source, table))
      target += 12
    }
  } else {
    for (; table < end; table += PAIRS_STEP) {
      storePlanar(target, plane, pairGroup(source, table))
      target += 4
    }
  }
}

/** Four taps of one pixel: (r, g, b, –) of 16 bytes and four 16-bit weights. */
@inline
function fourTaps(from: usize, weights: usize): v128 {
  const v = v128.load(from)
  const left = i8x16.swizzle(v, i8x16(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1))
  const right = i8x16.swizzle(v, i8x16(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1))
  return i32x4.add(
    i32x4.dot_i16x8_s(left, v128.load32_splat(weights)),
    i32x4.dot_i16x8_s(right, v128.load32_splat(weights, 4)),
  )
}

@inline
function tapsOf(from: usize, weights: usize, taps: i32, half: v128): v128 {
  let sum = i32x4.add(half, fourTaps(from, weights))
  for (let k = 4; k < taps; k += 4) {
    from += 12
    weights += 8
    sum = i32x4.add(sum, fourTaps(from, weights))
  }
  return sum
}

/** Four pixels of four sums (r, g, b, –) each: shifted, clamped to bytes, and written. */
@inline
function storeSums(target: usize, plane: usize, p0: v128, p1: v128, p2: v128, p3: v128, shift: i32): void {
  const low = i16x8.narrow_i32x4_s(i32x4.shr_s(p0, shift), i32x4.shr_s(p1, shift))
  const high = i16x8.narrow_i32x4_s(i32x4.shr_s(p2, shift), i32x4.shr_s(p3, shift))
  const rgbx = i8x16.narrow_i16x8_u(low, high)
  if (plane == 0) {
    v128.store(target, i8x16.swizzle(rgbx, i8x16(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1)))
  } else {
    const planes = i8x16.swizzle(rgbx, i8x16(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, -1, -1, -1, -1))
    storePlanar(target, plane, planes)
  }
}

/**
 * Weighs any number of neighbours. Table: a byte offset for each pixel (`groups` × 4 of them), then `taps` 16-bit
 * weights for each; `taps` is a multiple of 4 for three channels, of 8 for one.
 */
export function taps(
  source: usize, groups: i32, channels: i32, table: usize, count: i32, shift: i32, target: usize, plane: usize,
): void {
  const weights = table + (<usize>groups << 4)
  if (channels == 1) tapsOfOne(source, groups << 2, table, weights, count, shift, target)
  else if (count > 4) manyTaps(source, groups, table, weights, count, shift, target, plane)
  // Shifts by a constant are quicker, and these are the usual ones: enlarging, and shrinking to no less than half.
  else if (shift == 14) upToFourTaps(source, groups, table, weights, 14, target, plane)
  else if (shift == 15) upToFourTaps(source, groups, table, weights, 15, target, plane)
  else upToFourTaps(source, groups, table, weights, shift, target, plane)
}

@inline
function upToFourTaps(
  source: usize, groups: i32, bases: usize, weights: usize, shift: i32, target: usize, plane: usize,
): void {
  const half = i32x4.splat(1 << (shift - 1))
  const step: usize = plane == 0 ? 12 : 4
  for (const end = weights; bases < end; bases += 16) {
    const p0 = i32x4.add(half, fourTaps(source + load<u32>(bases), weights))
    const p1 = i32x4.add(half, fourTaps(source + load<u32>(bases, 4), weights + 8))
    const p2 = i32x4.add(half, fourTaps(source + load<u32>(bases, 8), weights + 16))
    const p3 = i32x4.add(half, fourTaps(source + load<u32>(bases, 12), weights + 24))
    storeSums(target, plane, p0, p1, p2, p3, shift)
    weights += 32
    target += step
  }
}

function manyTaps(
  source: usize, groups: i32, bases: usize, weights: usize, count: i32, shift: i32, target: usize, plane: usize,
): void {
  const half = i32x4.splat(1 << (shift - 1))
  const row = <usize>count << 1
  const step: usize = plane == 0 ? 12 : 4
  for (const end = weights; bases < end; bases += 16) {
    const p0 = tapsOf(source + load<u32>(bases), weights, count, half)
    const p1 = tapsOf(source + load<u32>(bases, 4), weights + row, count, half)
    const p2 = tapsOf(source + load<u32>(bases, 8), weights + 2 * row, count, half)
    const p3 = tapsOf(source + load<u32>(bases, 12), weights + 3 * row, count, half)
    storeSums(target, plane, p0, p1, p2, p3, shift)
    weights += 4 * row
    target += step
  }
}

function tapsOfOne(
  source: usize, width: i32, bases: usize, weights: usize, count: i32, shift: i32, target: usize,
): void {
  const half = 1 << (shift - 1)
  for (let x = 0; x < width; x++) {
    let from = source + load<u32>(bases + (<usize>x << 2))
    let sums = i32x4.splat(0)
    for (let k = 0; k < count; k += 8) {
      sums = i32x4.add(sums, i32x4.dot_i16x8_s(v128.load8x8_u(from), v128.load(weights)))
      from += 8
      weights += 16
    }
    sums = i32x4.add(sums, i8x16.shuffle(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
    const sum = (i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1) + half) >> shift
    store<u8>(target + x, max(0, min(255, sum)))
  }
}
