/**
 * Types of elements. What a column may become is one of these: numbers (which know their order of bytes), fixed texts and
 * bytes, and values of varying length. A compound has members, each of which is a column. What can't be read is kept with
 * the reason, so that it is refused when it is asked for, and not before.
 */
import type { StoredDtype } from '../../../core/basics/array.js'
import type { Cursor } from './bytes.js'

export interface NumberType {
  is: 'number'
  bytes: number
  dtype: StoredDtype
  bigEndian: boolean
  /** An array in each element. */
  dims: number[]
}

/** Texts and opaque bytes of one size. `pad` ends a text: at the first NUL, or before blanks at the end. */
export interface FixedType {
  is: 'text' | 'opaque'
  bytes: number
  pad: 'nul' | 'nuls' | 'blanks' | 'none'
  dims: number[]
}

/** Values of varying length: a reference of `bytes` bytes to a heap. */
export interface VaryingType {
  is: 'varying'
  bytes: number
  /** Text, or the numbers of which a value is made. */
  of: 'text' | NumberType
  dims: number[]
}

export interface CompoundType {
  is: 'compound'
  bytes: number
  members: { name: string; offset: number; type: ElementType }[]
  dims: number[]
}

export interface RefusedType {
  is: 'refused'
  bytes: number
  why: string
  dims: number[]
}

export type ElementType = NumberType | FixedType | VaryingType | CompoundType | RefusedType

/** Types within types. */
const DEEPEST = 8
const MOST_MEMBERS = 4096
const MOST_RANK = 32

export function readDatatype(cursor: Cursor, depth = 0): ElementType {
  if (depth > DEEPEST) throw cursor.fault('its types are nested too deeply')
  const head = cursor.u8()
  const [version, kind] = [head >> 4, head & 15]
  const bits = cursor.u8() | (cursor.u8() << 8) | (cursor.u8() << 16)
  const bytes = cursor.u32()
  if (version < 1 || version > 5) throw cursor.fault(`a type has version ${version}`)
  if (bytes === 0) throw cursor.fault('a type has no bytes')
  const refuse = (why: string): RefusedType => ({ is: 'refused', bytes, why, dims: [] })
  switch (kind) {
    case 0:
    case 4:
      return integer(cursor, bits, bytes, kind === 4)
    case 1:
      return float(cursor, bits, bytes)
    case 3:
      return { is: 'text', bytes, pad: (['nul', 'nuls', 'blanks'] as const)[bits & 15] ?? 'nuls', dims: [] }
    case 5:
      cursor.skip(Math.min(cursor.left, bits & 0xff))
      return { is: 'opaque', bytes, pad: 'none', dims: [] }
    case 6:
      return compound(cursor, version, bits & 0xffff, bytes, depth)
    case 8:
      return enumeration(cursor, version, bits & 0xffff, bytes, depth)
    case 9:
      return varying(cursor, bits, bytes, depth)
    case 10:
      return array(cursor, version, bytes, depth)
    case 2:
      return refuse('times of HDF5 have no meaning of their own')
    case 7:
      return refuse('references to other objects are not followed')
    case 11:
      return refuse('complex numbers are not read: store real and imaginary parts')
    default:
      return refuse(`there is no type of class ${kind}`)
  }
}

const refused = (bytes: number, why: string): RefusedType => ({ is: 'refused', bytes, why, dims: [] })

function integer(cursor: Cursor, bits: number, bytes: number, unsigned: boolean): ElementType {
  const [offset, precision] = [cursor.u16(), cursor.u16()]
  if (![1, 2, 4, 8].includes(bytes) || offset !== 0 || precision !== 8 * bytes)
    return refused(bytes, `integers of ${precision} bits in ${bytes} bytes are not read`)
  const sign = !unsigned && (bits & 8) !== 0 ? 'i' : 'u'
  return {
    is: 'number',
    bytes,
    dtype: `${sign}${8 * bytes}` as StoredDtype,
    bigEndian: (bits & 1) !== 0,
    dims: [],
  }
}

/** Exponent's place and size, mantissa's place and size, the exponent's bias. */
const FLOATS: Readonly<Record<string, StoredDtype>> = {
  '2 10 5 0 10 15': 'f16',
  '2 7 8 0 7 127': 'bf16',
  '4 23 8 0 23 127': 'f32',
  '8 52 11 0 52 1023': 'f64',
}

function float(cursor: Cursor, bits: number, bytes: number): ElementType {
  const [offset, precision] = [cursor.u16(), cursor.u16()]
  const parts = [cursor.u8(), cursor.u8(), cursor.u8(), cursor.u8(), cursor.u32()]
  const dtype = FLOATS[[bytes, ...parts].join(' ')]
  if (dtype === undefined || offset !== 0 || (bits & 0x40) !== 0)
    return refused(
      bytes,
      `floats of ${precision} bits in ${bytes} bytes are not read, if they are no IEEE floats`,
    )
  return { is: 'number', bytes, dtype, bigEndian: (bits & 1) !== 0, dims: [] }
}

function compound(cursor: Cursor, version: number, count: number, bytes: number, depth: number): ElementType {
  if (count > MOST_MEMBERS) throw cursor.fault(`a compound has ${count} members`)
  const members: CompoundType['members'] = []
  for (let i = 0; i < count; i++) {
    const from = cursor.at
    const name = cursor.textToNul()
    // Up to version 2, names are filled up to a multiple of 8 bytes.
    if (version < 3) cursor.skip((8 - ((cursor.at - from) % 8)) % 8)
    const offset = cursor.uint(version < 3 ? 4 : offsetBytes(bytes))
    let dims: number[] = []
    if (version === 1) {
      const rank = cursor.u8()
      cursor.skip(3 + 4 + 4)
      dims = [cursor.u32(), cursor.u32(), cursor.u32(), cursor.u32()].slice(0, Math.min(4, rank))
    }
    const type = readDatatype(cursor, depth + 1)
    if (dims.length > 0) type.dims = [...dims, ...type.dims]
    if (offset + type.bytes * type.dims.reduce((a, b) => a * b, 1) > bytes)
      throw cursor.fault(`the member "${name}" of a compound reaches beyond it`)
    members.push({ name, offset, type })
  }
  return { is: 'compound', bytes, members, dims: [] }
}

/** Bytes that hold a number below `size`. */
function offsetBytes(size: number): number {
  return size < 256 ? 1 : size < 65536 ? 2 : size < 2 ** 24 ? 3 : 4
}

/** An enumeration is read as the integers that it is made of; that of FALSE and TRUE, as h5py writes it, as bool. */
function enumeration(
  cursor: Cursor,
  version: number,
  count: number,
  bytes: number,
  depth: number,
): ElementType {
  if (count > MOST_MEMBERS * 16) throw cursor.fault(`an enumeration has ${count} members`)
  const base = readDatatype(cursor, depth + 1)
  const names: string[] = []
  for (let i = 0; i < count; i++) {
    const from = cursor.at
    names.push(cursor.textToNul())
    if (version < 3) cursor.skip((8 - ((cursor.at - from) % 8)) % 8)
  }
  const values = [...cursor.take(count * base.bytes)]
  if (base.is !== 'number') return refused(bytes, 'an enumeration of anything but integers is not read')
  const boolean = bytes === 1 && names.join() === 'FALSE,TRUE' && values.join() === '0,1'
  return boolean ? { ...base, dtype: 'bool' } : base
}

function varying(cursor: Cursor, bits: number, bytes: number, depth: number): ElementType {
  const base = readDatatype(cursor, depth + 1)
  if ((bits & 15) === 1) return { is: 'varying', bytes, of: 'text', dims: [] }
  if (base.is === 'number' && base.dims.length === 0) return { is: 'varying', bytes, of: base, dims: [] }
  return refused(bytes, `values of varying length are read if they are texts or numbers, not ${base.is}`)
}

function array(cursor: Cursor, version: number, bytes: number, depth: number): ElementType {
  const rank = cursor.u8()
  if (rank > MOST_RANK) throw cursor.fault(`an array has ${rank} axes`)
  if (version < 3) cursor.skip(3)
  const dims = Array.from({ length: rank }, () => cursor.u32())
  if (version < 3) cursor.skip(4 * rank)
  const base = readDatatype(cursor, depth + 1)
  const type = { ...base, dims: [...dims, ...base.dims] }
  if (elementBytes(type) !== bytes)
    throw cursor.fault(`an array of [${dims}] does not fill its ${bytes} bytes`)
  return type
}

/** Bytes of an element with the arrays in it. */
export function elementBytes({ bytes, dims }: ElementType): number {
  return dims.reduce((product, n) => product * n, bytes)
}
