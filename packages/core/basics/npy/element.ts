/** The types of elements as NumPy writes them, `<f4`, and the fields of structured ones. */
import type { StoredDtype } from '../array.js'
import { elements } from '../dtype.js'
import { DecodeError } from '../errors.js'
import type { Descr } from './header-text.js'

/** NumPy's kind and size, to our name. */
const DTYPES: Readonly<Record<string, StoredDtype>> = {
  u1: 'u8',
  i1: 'i8',
  b1: 'bool',
  u2: 'u16',
  i2: 'i16',
  u4: 'u32',
  i4: 'i32',
  i8: 'i64',
  u8: 'u64',
  f2: 'f16',
  f4: 'f32',
  f8: 'f64',
  // Times are counted in the unit that follows in brackets.
  M8: 'i64',
  m8: 'i64',
}

/** A type of elements. One that can't be fed has neither `dtype` nor `text`, but `refused`: why, and what to do. */
export interface NpyElement {
  bytes: number
  dtype?: StoredDtype
  /** Texts of fixed length: bytes, or code points of four bytes. */
  text?: 'bytes' | 'points'
  bigEndian: boolean
  refused?: string
}

/** The elements of an array that are no records. */
export function npyElement(descr: string): NpyElement {
  const parts = /^([<>|=]?)([a-zA-Z])(\d*)(\[[^\]]{1,20}\])?$/.exec(descr)
  const [, order = '', kind = '', digits = '', unit = ''] = parts ?? []
  const bigEndian = order === '>'
  if (descr.includes('O')) {
    const refused = 'npy array holds pickled Python objects, which are never loaded: save numbers'
    return { bytes: 8, bigEndian, refused }
  }
  const size = Number(digits)
  const dtype = DTYPES[kind + digits]
  if (dtype !== undefined && (unit === '' || kind === 'M' || kind === 'm'))
    return { bytes: size, dtype, bigEndian: bigEndian && size > 1 }
  if (size < 2 ** 31 && digits !== '' && kind === 'S') return { bytes: size, text: 'bytes', bigEndian }
  if (size < 2 ** 29 && digits !== '' && kind === 'U') return { bytes: 4 * size, text: 'points', bigEndian }
  const complex = kind === 'c' ? ' Save real and imaginary parts as arrays of their own.' : ''
  const refused = `npy array has elements of type "${descr.slice(0, 60)}": only bool, integers and floats up to 64 bits can be fed.${complex}`
  return { bytes: kind === 'U' ? 4 * size : size, bigEndian, refused }
}

/** A field of a record: `name` is `a`, or `a.b` of a record in a record; '' where elements are no records. */
export interface NpyField extends NpyElement {
  name: string
  /** Bytes from the beginning of the record. */
  offset: number
  /** A field may be an array itself. */
  shape: readonly number[]
}

/** Fields of a record that are listed: a header has room for no more than some hundred. */
const MOST_FIELDS = 4096

/** Bytes of an element, and its fields: a single one where elements are no records. */
export function npyFields(descr: Descr): { item: number; fields: NpyField[] } {
  if (typeof descr === 'string') {
    const element = npyElement(descr)
    return { item: element.bytes, fields: [{ ...element, name: '', offset: 0, shape: [] }] }
  }
  const fields: NpyField[] = []
  const item = walk(descr, '', 0, [], fields)
  return { item, fields }
}

/** Adds the fields of a record that begins at `at`; returns its bytes. */
function walk(
  descr: Exclude<Descr, string>,
  prefix: string,
  at: number,
  outer: readonly number[],
  out: NpyField[],
): number {
  let bytes = 0
  for (const field of descr) {
    const times = elements(field.shape)
    if (typeof field.descr === 'string') {
      const element = npyElement(field.descr)
      // Without a name: padding.
      if (field.name !== '')
        out.push({
          ...element,
          name: prefix + field.name,
          offset: at + bytes,
          shape: [...outer, ...field.shape],
        })
      bytes += times * element.bytes
    } else {
      if (times !== 1)
        throw new DecodeError(
          `npy array has records with an array of records, "${field.name}": save it as an array of its own`,
        )
      bytes += walk(field.descr, `${prefix}${field.name}.`, at + bytes, outer, out)
    }
    if (out.length > MOST_FIELDS || !(bytes < 2 ** 31))
      throw new DecodeError('npy array has records of too many fields, or too large ones: it is damaged')
  }
  return bytes
}
