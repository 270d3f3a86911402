/** Mixing two rows, plainly: row × share + other × rest, in float32, back in the rows' element type. */
import { toBf16, toF16 } from '../../../../core/basics/dtype.js'
import { roundEven } from './filter.js'

const f32 = Math.fround

function mixed(row: number, other: number, share: number): number {
  return f32(f32(other * f32(1 - share)) + f32(row * f32(share)))
}

export function mixF32(row: Float32Array, other: Float32Array, share: number): void {
  for (let i = 0; i < row.length; i++) row[i] = mixed(row[i], other[i], share)
}

export function mixU8(row: Uint8Array, other: Uint8Array, share: number): void {
  for (let i = 0; i < row.length; i++) row[i] = roundEven(mixed(row[i], other[i], share))
}

export function mixF16(row: Uint16Array, other: Uint16Array, share: number): void {
  for (let i = 0; i < row.length; i++) row[i] = toF16(mixed(fromF16(row[i]), fromF16(other[i]), share))
}

export function mixBf16(row: Uint16Array, other: Uint16Array, share: number): void {
  for (let i = 0; i < row.length; i++) row[i] = toBf16(mixed(fromBf16(row[i]), fromBf16(other[i]), share))
}

/** The number that half bits stand for. */
export function fromF16(bits: number): number {
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  const magnitude =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction === 0
          ? Infinity
          : NaN
        : (1 + fraction / 1024) * 2 ** (exponent - 15)
  return bits & 0x8000 ? -magnitude : magnitude
}

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

/** The number that bfloat16 bits stand for. */
export function fromBf16(bits: number): number {
  word[0] = bits << 16
  return float[0]
}
