/** Element types: their size, and what DLPack, NumPy, the kernels and JavaScript call them. */

/** Element types, by the names used in definitions. */
export type Dtype =
  | 'u8'
  | 'i8'
  | 'u16'
  | 'i16'
  | 'i32'
  | 'u32'
  | 'i64'
  | 'f16'
  | 'bf16'
  | 'f32'
  | 'f64'
  | 'bool'

interface DtypeFacts {
  bytes: number
  /** DLPack's (code, bits): code 0 int, 1 uint, 2 float, 4 bfloat, 6 bool. Lanes are always 1. */
  dlpack: readonly [code: number, bits: number]
  /** NumPy's name for it, little-endian. It has no bf16 of its own: its bits, as u16. */
  numpy: string
  /** Its number in the kernels. They make no bool: a field of bool is made as u8. */
  kernel?: number
  /** The typed array by which JavaScript sees it. f16 and bf16 have none of their own: their bits, as u16. */
  array: TypedArrayConstructor
}

export type TypedArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | Float32Array
  | Float64Array

export type TypedArrayConstructor = {
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): TypedArray
  readonly BYTES_PER_ELEMENT: number
}

/** Python's copy (python/millrace/_generated/) and the kernels' (facts.cuh) are generated from this table: npm run generate. */
export const DTYPES: Readonly<Record<Dtype, DtypeFacts>> = {
  u8: { bytes: 1, dlpack: [1, 8], numpy: 'u1', kernel: 0, array: Uint8Array },
  i8: { bytes: 1, dlpack: [0, 8], numpy: 'i1', kernel: 1, array: Int8Array },
  u16: { bytes: 2, dlpack: [1, 16], numpy: '<u2', kernel: 2, array: Uint16Array },
  i16: { bytes: 2, dlpack: [0, 16], numpy: '<i2', kernel: 3, array: Int16Array },
  i32: { bytes: 4, dlpack: [0, 32], numpy: '<i4', kernel: 4, array: Int32Array },
  u32: { bytes: 4, dlpack: [1, 32], numpy: '<u4', kernel: 5, array: Uint32Array },
  i64: { bytes: 8, dlpack: [0, 64], numpy: '<i8', kernel: 6, array: BigInt64Array },
  f16: { bytes: 2, dlpack: [2, 16], numpy: '<f2', kernel: 7, array: Uint16Array },
  bf16: { bytes: 2, dlpack: [4, 16], numpy: '<u2', kernel: 8, array: Uint16Array },
  f32: { bytes: 4, dlpack: [2, 32], numpy: '<f4', kernel: 9, array: Float32Array },
  f64: { bytes: 8, dlpack: [2, 64], numpy: '<f8', kernel: 10, array: Float64Array },
  bool: { bytes: 1, dlpack: [6, 8], numpy: '?', array: Uint8Array },
}

/** The typed array type of a dtype, for the types of a batch. */
export interface DtypeArrays {
  u8: Uint8Array
  i8: Int8Array
  u16: Uint16Array
  i16: Int16Array
  i32: Int32Array
  u32: Uint32Array
  i64: BigInt64Array
  f16: Uint16Array
  bf16: Uint16Array
  f32: Float32Array
  f64: Float64Array
  bool: Uint8Array
}

/** Number of elements of a shape. */
export function elements(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1)
}

/** Bits of a float32. */
const f32 = new Float32Array(1)
const u32 = new Uint32Array(f32.buffer)

/** A number as bfloat16 bits, rounded to nearest even. */
export function toBf16(value: number): number {
  f32[0] = value
  const bits = u32[0]
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40 // NaN stays NaN
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff
}

/** A number as IEEE half bits, rounded to nearest even, once: a number that float32 would round is kept off a tie. */
export function toF16(value: number): number {
  f32[0] = value
  if (f32[0] !== value && (u32[0] & 0xfff) === 0) u32[0] += Math.abs(value) > Math.abs(f32[0]) ? 1 : -1
  const bits = u32[0]
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00 // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00 // rounds to infinity
  if (magnitude < 0x38800000) {
    // subnormal or zero: scale so that one unit is the least half
    const scaled = Math.abs(f32[0]) * 16777216
    const whole = Math.floor(scaled)
    const rest = scaled - whole
    return sign | (rest > 0.5 || (rest === 0.5 && whole & 1) ? whole + 1 : whole)
  }
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1)
  return sign | ((rounded - 0x38000000) >>> 13)
}

/** Integers that a dtype holds exactly; undefined for the floats. */
export function rangeOf(dtype: Dtype): readonly [least: number, most: number] | undefined {
  if (dtype === 'bool') return [0, 1]
  if (dtype === 'i64') return [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  const [kind, bits] = [dtype[0], DTYPES[dtype].dlpack[1]]
  if (kind === 'u') return [0, 2 ** bits - 1]
  return kind === 'i' ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : undefined
}
