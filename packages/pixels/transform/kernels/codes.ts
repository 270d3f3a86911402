/** Numbers of the types in the kernel `convert`. */
import type { StoredDtype } from '../../../core/basics/array.js'

export const CONVERT_CODES: Readonly<Record<StoredDtype, number>> = {
  u8: 0,
  i8: 1,
  u16: 2,
  i16: 3,
  i32: 4,
  u32: 5,
  i64: 6,
  f16: 7,
  bf16: 8,
  f32: 9,
  f64: 10,
  bool: 11,
  u64: 12,
}
