/**
 * NumPy's .npy: a magic, a version, a Python dict as text, then the elements.
 *
 *   93 'NUMPY'  major minor  length (u16 in version 1, u32 in 2 and 3)  "{'descr': '<f4', …}\n"  elements
 *
 * Nothing is unpickled, and nothing is allocated beyond the size of the input.
 */
import { DecodeError } from '../../basics/errors.js'
import { parseNpyHeader } from './npy-header.js'

/** Element types of arrays that can be fed, by the names used in definitions. */
export type NpyDtype = 'u8' | 'i8' | 'u16' | 'i16' | 'i32' | 'u32' | 'i64' | 'f16' | 'f32' | 'f64' | 'bool'

/** An array: elements little-endian in C order. `data` is a view of the input where that is possible. */
export interface NpyArray {
  dtype: NpyDtype
  shape: number[]
  data: Uint8Array
}

/** NumPy's kind and size, to our name. */
const DTYPES: Readonly<Record<string, NpyDtype>> = {
  u1: 'u8',
  i1: 'i8',
  b1: 'bool',
  u2: 'u16',
  i2: 'i16',
  u4: 'u32',
  i4: 'i32',
  i8: 'i64',
  f2: 'f16',
  f4: 'f32',
  f8: 'f64',
}

/** Bytes before the header's text: magic and version, then its length. */
const PREFIX = 8
/** Bytes of the header's text that are read: NumPy's own limit (`max_header_size`). */
const MOST_TEXT = 10_000
/** Bytes before the elements, at most. */
export const MOST_HEADER = PREFIX + 4 + MOST_TEXT

export function isNpy(bytes: Uint8Array): boolean {
  const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] // 93 "NUMPY"
  return bytes.length >= magic.length && magic.every((byte, i) => bytes[i] === byte)
}

export function decodeNpy(bytes: Uint8Array): NpyArray {
  if (!isNpy(bytes)) throw new DecodeError('is not an npy array: it does not start with "\\x93NUMPY"')
  const { text, start } = readHeader(bytes)
  const { descr, fortran, shape } = parseNpyHeader(text)
  const { kind, size, swapped } = readType(descr)

  const room = bytes.length - start
  let elements = shape.includes(0) ? 0 : 1 // 0 times more than a number can hold is still 0
  for (const n of elements === 0 ? [] : shape) elements *= n
  if (elements * size > room) {
    throw new DecodeError(
      `npy array of shape (${shape.join(', ')}) needs ${elements * size} bytes, but there are ${room}: it is cut off`,
    )
  }
  let data = bytes.subarray(start, start + elements * size)
  if (swapped && size > 1) data = swapBytes(data, size)
  if (fortran && shape.length > 1) data = toCOrder(data, shape, size)
  return { dtype: DTYPES[kind + size], shape, data }
}

/** All elements as numbers. */
export function npyNumbers({ dtype, shape, data }: NpyArray): Float64Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const size = READERS[dtype][0]
  const read = READERS[dtype][1]
  const out = new Float64Array(shape.reduce((product, n) => product * n, 1))
  for (let i = 0; i < out.length; i++) out[i] = read(view, i * size)
  return out
}

const READERS: Readonly<Record<NpyDtype, readonly [size: number, (view: DataView, at: number) => number]>> = {
  u8: [1, (view, at) => view.getUint8(at)],
  i8: [1, (view, at) => view.getInt8(at)],
  bool: [1, (view, at) => view.getUint8(at)],
  u16: [2, (view, at) => view.getUint16(at, true)],
  i16: [2, (view, at) => view.getInt16(at, true)],
  f16: [2, (view, at) => half(view.getUint16(at, true))],
  u32: [4, (view, at) => view.getUint32(at, true)],
  i32: [4, (view, at) => view.getInt32(at, true)],
  f32: [4, (view, at) => view.getFloat32(at, true)],
  i64: [8, (view, at) => Number(view.getBigInt64(at, true))],
  f64: [8, (view, at) => view.getFloat64(at, true)],
}

/** The value of IEEE half-precision bits. */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25)
}

function readHeader(bytes: Uint8Array): { text: string; start: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const major = bytes[6]
  if (bytes.length > 6 && (major < 1 || major > 3)) {
    throw new DecodeError(`npy has format version ${major}: only 1, 2 and 3 are known`)
  }
  const lengthBytes = major === 1 ? 2 : 4
  const from = PREFIX + lengthBytes
  const length =
    bytes.length < from ? Infinity : major === 1 ? view.getUint16(PREFIX, true) : view.getUint32(PREFIX, true)
  if (length !== Infinity && length > MOST_TEXT) {
    throw new DecodeError(
      `npy header has ${length} bytes, more than ${MOST_TEXT}, which is NumPy's limit too: it is damaged, or made to do harm`,
    )
  }
  const start = from + length
  if (start > bytes.length) {
    throw new DecodeError(`npy is cut off within its header, after ${bytes.length} bytes`)
  }
  return { text: Buffer.from(bytes.subarray(from, start)).toString('latin1'), start }
}

function readType(descr: string): { kind: string; size: number; swapped: boolean } {
  if (descr.includes('O')) {
    throw new DecodeError('npy array holds pickled Python objects, which are never loaded: save numbers')
  }
  const parts = /^([<>|=]?)([a-zA-Z])(\d+)$/.exec(descr)
  if (parts === null || !Object.hasOwn(DTYPES, parts[2] + parts[3])) {
    throw new DecodeError(
      `npy array has elements of type "${descr.slice(0, 60)}": only bool, integers (not uint64) and floats up to 64 bits can be fed`,
    )
  }
  return { kind: parts[2], size: Number(parts[3]), swapped: parts[1] === '>' }
}

/** A copy with the bytes of each element reversed. */
function swapBytes(data: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(data.length)
  for (let i = 0; i < data.length; i += size) {
    for (let b = 0; b < size; b++) out[i + b] = data[i + size - 1 - b]
  }
  return out
}

/** A copy with the last axis varying fastest, from one in which the first does. */
function toCOrder(data: Uint8Array, shape: readonly number[], size: number): Uint8Array {
  const out = new Uint8Array(data.length)
  const strides: number[] = [] // in elements, of the Fortran order
  let elements = 1
  for (const n of shape) {
    strides.push(elements)
    elements *= n
  }
  const index = shape.map(() => 0)
  let from = 0
  for (let to = 0; to < out.length; to += size) {
    for (let b = 0; b < size; b++) out[to + b] = data[from * size + b]
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis]
      if (++index[axis] < shape[axis]) break
      from -= strides[axis] * shape[axis]
      index[axis] = 0
    }
  }
  return out
}
