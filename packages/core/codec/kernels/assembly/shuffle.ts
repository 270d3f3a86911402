/**
 * Undoes shuffles. Of an array of `count` elements, row b (`count` bytes at from + b * stride) has byte b of each element.
 * What is written are elements first … first + some − 1, one after the other, at `to`.
 */

/** Elements from which 16 of a row are taken at a time. */
export function unshuffle(from: usize, stride: usize, to: usize, some: usize, width: usize): void {
  if (width === 2) unshuffle2(from, stride, to, some)
  else if (width === 4) unshuffle4(from, stride, to, some)
  else if (width === 8) unshuffle8(from, stride, to, some)
  else unshuffleAny(from, stride, to, 0, some, width)
}

function unshuffleAny(from: usize, stride: usize, to: usize, first: usize, some: usize, width: usize): void {
  // Sixteen elements at a time: what is written stays in the nearest cache.
  for (let i = first; i < some; i += 16) {
    const end = min(some, i + 16)
    for (let b: usize = 0; b < width; b++) {
      let put = to + i * width + b
      const row = from + b * stride
      for (let j = i; j < end; j++) {
        store<u8>(put, load<u8>(row + j))
        put += width
      }
    }
  }
}

@inline
function low(a: v128, b: v128): v128 {
  return v128.shuffle<u8>(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
}

@inline
function high(a: v128, b: v128): v128 {
  return v128.shuffle<u8>(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
}

function unshuffle2(from: usize, stride: usize, to: usize, some: usize): void {
  let i: usize = 0
  for (; i + 16 <= some; i += 16) {
    const a = v128.load(from + i)
    const b = v128.load(from + stride + i)
    v128.store(to + i * 2, low(a, b))
    v128.store(to + i * 2 + 16, high(a, b))
  }
  unshuffleAny(from, stride, to, i, some, 2)
}

function unshuffle4(from: usize, stride: usize, to: usize, some: usize): void {
  let i: usize = 0
  for (; i + 16 <= some; i += 16) {
    const at = from + i
    const a = v128.load(at)
    const b = v128.load(at + stride)
    const c = v128.load(at + stride * 2)
    const d = v128.load(at + stride * 3)
    // a c a c …, b d b d …; then a b c d …
    const ac0 = low(a, c)
    const ac1 = high(a, c)
    const bd0 = low(b, d)
    const bd1 = high(b, d)
    const put = to + i * 4
    v128.store(put, low(ac0, bd0))
    v128.store(put, high(ac0, bd0), 16)
    v128.store(put, low(ac1, bd1), 32)
    v128.store(put, high(ac1, bd1), 48)
  }
  unshuffleAny(from, stride, to, i, some, 4)
}

function unshuffle8(from: usize, stride: usize, to: usize, some: usize): void {
  let i: usize = 0
  for (; i + 16 <= some; i += 16) {
    const at = from + i
    const r0 = v128.load(at)
    const r1 = v128.load(at + stride)
    const r2 = v128.load(at + stride * 2)
    const r3 = v128.load(at + stride * 3)
    const r4 = v128.load(at + stride * 4)
    const r5 = v128.load(at + stride * 5)
    const r6 = v128.load(at + stride * 6)
    const r7 = v128.load(at + stride * 7)
    const put = to + i * 8
    half(put, low(r0, r4), low(r1, r5), low(r2, r6), low(r3, r7))
    half(put + 64, high(r0, r4), high(r1, r5), high(r2, r6), high(r3, r7))
  }
  unshuffleAny(from, stride, to, i, some, 8)
}

/** Eight elements of eight bytes, of which bytes 0 and 4, 1 and 5, 2 and 6, 3 and 7 stand together. */
@inline
function half(put: usize, p04: v128, p15: v128, p26: v128, p37: v128): void {
  const e0 = low(p04, p26)
  const e1 = high(p04, p26)
  const o0 = low(p15, p37)
  const o1 = high(p15, p37)
  v128.store(put, low(e0, o0))
  v128.store(put, high(e0, o0), 16)
  v128.store(put, low(e1, o1), 32)
  v128.store(put, high(e1, o1), 48)
}

/**
 * Undoes the bits' part of a bit-shuffle of `count` elements (a multiple of 8): what comes out is shuffled by bytes. Row
 * b * 8 + k of count / 8 bytes has bit k of byte b of all elements.
 */
export function unbits(from: usize, to: usize, count: usize, width: usize): void {
  const row = count >> 3
  for (let b: usize = 0; b < width; b++) {
    // The eight rows as if they were a shuffled array: eight bytes a group of eight elements.
    const put = to + b * count
    unshuffle8(from + b * count, row, put, row)
    let i: usize = 0
    for (; i + 16 <= count; i += 16) v128.store(put + i, transposed(v128.load(put + i)))
    if (i < count) {
      const last = transposed(v128.load64_zero(put + i))
      store<u64>(put + i, <u64>i64x2.extract_lane(last, 0))
    }
  }
}

/** Two squares of 8 × 8 bits, with rows and columns swapped. */
@inline
function transposed(x: v128): v128 {
  let t = v128.and(v128.xor(x, i64x2.shr_u(x, 7)), i64x2.splat(0x00aa00aa00aa00aa))
  x = v128.xor(x, v128.xor(t, i64x2.shl(t, 7)))
  t = v128.and(v128.xor(x, i64x2.shr_u(x, 14)), i64x2.splat(0x0000cccc0000cccc))
  x = v128.xor(x, v128.xor(t, i64x2.shl(t, 14)))
  t = v128.and(v128.xor(x, i64x2.shr_u(x, 28)), i64x2.splat(0x00000000f0f0f0f0))
  return v128.xor(x, v128.xor(t, i64x2.shl(t, 28)))
}
