/** Reads one element of an array as it is stored, in little-endian. */
import type { StoredDtype } from './array.js'

/** The value of an element, exactly. */
export const READERS: Readonly<Record<StoredDtype, (view: DataView, at: number) => number | bigint>> = {
  u8: (view, at) => view.getUint8(at),
  i8: (view, at) => view.getInt8(at),
  bool: (view, at) => (view.getUint8(at) === 0 ? 0 : 1),
  u16: (view, at) => view.getUint16(at, true),
  i16: (view, at) => view.getInt16(at, true),
  f16: (view, at) => half(view.getUint16(at, true)),
  bf16: (view, at) => brain(view.getUint16(at, true)),
  u32: (view, at) => view.getUint32(at, true),
  i32: (view, at) => view.getInt32(at, true),
  f32: (view, at) => view.getFloat32(at, true),
  i64: (view, at) => view.getBigInt64(at, true),
  u64: (view, at) => view.getBigUint64(at, true),
  f64: (view, at) => view.getFloat64(at, true),
}

/** The value of IEEE half-precision bits. */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25)
}

const word = new Uint32Array(1)
const single = new Float32Array(word.buffer)

/** The value of bfloat16 bits: the upper half of a float32. */
function brain(bits: number): number {
  word[0] = bits << 16
  return single[0]
}
