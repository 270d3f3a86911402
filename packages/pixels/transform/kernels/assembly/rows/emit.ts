// A finished row of bytes to its place in the slot, in the field's dtype. Writes exactly its elements.

/** Constants of `floats`, 32-bit floats: 1/255, then mean and divisor of each channel. */
const MEANS: usize = 4
const DIVISORS: usize = 16

/**
 * (x · 1/255 − mean) / std in float32, rounded after every operation, as torchvision does it. Where a multiplication
 * gives the same 256 results as the division, `divide` is false and the divisor is the factor.
 */
@inline
function float4(x: v128, scale: v128, mean: v128, divisor: v128, divide: bool): v128 {
  const q = f32x4.sub(f32x4.mul(f32x4.convert_i32x4_s(x), scale), mean)
  return divide ? f32x4.div(q, divisor) : f32x4.mul(q, divisor)
}

@inline
function float1(x: u32, constants: usize, channel: usize, divide: bool): f32 {
  const q = <f32>(<i32>x) * load<f32>(constants) - load<f32>(constants + (channel << 2), MEANS)
  const divisor = load<f32>(constants + (channel << 2), DIVISORS)
  return divide ? q / divisor : q * divisor
}

/** One channel by itself. */
@inline
function floatsOfOne(
  source: usize, length: i32, target: usize, constants: usize, channel: usize, divide: bool,
): void {
  const scale = v128.load32_splat(constants)
  const mean = v128.load32_splat(constants + (channel << 2), MEANS)
  const divisor = v128.load32_splat(constants + (channel << 2), DIVISORS)
  const whole = source + (length & ~7)
  const end = source + length
  for (; source < whole; source += 8) {
    const v = v128.load8x8_u(source)
    v128.store(target, float4(i32x4.extend_low_i16x8_u(v), scale, mean, divisor, divide))
    v128.store(target, float4(i32x4.extend_high_i16x8_u(v), scale, mean, divisor, divide), 16)
    target += 32
  }
  for (; source < end; source++) {
    store<f32>(target, float1(load<u8>(source), constants, channel, divide))
    target += 4
  }
}

/** r g b constants as the three vectors that repeat every 12 values: r g b r, g b r g, b r g b. */
@inline
function turn(at: usize, first: i32): v128 {
  const v = v128.load32_zero(at + (<usize>first << 2))
  const next = load<f32>(at + (<usize>((first + 1) % 3) << 2))
  const after = load<f32>(at + (<usize>((first + 2) % 3) << 2))
  return f32x4.replace_lane(
    f32x4.replace_lane(f32x4.replace_lane(v, 1, next), 2, after), 3, f32x4.extract_lane(v, 0),
  )
}

@inline
function floatsInterleaved(source: usize, length: i32, target: usize, constants: usize, divide: bool): void {
  const scale = v128.load32_splat(constants)
  const m0 = turn(constants + MEANS, 0)
  const m1 = turn(constants + MEANS, 1)
  const m2 = turn(constants + MEANS, 2)
  const d0 = turn(constants + DIVISORS, 0)
  const d1 = turn(constants + DIVISORS, 1)
  const d2 = turn(constants + DIVISORS, 2)
  const whole = source + (length / 12) * 12
  const end = source + length
  for (; source < whole; source += 12) {
    const a = v128.load8x8_u(source)
    const b = v128.load8x8_u(source, 8)
    v128.store(target, float4(i32x4.extend_low_i16x8_u(a), scale, m0, d0, divide))
    v128.store(target, float4(i32x4.extend_high_i16x8_u(a), scale, m1, d1, divide), 16)
    v128.store(target, float4(i32x4.extend_low_i16x8_u(b), scale, m2, d2, divide), 32)
    target += 48
  }
  for (let channel: usize = 0; source < end; source++) {
    store<f32>(target, float1(load<u8>(source), constants, channel, divide))
    target += 4
    channel = channel == 2 ? 0 : channel + 1
  }
}

export function floats(
  source: usize, length: i32, target: usize, constants: usize, channel: usize, interleaved: bool, divide: bool,
): void {
  if (interleaved) {
    if (divide) floatsInterleaved(source, length, target, constants, true)
    else floatsInterleaved(source, length, target, constants, false)
  } else if (divide) floatsOfOne(source, length, target, constants, channel, true)
  else floatsOfOne(source, length, target, constants, channel, false)
}

/** Any dtype: `tables` holds, for each channel, the 256 values in the field's dtype. */
export function look(
  source: usize, length: i32, target: usize, tables: usize, interleaved: bool, entry: i32,
): void {
  if (entry == 1) lookUp<u8>(source, length, target, tables, interleaved)
  else if (entry == 2) lookUp<u16>(source, length, target, tables, interleaved)
  else if (entry == 4) lookUp<u32>(source, length, target, tables, interleaved)
  else lookUp<u64>(source, length, target, tables, interleaved)
}

@inline
function value<T>(source: usize, table: usize): T {
  return load<T>(table + <usize>load<u8>(source) * sizeof<T>())
}

@inline
function lookUp<T>(source: usize, length: i32, target: usize, tables: usize, interleaved: bool): void {
  const end = source + length
  if (interleaved) {
    const green = tables + 256 * sizeof<T>()
    const blue = green + 256 * sizeof<T>()
    for (; source < end; source += 3) {
      store<T>(target, value<T>(source, tables))
      store<T>(target, value<T>(source + 1, green), sizeof<T>())
      store<T>(target, value<T>(source + 2, blue), 2 * sizeof<T>())
      target += 3 * sizeof<T>()
    }
  } else {
    for (const whole = source + (length & ~3); source < whole; source += 4) {
      store<T>(target, value<T>(source, tables))
      store<T>(target, value<T>(source + 1, tables), sizeof<T>())
      store<T>(target, value<T>(source + 2, tables), 2 * sizeof<T>())
      store<T>(target, value<T>(source + 3, tables), 3 * sizeof<T>())
      target += 4 * sizeof<T>()
    }
    for (; source < end; source++) {
      store<T>(target, value<T>(source, tables))
      target += sizeof<T>()
    }
  }
}
