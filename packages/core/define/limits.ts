/**
 * How many bytes of a value a field takes. What is more is refused before it is unpacked, parsed or copied: a few bytes
 * that are made to become gigabytes make a bad sample, and nothing else.
 */

import { elements } from '../basics/dtype.js'
import { DecodeError } from '../basics/errors.js'
import { tokenizing } from './operators/text.js'
import type { Kind, NormalField } from './types.js'

const KIB = 1024
const MIB = 1024 * KIB

/** A number or the name of a class. */
const NUMBER = 4 * KIB
/** Boxes or points: one of them, and all of them where fewer are kept than there are. */
const THING = 256
const THINGS = MIB
/** What a function or a decompressor gets. Parsed JSON takes up to 40 times as much memory as its text. */
const HANDED_ON = 4 * MIB
/** The file of a picture that is gzipped. */
const PICTURE = 64 * MIB
/** Elements of an array may be stored as wide as this, wider than the field's. */
const WIDEST = 8
/** NumPy's header in front of them has 10,012 bytes at most. */
const HEADER = 10_012
/** A text that is tokenised, and may be cut then. */
const TOKENISED = 64 * MIB
/** An array of which a part is cut out: how large it is, its field does not say. */
const WHOLE_ARRAY = 1024 * MIB

function mostBytes(field: NormalField): number {
  const { as, layout } = field
  const count = elements(layout.shape) * (layout.max ?? 1)
  const handedOn = field.map !== undefined || field.compression !== undefined
  switch (as) {
    case 'int':
    case 'float':
    case 'vector':
    case 'class':
      return NUMBER
    case 'boxes':
    case 'points':
      return Math.max(THINGS, (layout.max ?? 1) * THING)
    case 'text':
    case 'json':
    case 'bytes':
      if (tokenizing(field) !== undefined) return TOKENISED
      return handedOn ? Math.max(HANDED_ON, count) : count
    case 'npy':
      if (field.follow !== undefined || field.apply.some(({ name }) => name === 'crop')) return WHOLE_ARRAY
      return Math.max(handedOn ? HANDED_ON : 0, count * WIDEST + HEADER)
    case 'image':
    case 'mask':
      return PICTURE
  }
}

/** The same for columns, by the fields that are made of them. */
export function columnLimits(fields: readonly NormalField[]): Record<string, number> {
  const most = new Map<string, number>()
  for (const field of fields) {
    for (const column of field.from) most.set(column, Math.max(most.get(column) ?? 0, mostBytes(field)))
  }
  return Object.fromEntries(most)
}

/** A bound on the bytes of a value, as plain data. */
export interface Limit {
  as: Kind
  most: number
  /** It is the field's greatest length. */
  length: boolean
}

/** The bound of a field's values; undefined for pictures and arrays, which have others in their headers, and what is compressed. */
export function limitOf(field: NormalField): Limit | undefined {
  const { as, layout, compression } = field
  if (as === 'image' || as === 'mask' || as === 'npy' || compression !== undefined) return undefined
  const most = mostBytes(field)
  return { as, most, length: most === layout.max }
}

export function checkLimit({ as, most, length }: Limit, value: unknown): void {
  if (!(value instanceof Uint8Array) || value.length <= most) return
  if (length) throw tooLong(value.length, most)
  const wayOut =
    most === NUMBER
      ? 'check "from"'
      : most === TOKENISED
        ? 'cut the text'
        : `raise "${as === 'text' || as === 'json' ? 'max' : 'shape'}"`
  throw new DecodeError(`has ${value.length} bytes, more than the ${most} that are read for ${as}: ${wayOut}`)
}

/** A row longer than its greatest length; `shared` is that of a row which mosaic makes of four. */
export function tooLong(length: number, most: number, shared?: number): DecodeError {
  const why = shared === undefined ? '' : ` (a quarter of ${shared}: mosaic makes a row of four samples)`
  return new DecodeError(
    `it has ${length} elements, more than the greatest length of ${most}${why}: raise "max" of the field, or "to" where it is padded`,
  )
}
