// Displacements of an elastic transform: noise that depends on a key and its place alone, blurred by Gaussians.

import { MIX_FIRST, MIX_SECOND, WEYL } from './generated/facts'

/** Uniform in [-1, 1), 24 bits each: f32[count], of places 0, 1, …; up to 12 bytes past the end are written. */
export function noise(to: usize, count: i32, key: i32): void {
  let place = i32x4(0, 1, 2, 3)
  for (let i = 0; i < count; i += 4, to += 16) {
    const bits = mix(i32x4.add(i32x4.mul(place, i32x4.splat(WEYL)), i32x4.splat(key)))
    const value = f32x4.convert_i32x4_s(i32x4.shr_u(bits, 8))
    v128.store(to, f32x4.sub(f32x4.mul(value, f32x4.splat(1.0 / 8388608.0)), f32x4.splat(1)))
    place = i32x4.add(place, i32x4.splat(4))
  }
}

/** Murmur3's finaliser, as in basics/random.ts. */
@inline
function mix(x: v128): v128 {
  x = i32x4.mul(v128.xor(x, i32x4.shr_u(x, 16)), i32x4.splat(MIX_FIRST))
  x = i32x4.mul(v128.xor(x, i32x4.shr_u(x, 13)), i32x4.splat(MIX_SECOND))
  return v128.xor(x, i32x4.shr_u(x, 16))
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
 * Blurs a plane of f32, along y and then along x, and scales it: × factor, / divisor.
 *
 *   from, to             f32[height][width], 16 bytes to spare behind each
 *   weightsX, weightsY   f32[radius + 1], the middle first
 *   rows                 u32[2 × radiusY + 2]: where the rows of a pair start
 *   line                 f32[width + 2 × radiusX + 4]
 */
export function blur(
  from: usize, width: i32, height: i32, to: usize, weightsX: usize, radiusX: i32, weightsY: usize, radiusY: i32,
  rows: usize, line: usize, factor: f32, divisor: f32,
): void {
  const bytes = <usize>width << 2
  const middle = line + (<usize>radiusX << 2)
  for (let y = 0; y < height; y++, to += bytes) {
    for (let k = 0; k <= radiusY; k++) {
      store<u32>(rows + (<usize>k << 3), <u32>(from + <usize>fold(y - k, height) * bytes))
      store<u32>(rows + (<usize>k << 3), <u32>(from + <usize>fold(y + k, height) * bytes), 4)
    }
    for (let i: usize = 0; i < bytes; i += 16) {
      let sum = f32x4.mul(v128.load(<usize>load<u32>(rows) + i), v128.load_splat<u32>(weightsY))
      for (let k = 1; k <= radiusY; k++) {
        const up = v128.load(<usize>load<u32>(rows + (<usize>k << 3)) + i)
        const down = v128.load(<usize>load<u32>(rows + (<usize>k << 3), 4) + i)
        sum = f32x4.add(sum, f32x4.mul(f32x4.add(up, down), v128.load_splat<u32>(weightsY + (<usize>k << 2))))
      }
      v128.store(middle + i, sum)
    }
    for (let x = 1; x <= radiusX; x++) {
      store<f32>(middle - (<usize>x << 2), load<f32>(middle + (<usize>fold(-x, width) << 2)))
      const right = load<f32>(middle + (<usize>fold(width - 1 + x, width) << 2))
      store<f32>(middle + (<usize>(width - 1 + x) << 2), right)
    }
    for (let i: usize = 0; i < bytes; i += 16) {
      let sum = f32x4.mul(v128.load(middle + i), v128.load_splat<u32>(weightsX))
      for (let k = 1; k <= radiusX; k++) {
        const off = <usize>k << 2
        const pair = f32x4.add(v128.load(middle + i - off), v128.load(middle + i + off))
        sum = f32x4.add(sum, f32x4.mul(pair, v128.load_splat<u32>(weightsX + off)))
      }
      v128.store(to + i, f32x4.div(f32x4.mul(sum, f32x4.splat(factor)), f32x4.splat(divisor)))
    }
  }
}
