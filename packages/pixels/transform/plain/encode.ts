/** Numbers as elements of any dtype: for the few values that no kernel writes. */
import { DTYPES, type Dtype, rangeOf, toBf16, toF16 } from '../../../core/basics/dtype.js'

/** Elements of a row. */
export interface Elements {
  [index: number]: number | bigint
  fill(value: number | bigint): unknown
}

/** A view of elements that takes what `encoder` gives. */
export function arrayOf(dtype: Dtype, buffer: ArrayBufferLike, at: number, length: number): Elements {
  return new DTYPES[dtype].array(buffer, at, length) as unknown as Elements
}

/** Turns a number into an element: floats rounded to nearest even, integers clamped and rounded towards zero. */
export function encoder(dtype: Dtype): (value: number) => number | bigint {
  switch (dtype) {
    case 'f32':
    case 'f64':
      return value => value
    case 'f16':
      return toF16
    case 'bf16':
      return toBf16
    case 'bool':
      return value => (value === 0 ? 0 : 1)
    case 'i64':
      return value => BigInt(Math.trunc(value))
    default: {
      const [low, high] = rangeOf(dtype)!
      return value => Math.trunc(Math.min(Math.max(value, low), high))
    }
  }
}
