/** What a field may be decoded as, in one table: the element types it can have and the keys that make sense for it. */
import type { Dtype } from '../../basics/dtype.js'
import type { Compression, FieldJson, Kind } from '../types.js'

/** Integers that hold every value of a byte, 0…255: i8 does not. */
const INTEGERS = ['u8', 'u16', 'i16', 'i32', 'u32', 'i64'] as const
const FLOATS = ['f16', 'bf16', 'f32', 'f64'] as const
/** f32 is the default. */
const FLOATS_FIRST = ['f32', 'f16', 'bf16', 'f64'] as const

export interface KindFacts {
  /** Element types that a field of this kind can have; the first is the default. Empty: must be given. */
  dtypes: readonly Dtype[]
  /** Keys of a field beside from and as. */
  keys: readonly (keyof FieldJson)[]
  /** Length of a row along the varying axis, when the definition gives none. Undefined: rows don't vary. */
  max?: number
  /** Arrives as strings. */
  text?: boolean
}

/** Boxes or points of one image. */
const MAX_THINGS = 100
/** Bytes of one text. */
const MAX_BYTES = 65536

export const KINDS: Readonly<Record<Kind, KindFacts>> = {
  image: {
    dtypes: ['u8', ...FLOATS, 'u16', 'i16', 'i32', 'u32', 'i64'],
    keys: ['apply', 'dtype', 'layout', 'channels', 'follow', 'shape', 'scale', 'orientation'],
  },
  mask: {
    dtypes: [...INTEGERS, ...FLOATS, 'bool'],
    keys: ['apply', 'dtype', 'follow', 'shape', 'orientation'],
  },
  boxes: {
    dtypes: ['f32', 'f16', 'bf16', 'f64', 'i32', 'i64'],
    keys: ['dtype', 'follow', 'shape', 'ragged', 'pad', 'minArea', 'missing'],
    max: MAX_THINGS,
  },
  points: {
    dtypes: ['f32', 'f16', 'bf16', 'f64', 'i32', 'i64'],
    keys: ['dtype', 'follow', 'shape', 'ragged', 'pad', 'missing'],
    max: MAX_THINGS,
  },
  vector: {
    dtypes: [...FLOATS_FIRST, 'i8', ...INTEGERS, 'bool'],
    keys: ['apply', 'dtype', 'missing'],
  },
  class: {
    dtypes: ['i64', 'i32', 'i16', 'u8', 'u16', 'u32', 'i8'],
    keys: ['dtype', 'classes', 'missing', 'map'],
  },
  int: {
    dtypes: ['i64', 'i32', 'i16', 'i8', 'u8', 'u16', 'u32', 'bool', ...FLOATS],
    keys: ['apply', 'dtype', 'missing', 'map'],
  },
  float: { dtypes: FLOATS_FIRST, keys: ['apply', 'dtype', 'missing', 'map'] },
  text: { dtypes: ['u8'], keys: ['ragged', 'missing', 'map'], max: MAX_BYTES, text: true },
  json: { dtypes: ['u8'], keys: ['ragged', 'missing', 'map'], max: MAX_BYTES, text: true },
  bytes: {
    dtypes: ['u8'],
    keys: ['dtype', 'ragged', 'pad', 'compression', 'missing', 'map'],
    max: MAX_BYTES,
  },
  npy: {
    dtypes: [],
    keys: ['apply', 'dtype', 'follow', 'shape', 'ragged', 'pad', 'compression', 'missing', 'map'],
  },
}

export const COMPRESSIONS: readonly Compression[] = ['zstd', 'lz4', 'deflate', 'zlib', 'gzip']

export const KIND_NAMES = Object.keys(KINDS) as Kind[]

export const isFloat = (dtype: Dtype): boolean => (FLOATS as readonly Dtype[]).includes(dtype)
