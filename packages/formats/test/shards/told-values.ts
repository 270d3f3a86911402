/** Columns in the form in which golden JSON has them: `{ bytes }` in base64, `{ number }`, `{ dtype, shape, data }`. */
import { isTiled } from '../../../core/basics/array.js'
import type { DTYPES } from '../../../core/basics/dtype.js'
import type { Column } from '../../../core/source/source.js'

export type Told = { bytes: string } | { number: string } | { dtype: string; shape: number[]; data: string }

const NAMES: Record<string, string> = {
  u8: 'uint8',
  i8: 'int8',
  u16: 'uint16',
  i16: 'int16',
  u32: 'uint32',
  i32: 'int32',
  u64: 'uint64',
  i64: 'int64',
  f16: 'float16',
  bf16: 'bfloat16',
  f32: 'float32',
  f64: 'float64',
  bool: 'bool',
} satisfies Record<keyof typeof DTYPES | 'u64', string>

export function reported(value: Column): Told {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
  if (value instanceof Uint8Array) return { bytes: base64(value) }
  if (typeof value !== 'object') return { number: String(value) }
  if (!isTiled(value)) throw new Error('no column')
  return {
    dtype: NAMES[value.dtype],
    shape: [...value.shape],
    data: base64(value.tiles[0].data as Uint8Array),
  }
}

/** What Python wrote for a number, as JavaScript writes it. */
export function sameNumbers(row: Record<string, Told>): Record<string, Told> {
  const same = ([name, value]: [string, Told]): [string, Told] =>
    'number' in value && /[.e]|inf|nan/.test(value.number)
      ? [name, { number: String(Number(value.number)) }]
      : [name, value]
  return Object.fromEntries(Object.entries(row).map(same))
}
