/**
 * How many bytes of a value a field takes. What is more is refused before it is unpacked, parsed or copied: a few bytes
 * that are made to become gigabytes make a bad sample, and nothing else.
 */

import { elements } from '../basics/dtype.js'
import { DecodeError } from '../basics/errors.js'
import { decoderOf } from './kind.js'
import type { Kind, NormalField } from './types.js'

/** What a function or a decompressor gets. Parsed JSON takes up to 40 times as much memory as its text. */
const HANDED_ON = 4 * 1024 * 1024

/** `count` elements, each as wide as `widest` bytes, behind a header; more where a function or a decompressor gets them. */
export function bytesOfElements({ layout, map, compression }: NormalField, widest = 1, header = 0): number {
  const bytes = elements(layout.shape) * (layout.max ?? 1) * widest + header
  return map === undefined && compression === undefined ? bytes : Math.max(HANDED_ON, bytes)
}

/** The same for columns, by the fields that are made of them. */
export function columnLimits(fields: readonly NormalField[]): Record<string, number> {
  const most = new Map<string, number>()
  for (const field of fields) {
    const bytes = decoderOf(field).rules.limit(field).most
    for (const column of field.from) most.set(column, Math.max(most.get(column) ?? 0, bytes))
  }
  return Object.fromEntries(most)
}

/** A bound on the bytes of a value, as plain data. */
export interface Limit {
  as: Kind
  most: number
  mend: string
  /** It is the field's greatest length. */
  length: boolean
}

/** The bound of a field's values; undefined for pictures and arrays, which have others in their headers, and what is compressed. */
export function limitOf(field: NormalField): Limit | undefined {
  const { as, layout, compression } = field
  const { most, mend } = decoderOf(field).rules.limit(field)
  if (mend === undefined || compression !== undefined) return undefined
  return { as, most, mend, length: most === layout.max }
}

export function checkLimit({ as, most, mend, length }: Limit, value: unknown): void {
  if (!(value instanceof Uint8Array) || value.length <= most) return
  if (length) throw tooLong(value.length, most)
  throw new DecodeError(`has ${value.length} bytes, more than the ${most} that are read for ${as}: ${mend}`)
}

/** A row longer than its greatest length; `shared` is that of a row which mosaic makes of four. */
export function tooLong(length: number, most: number, shared?: number): DecodeError {
  const why = shared === undefined ? '' : ` (a quarter of ${shared}: mosaic makes a row of four samples)`
  return new DecodeError(
    `it has ${length} elements, more than the greatest length of ${most}${why}: raise "max" of the field, or "to" where it is padded`,
  )
}
